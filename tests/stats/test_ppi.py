"""Prediction-powered means: no bias from a bad judge, cover, and a gain from a good one."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from harnesskit.stats.ppi import powered_mean, tuned_weight


def _world(rng: np.random.Generator, n: int, more: int, skill: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    truth = (rng.random(n + more) < 0.3).astype(float)
    judged = np.clip(skill * truth + 0.3 + rng.normal(scale=0.15, size=n + more), 0, 1)  # biased on purpose
    return truth[:n], judged[:n], judged[n:]


@pytest.mark.parametrize("skill", [0.0, 0.6])
def test_it_covers_and_is_unbiased_whatever_the_judge(skill: float) -> None:
    rng = np.random.default_rng(24)
    found = [powered_mean(*_world(rng, 40, 400, skill)) for _ in range(1000)]
    assert np.mean([f.mean for f in found]) == pytest.approx(0.3, abs=0.01)
    assert np.mean([f.low <= 0.3 <= f.high for f in found]) >= 0.925


def test_a_good_judge_narrows_the_interval() -> None:
    rng = np.random.default_rng(25)
    y, f, others = _world(rng, 60, 1000, 0.6)
    assert powered_mean(y, f, others).high - powered_mean(y, f, others).low < 0.75 * (
        powered_mean(y, f, others, weight=0.0).high - powered_mean(y, f, others, weight=0.0).low
    )


def test_without_a_judge_it_is_the_plain_t_interval() -> None:
    y = np.array([1.0, 0, 1, 1, 0, 1, 0, 1])
    found = powered_mean(y, y, [])
    half = stats.t.isf(0.025, 7) * y.std() / 8**0.5
    assert (found.low, found.high, found.weight) == pytest.approx((y.mean() - half, y.mean() + half, 0.0))


def test_below_20_labels_the_judge_is_not_tuned() -> None:
    rng = np.random.default_rng(26)
    y, f, others = _world(rng, 19, 100, 0.6)
    assert powered_mean(y, f, others).weight == 0.0
    assert powered_mean(y, f, others, weight=1.0).weight == 1.0
    assert 0 < tuned_weight(y, f, others) <= 1


def test_a_score_per_label_is_needed() -> None:
    with pytest.raises(ValueError, match="2 labels, 1 scores"):
        powered_mean([1, 0], [0.5], [0.5])
