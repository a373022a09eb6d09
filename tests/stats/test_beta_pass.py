"""When a repaired case counts as a win, and how many passes that still takes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from harnesskit.stats.beta_pass import PRIOR, pass_chance, pass_prior, passes_needed, predictive_pass


@given(st.integers(0, 30), st.integers(0, 6))
def test_passes_needed_are_the_fewest_that_do(passes: int, fails: int) -> None:
    more = passes_needed(passes, fails)
    assert more is not None
    assert pass_chance(passes + more, fails) >= 0.9
    assert more == 0 or pass_chance(passes + more - 1, fails) < 0.9


@given(st.integers(0, 6))
def test_without_a_failure_it_is_the_closed_form(passes: int) -> None:
    assert passes_needed(passes, 0) == max(0, math.ceil(math.log(0.1) / math.log(0.8)) - 4 - passes)


def test_seven_of_seven_and_thirteen_of_fourteen_do() -> None:
    assert (passes_needed(7, 0), passes_needed(13, 1)) == (0, 0)
    assert (passes_needed(6, 0), passes_needed(12, 1)) == (1, 1)


def test_out_of_reach_is_said() -> None:
    assert passes_needed(0, 50, most=20) is None


def test_the_corpus_prior_is_capped() -> None:
    assert sum(pass_prior([10] * 50, [10] * 50)) == pytest.approx(5.0)
    assert pass_prior([], []) == PRIOR
    low, high = pass_prior([2, 3, 2], [5, 5, 5]), pass_prior([5, 5, 4], [5, 5, 5])
    assert low.a / sum(low) < high.a / sum(high) < 1


def test_the_forecast_is_right_when_the_noise_is() -> None:
    rng = np.random.default_rng(12)
    scores = rng.normal(0.8, 0.1, size=(4000, 5))
    forecast = [predictive_pass(s[:4], threshold=0.75, prior_sd=0.1, prior_df=3).p for s in scores]
    assert np.mean(forecast) == pytest.approx((scores[:, 4] >= 0.75).mean(), abs=0.04)


def test_one_run_can_be_forecast_and_none_cannot() -> None:
    found = predictive_pass([0.9], threshold=0.7, prior_sd=0.1, prior_df=3)
    assert found.p == pytest.approx(stats.t.cdf(0.2 / (0.1 * 2**0.5), 3))
    with pytest.raises(ValueError, match="at least one scored run"):
        predictive_pass([], threshold=0.7, prior_sd=0.1, prior_df=3)
