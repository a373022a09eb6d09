"""Agreement of raters against statsmodels, published tables and identities between the measures."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import cohens_kappa

from harnesskit.stats.reliability import (
    agreement,
    bootstrap_interval,
    group_icc,
    intra_class,
    krippendorff,
    label_table,
)

labels = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=3, max_size=40)


@given(labels)
def test_kappa_is_statsmodels(pairs: list[tuple[int, int]]) -> None:
    table = np.zeros((3, 3))
    for a, b in pairs:
        table[a, b] += 1
    assume((table.sum(axis=0) > 0).all() and (table.sum(axis=1) > 0).all())  # else it divides by 0 for its variances
    assert agreement(table).kappa == pytest.approx(float(cohens_kappa(table, return_results=False)), abs=1e-9)


@given(labels)
def test_swapping_raters_and_naming_labels_otherwise_change_nothing(pairs: list[tuple[int, int]]) -> None:
    a, b = np.array(pairs, dtype=float).T
    assert label_table(a, b).tolist() == label_table(b, a).T.tolist()
    assert agreement(label_table(a, b)) == pytest.approx(agreement(label_table(b, a)), nan_ok=True)
    one, other = krippendorff([a, b]), krippendorff([2 - b, 2 - a])
    assert one == pytest.approx(other, nan_ok=True)


@given(st.lists(st.integers(0, 1), min_size=4, max_size=40), st.lists(st.integers(0, 1), min_size=4, max_size=40))
def test_of_two_labels_nominal_and_interval_distances_are_the_same(a: list[int], b: list[int]) -> None:
    n = min(len(a), len(b))
    data = [a[:n], b[:n]]
    assert krippendorff(data) == pytest.approx(krippendorff(data, level="interval"), nan_ok=True)


def test_missing_ratings_leave_the_complete_items_alone() -> None:
    nan = math.nan
    complete = [[1, 2, 3, 3], [1, 2, 3, 2]]
    padded = [[1, 2, nan, 3, 3], [1, 2, 1, 3, 2]]
    assert krippendorff(padded) == pytest.approx(krippendorff(complete))
    assert label_table(padded[0], padded[1]).sum() == 4


def test_perfect_agreement_is_one_and_none_at_all_is_missing() -> None:
    assert krippendorff([[1, 2, 3], [1, 2, 3]], level="ordinal") == pytest.approx(1.0)
    assert agreement([[5, 0], [0, 5]])[:3] == pytest.approx((1.0, 1.0, 1.0))
    assert math.isnan(krippendorff([[1, 1], [1, 1]]))
    assert agreement([[0, 0], [0, 0]]).n == 0
    assert math.isnan(agreement([[7, 0], [0, 0]]).kappa)
    assert agreement([[7, 0], [0, 0]]).ac1 == 1.0


def test_correlations_of_scores_meet_their_definition() -> None:
    rng = np.random.default_rng(17)
    item, rater = rng.normal(scale=0.2, size=(3000, 1)), np.array([-0.2, 0.0, 0.2])
    found = intra_class(item + rater + rng.normal(scale=0.1, size=(3000, 3)))
    assert found.icc3 == pytest.approx(0.04 / 0.05, abs=0.02)
    assert found.icc2 == pytest.approx(0.04 / (0.05 + 0.04), abs=0.02)
    assert found.icc1 < found.icc2 < found.icc3 < found.icc3k


def test_sessions_of_any_size() -> None:
    rng = np.random.default_rng(18)
    group = np.repeat(np.arange(600), rng.integers(1, 8, 600))
    values = rng.normal(size=600)[group] + rng.normal(size=len(group))
    assert group_icc(values, group) == pytest.approx(0.5, abs=0.06)
    assert group_icc(rng.permutation(values), group) < 0.06
    assert math.isnan(group_icc([1.0, 2.0], [0, 1]))


def test_the_bootstrap_draws_whole_clusters_and_repeats_itself() -> None:
    rng = np.random.default_rng(19)
    cluster = np.repeat(np.arange(30), 10)
    rows = np.repeat(rng.random((30, 1)) < 0.7, 10, axis=0).astype(float)

    def mean(drawn: np.ndarray) -> float:
        return float(drawn.mean())

    alone, together = (
        bootstrap_interval(rows, mean, draws=400),
        bootstrap_interval(rows, mean, cluster=cluster, draws=400),
    )
    assert together.high - together.low > 2 * (alone.high - alone.low)
    assert bootstrap_interval(rows, mean, draws=50, seed=3) == bootstrap_interval(rows, mean, draws=50, seed=3)
    assert math.isnan(bootstrap_interval(rows[:19], mean).low)


def test_tables_that_cannot_be_read_are_refused() -> None:
    with pytest.raises(ValueError, match="square"):
        agreement([[1, 2, 3], [1, 2, 3]])
    with pytest.raises(ValueError, match="no missing rating"):
        intra_class([[1.0, math.nan], [1.0, 2.0]])
    with pytest.raises(ValueError, match="'ratio'"):
        krippendorff([[1, 2], [1, 2]], level="ratio")  # type: ignore[arg-type]
