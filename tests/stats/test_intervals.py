"""Intervals against statsmodels and scipy; exact at the ends."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint

from harnesskit.stats.intervals import clopper_pearson, jeffreys, mean_interval, wilson
from harnesskit.stats.power import further_runs, smallest_drop

counts = st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(counts)
def test_proportions_are_statsmodels(kn: tuple[int, int]) -> None:
    k, n = kn
    assert wilson(k, n) == pytest.approx(proportion_confint(k, n, method="wilson"), abs=1e-9)
    assert jeffreys(k, n) == pytest.approx(proportion_confint(k, n, method="jeffreys"), abs=1e-9)
    if 0 < k < n:
        assert clopper_pearson(k, n) == pytest.approx(proportion_confint(k, n, method="beta"), abs=1e-9)


@given(counts)
def test_intervals_hold_the_share_and_end_exactly(kn: tuple[int, int]) -> None:
    k, n = kn
    for interval in (clopper_pearson(k, n), wilson(k, n)):
        assert interval.low - 1e-12 <= k / n <= interval.high + 1e-12
    assert (clopper_pearson(0, n).low, clopper_pearson(n, n).high) == (0.0, 1.0)


def test_impossible_counts_are_refused() -> None:
    with pytest.raises(ValueError, match="k=4, n=3"):
        wilson(4, 3)


def test_one_cluster_gives_no_interval() -> None:
    assert mean_interval([0.1, 0.2, 0.3], [0, 0, 0]).kind == ""


@given(st.floats(0.02, 0.3), st.integers(1, 5), st.integers(2, 8))
def test_further_runs_are_the_smallest_number_that_does(sd: float, n: int, m: int) -> None:
    more = float(further_runs(sd=sd, gap=0.1, quantile=0.9, n=n, m=m))
    if more == more:
        width = lambda k: 0.9 * sd * (1 / k + 1 / m) ** 0.5  # noqa: E731
        assert width(n + more) <= 0.1 + 1e-9
        assert more == 1 or width(n + more - 1) > 0.1 - 1e-9


def test_smallest_drop_shrinks_with_runs() -> None:
    assert smallest_drop(sd=0.1, n=10, m=10) < smallest_drop(sd=0.1, n=2, m=10)
