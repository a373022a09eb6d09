"""Intervals of proportions against statsmodels, and their limits."""

from __future__ import annotations

import numpy as np
import pytest
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

from harnesskit.stats.intervals import Interval, clopper_pearson
from harnesskit.stats.proportions import clustered_proportion, newcombe, recall_by_strata, units_for_lower


@pytest.mark.parametrize(("first", "second"), [((11, 20), (3, 20)), ((5, 40), (9, 33)), ((1, 12), (11, 12))])
def test_newcombe_is_that_of_statsmodels(first: tuple[int, int], second: tuple[int, int]):
    assert newcombe(first, second) == pytest.approx(confint_proportions_2indep(*first, *second, method="newcomb"))


def test_no_difference_without_counts_is_certain():
    low, high = newcombe((0, 10), (0, 10))
    assert low < 0 < high


def test_units_that_stand_alone_have_the_exact_interval():
    hits = [1] * 14 + [0]
    assert clustered_proportion(hits) == pytest.approx(clopper_pearson(14, 15))
    assert clustered_proportion(hits, range(15)) == pytest.approx(proportion_confint(14, 15, method="beta"))


def test_clusters_that_agree_within_count_once():
    hits = np.repeat([1, 1, 1, 0, 1, 1, 0, 1], 10)
    wide = clustered_proportion(hits, np.repeat(np.arange(8), 10))
    narrow = clopper_pearson(60, 80)
    assert wide.low < narrow.low
    assert wide.high > narrow.high
    assert wide.low == pytest.approx(clopper_pearson(6, 8).low, abs=0.05)


def test_recall_of_the_two_groups_is_bayes_theorem():
    bounds = recall_by_strata(0.2, Interval(0.9, 0.9), Interval(0.05, 0.05))
    assert bounds.low == bounds.high == pytest.approx(0.18 / (0.18 + 0.04))
    assert recall_by_strata(0.0, Interval(0.0, 1.0), Interval(0.0, 1.0)) == (0.0, 0.0)


@pytest.mark.parametrize(("share", "bar"), [(1.0, 0.8), (0.95, 0.8), (0.7, 0.5)])
def test_the_number_of_units_is_the_first_that_reaches_the_bar(share: float, bar: float):
    n = units_for_lower(share, bar)
    assert n is not None
    assert clopper_pearson(int(share * n + 1e-9), n).low >= bar
    assert clopper_pearson(int(share * (n - 1) + 1e-9), n - 1).low < bar
    assert units_for_lower(bar, bar) is None
