"""Adjusted p-values against statsmodels, and the level each test has to meet."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from harnesskit.stats.multiple import benjamini_hochberg, benjamini_yekutieli, holm, holm_level

ps = st.lists(st.floats(0, 1), min_size=1, max_size=20)


@given(ps)
def test_adjusted_p_values_are_statsmodels(p: list[float]) -> None:
    for ours, name in ((holm, "holm"), (benjamini_hochberg, "fdr_bh"), (benjamini_yekutieli, "fdr_by")):
        np.testing.assert_allclose(ours(p), multipletests(p, method=name)[1], atol=1e-12)


@given(ps, st.sampled_from([0.01, 0.05, 0.2]))
def test_a_test_is_rejected_exactly_at_its_level(p: list[float], alpha: float) -> None:
    np.testing.assert_array_equal(np.array(p) <= holm_level(p, alpha), holm(p) <= alpha)


@given(ps, st.integers(0, 10))
def test_planned_tests_without_a_p_value_count_as_one(p: list[float], more: int) -> None:
    level = holm_level(p, 0.05, family=len(p) + more)
    np.testing.assert_allclose(level, holm_level([*p, *[1.0] * more], 0.05)[: len(p)])


def test_missing_p_values_are_refused() -> None:
    with pytest.raises(ValueError, match="must not be missing"):
        holm([0.1, float("nan")])
