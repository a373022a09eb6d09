"""The pooled benefit test against a regression with case effects, its level, and the t-type e-process built on it."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st

from harnesskit.stats.benefit import benefit, benefit_from, further_replays

scores = st.lists(st.floats(0, 1), min_size=1, max_size=5)
arms = st.lists(st.tuples(scores, scores), min_size=1, max_size=5)


@given(arms)
def test_swapping_the_arms_flips_the_sign(cases: list[tuple[list[float], list[float]]]) -> None:
    control, rule = [c for c, _ in cases], [r for _, r in cases]
    one, other = benefit(control, rule, prior_sd=0.1), benefit(rule, control, prior_sd=0.1)
    assert one.delta == pytest.approx(-other.delta)
    assert one.z == pytest.approx(-other.z)
    assert (one.s2, one.variance, one.df) == pytest.approx((other.s2, other.variance, other.df))


def test_a_negligible_prior_leaves_the_cell_means_model() -> None:
    rng = np.random.default_rng(1)
    control, rule = rng.normal(0.5, 0.1, (3, 4)), rng.normal(0.6, 0.1, (3, 4))
    y = np.concatenate([control.ravel(), rule.ravel()])
    case, arm = np.tile(np.repeat(np.arange(3), 4), 2), np.repeat([0.0, 1.0], 12)
    cells = (case + 3 * arm)[:, None] == np.arange(6)
    fit = sm.OLS(y, cells.astype(float)).fit()
    wanted = fit.t_test(np.array([-1, -1, -1, 1, 1, 1]) / 3)
    found = benefit(control, rule, prior_sd=0.1, prior_df=1e-9)
    assert found.t == pytest.approx(float(wanted.tvalue[0, 0]), rel=1e-6)
    assert found.p == pytest.approx(float(wanted.pvalue) / 2, rel=1e-6)


def test_useless_rules_cross_as_often_as_stated() -> None:
    rng = np.random.default_rng(2)
    crossed = [
        benefit(rng.normal(0.4, 0.1, (3, 5)), rng.normal(0.4, 0.1, (3, 2)), prior_sd=0.1).p <= 0.05 for _ in range(2000)
    ]
    assert np.mean(crossed) <= 0.05 + 3 * (0.05 * 0.95 / 2000) ** 0.5


def test_information_is_what_a_sequential_bound_counts() -> None:
    found = benefit([[0.4, 0.5, 0.3]] * 2, [[0.6]] * 2, prior_sd=0.1)
    assert found.information == pytest.approx(4 / (2 * (1 / 3 + 1)))


def test_falling_short_speaks_against_the_worthwhile_effect() -> None:
    found = benefit_from(-0.1, 0.01, 0.0025, 20)
    assert found.shortfall_z(0.10) > 3
    assert benefit_from(0.10, 0.01, 0.0025, 20).shortfall_z(0.10) == 0.0


def test_equal_scores_rest_on_the_prior_noise() -> None:
    found = benefit([[0.5, 0.5]], [[0.5, 0.5]], prior_sd=0.1)
    assert found.delta == 0
    assert found.s2 == pytest.approx(3 * 0.01 / 5)


def test_cases_must_match_and_have_runs() -> None:
    with pytest.raises(ValueError, match="2 with control runs, 1 with the rule"):
        benefit([[0.1], [0.2]], [[0.1]], prior_sd=0.1)
    with pytest.raises(ValueError, match="at least one scored run"):
        benefit([[0.1]], [[]], prior_sd=0.1)


def test_replays_still_needed_never_fall_below_zero() -> None:
    assert further_replays(0.01, spent=1000) == 0.0
