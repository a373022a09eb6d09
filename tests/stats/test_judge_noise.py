"""The split of noise between agent and judge, and the interval of a standard deviation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from harnesskit.stats.judge_noise import JudgeNoise, best_calls, sd_interval, split_judge


def test_the_chi_square_interval_is_that_of_the_distribution() -> None:
    low, high = sd_interval(0.04, 10)
    assert stats.chi2.sf(10 * 0.04 / low**2, 10) == pytest.approx(0.05)
    assert stats.chi2.cdf(10 * 0.04 / high**2, 10) == pytest.approx(0.05)


def test_the_best_number_of_judge_calls_is_the_one_of_the_specification() -> None:
    noise = JudgeNoise(0.15**2, 0.05**2, 40.0, 0.9)
    assert [best_calls(noise, replay_cost=cost) for cost in (0.1, 1.0, 20.0)] == [1, 3, 5]
    assert best_calls(JudgeNoise(0.01, 0.0, 40.0, 1.0), replay_cost=1.0) == 5


def test_runs_judged_once_split_nothing() -> None:
    found = split_judge(np.array([0.1, 0.2]), np.array([0, 1]), 0.01)
    assert np.isnan(found.judge_s2)
    assert best_calls(found, replay_cost=1.0) is None
    assert np.isnan(sd_interval(0.01, 0).low)


def test_unequal_numbers_of_calls_are_split_without_bias() -> None:
    rng = np.random.default_rng(0)
    calls = rng.integers(1, 4, 6000)
    run = np.repeat(np.arange(6000), calls)
    values = rng.normal(0, 0.05, 6000)[run] + rng.normal(0, 0.1, len(run))
    means = np.bincount(run, values) / calls
    found = split_judge(values, run, float(means.var()))
    assert found.judge_s2**0.5 == pytest.approx(0.1, rel=0.03)
    assert found.agent_s2**0.5 == pytest.approx(0.05, rel=0.1)
