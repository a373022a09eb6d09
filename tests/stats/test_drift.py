"""Drift charts: false alarms as stated, drops found, and distances judged by permutation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from harnesskit.stats.drift import binned_psi, cusum, distances, frozen, permutation_p, psi, self_starting


@given(st.lists(st.floats(-3, 3), min_size=1, max_size=60))
def test_the_chart_is_its_recursion(z: list[float]) -> None:
    level, path = 0.0, []
    for value in z:
        level = max(0.0, level + value - 0.25)
        path.append(level)
    np.testing.assert_allclose(cusum(z).path, path, atol=1e-9)


def test_the_alarm_is_the_first_time_the_limit_is_reached() -> None:
    assert cusum([5.25, 5.25, -9.0], limit=10.0).alarm == 1
    assert cusum([1.0], limit=10.0).alarm is None


@given(st.floats(0.1, 10), st.floats(-5, 5))
def test_self_starting_scores_ignore_unit_and_level(unit: float, level: float) -> None:
    base, new = np.array([0.78, 0.71, 0.8, 0.69, 0.75]), np.array([0.7, 0.66, 0.9])
    np.testing.assert_allclose(
        self_starting(level + unit * base, level + unit * new, floor=0.0),
        self_starting(base, new, floor=0.0),
        atol=1e-7,
    )


def test_self_starting_scores_are_standard_normal() -> None:
    rng = np.random.default_rng(20)
    z = np.concatenate([self_starting(x[:4], x[4:], floor=0.0) for x in rng.normal(0.8, 0.1, size=(400, 24))])
    assert stats.kstest(z, "norm").pvalue > 0.001


def test_false_alarms_within_100_sessions_and_a_drop_found() -> None:
    rng = np.random.default_rng(21)
    quiet, delays = 0, []
    for _ in range(1000):
        x = rng.normal(0.8, 0.13, size=120)
        quiet += cusum(self_starting(x[:20], x[20:])).alarm is not None
    for _ in range(200):
        x = rng.normal(0.8, 0.13, size=160)
        found = cusum(self_starting(x[:60], x[60:] - 0.1)).alarm
        delays.append(100 if found is None else found + 1)
    assert quiet / 1000 <= 0.045
    assert np.median(delays) <= 30


def test_a_frozen_baseline_is_the_first_self_starting_score() -> None:
    base = [0.78, 0.71, 0.8, 0.69, 0.75]
    assert frozen(base, [0.6])[0] == pytest.approx(self_starting(base, [0.6])[0])


def test_equal_scores_do_not_make_an_infinite_drop() -> None:
    z = self_starting([1.0] * 10, [1.0, 0.9])
    assert z[0] == 0.0
    assert 1 < z[1] < 5
    assert np.isfinite(frozen([1.0] * 10, [0.0])).all()
    with pytest.raises(ValueError, match="at least 2 sessions, found 1"):
        self_starting([0.5], [0.5])


def test_no_drift_gives_uniform_permutation_p_values() -> None:
    rng = np.random.default_rng(22)
    p = [
        permutation_p(rng.random(15), rng.random(15), lambda a, b: distances(a, b).wasserstein, draws=39, seed=i)
        for i in range(100)
    ]
    assert np.mean(np.array(p) <= 0.1) <= 0.1 + 3 * (0.09 / 100) ** 0.5


def test_the_usual_psi_rule_cries_wolf_on_small_samples() -> None:
    rng = np.random.default_rng(23)
    small = np.mean([binned_psi(rng.random(15), rng.random(15)) > 0.2 for _ in range(200)])
    large = np.mean([binned_psi(rng.random(1000), rng.random(1000)) > 0.2 for _ in range(20)])
    assert small > 0.2
    assert large == 0


@given(st.lists(st.floats(0.01, 1), min_size=2, max_size=6), st.lists(st.floats(0.01, 1), min_size=6, max_size=6))
def test_psi_is_symmetric_and_never_negative(a: list[float], b: list[float]) -> None:
    e, o = np.array(a) / sum(a), np.array(b[: len(a)]) / sum(b[: len(a)])
    assert psi(e, o) == pytest.approx(psi(o, e))
    assert psi(e, o) >= 0
    assert psi(e, e) == 0
    assert np.isfinite(psi([1.0, 0.0], [0.0, 1.0]))
