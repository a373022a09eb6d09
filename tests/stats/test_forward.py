"""The path of a forward trial: against scipy, the published e-values, and what stops it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from harnesskit.stats.forward import e_path, guard_path, welch_path
from harnesskit.stats.sequential import boundaries


def test_the_e_values_are_the_published_ones():
    d = [0.12, 0.05, -0.04, 0.2, 0.1, 0.15, 0.0, 0.09]
    path = e_path(d, sd=0.02**0.5)
    assert path.promote[-1] == pytest.approx(13.17867094406851)
    assert path.decided is None
    assert path.verdict == ""


def test_the_first_bound_that_is_reached_decides():
    assert e_path([0.4] * 9, sd=0.2).verdict == "promote"
    path = e_path([-0.2] * 30, sd=0.2)
    assert path.verdict == "retire"
    assert path.last == path.decided
    assert path.retire[path.last] >= 10 > path.retire[path.last - 1]


def test_no_trial_is_decided_before_five_pairs():
    assert e_path([5.0] * 4, sd=0.2).decided is None
    assert e_path([5.0] * 5, sd=0.2).decided == 4


def test_the_last_look_is_welchs_t():
    rng = np.random.default_rng(3)
    arm = np.tile([True, False], 12)
    value = rng.normal(0.6, 0.1, 24) + 0.03 * arm
    path = welch_path(value, arm, np.arange(2, 25, 2), planned=12)
    assert path.n_treated.tolist() == list(range(5, 13))
    test = stats.ttest_ind(value[arm], value[~arm], equal_var=False)
    assert path.promote[-1] == pytest.approx(stats.norm.isf(test.pvalue / 2) * np.sign(test.statistic), abs=1e-9)
    assert path.promote_bound == pytest.approx(boundaries(np.arange(5.0, 13.0), 0.05, planned=12.0))


def test_no_look_goes_beyond_the_promised_horizon():
    rng = np.random.default_rng(0)
    path = welch_path(rng.random(80), np.tile([True, False], 40), np.arange(2, 81, 2), planned=20)
    assert len(path.estimate) == 16
    assert path.first_pair == 4


def test_equal_scores_are_no_proof_of_no_noise():
    path = welch_path([0.5] * 40, np.tile([True, False], 20), np.arange(2, 41, 2), planned=20)
    assert np.isfinite(path.promote).all()


def test_without_pairs_there_is_no_look():
    assert e_path([], sd=0.2).last == -1
    assert welch_path([], [], [], planned=20).last == -1


def test_a_guardrail_asks_for_harm_only():
    assert guard_path([-0.3] * 20, sd=0.2).crossed is not None
    assert guard_path([0.3] * 20, sd=0.2).crossed is None
    assert guard_path([], sd=0.2).crossed is None
