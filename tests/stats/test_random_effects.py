"""Random effects against statsmodels, and the cover of the interval with few cases."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from statsmodels.stats.meta_analysis import combine_effects

from harnesskit.stats.random_effects import paule_mandel, random_effects

cases = st.lists(st.tuples(st.floats(-1, 1), st.floats(0.001, 0.1)), min_size=3, max_size=12)


@given(cases)
def test_dersimonian_laird_is_statsmodels(data: list[tuple[float, float]]) -> None:
    effect, variance = np.array(data).T
    found = random_effects(effect, variance, heterogeneity="dersimonian-laird")
    assume(found.tau2 > 1e-6)  # statsmodels lets it fall below 0, then takes its root
    wanted = combine_effects(effect, variance, method_re="chi2")
    assert found.tau2 == pytest.approx(float(wanted.tau2), abs=1e-9)
    assert (found.mean, found.se) == pytest.approx((wanted.mean_effect_re, wanted.sd_eff_w_re), abs=1e-9)
    assert (found.fixed, found.q) == pytest.approx((wanted.mean_effect_fe, wanted.q), rel=1e-9)


def test_cases_that_differ_less_than_their_noise_have_no_spread() -> None:
    effect, variance = [0.1, 0.11, 0.09], [0.01, 0.01, 0.02]
    for method in ("dersimonian-laird", "paule-mandel"):
        found = random_effects(effect, variance, heterogeneity=method)
        assert found.tau2 == 0.0
        assert found.mean == pytest.approx(found.fixed)
        assert found.hksj_se == pytest.approx(found.se)  # never below it


@given(cases)
def test_paule_mandel_solves_its_equation(data: list[tuple[float, float]]) -> None:
    effect, variance = np.array(data).T
    tau2 = paule_mandel(effect, variance)
    w = 1 / (variance + tau2)
    q = float((w * (effect - (w * effect).sum() / w.sum()) ** 2).sum())
    assert q == pytest.approx(len(effect) - 1, rel=1e-5) if tau2 > 0 else q <= len(effect) - 1 + 1e-9


def test_the_interval_covers_with_five_cases() -> None:
    rng = np.random.default_rng(16)
    held = []
    for _ in range(1500):
        variance = rng.uniform(0.002, 0.01, 5)
        found = random_effects(rng.normal(0.1, np.sqrt(0.01 + variance)), variance)
        held.append(found.low <= 0.1 <= found.high)
    assert np.mean(held) >= 0.95 - 3 * (0.05 * 0.95 / 1500) ** 0.5


def test_one_case_has_a_mean_and_no_interval() -> None:
    found = random_effects([0.1], [0.01])
    assert (found.mean, found.tau2, found.se) == pytest.approx((0.1, 0.0, 0.1))
    assert np.isnan([found.low, found.high, found.new_low, found.hksj_se]).all()
    two = random_effects([0.1, 0.3], [0.01, 0.01])
    assert np.isfinite([two.low, two.high]).all()
    assert np.isnan(two.new_low)


def test_a_new_case_is_less_certain_than_the_mean() -> None:
    found = random_effects([0.1, 0.4, -0.2, 0.3], [0.004] * 4)
    assert found.new_low < found.low < found.high < found.new_high


def test_no_case_and_no_variance_are_refused() -> None:
    for effect, variance in (([], []), ([0.1], [0.0])):
        with pytest.raises(ValueError, match="variance above 0"):
            random_effects(effect, variance)
