"""Certified thresholds: the guarantee holds in simulation, and nothing is promised from too few labels."""

from __future__ import annotations

import numpy as np
import pytest

from harnesskit.stats.thresholds import certifiable_count, certify_precision, flagged_needed, flip_rate, precision_p

GRID = np.arange(5, 100, 5) / 100


def test_a_precision_below_target_is_rarely_certified() -> None:
    """Labels drawn so that precision falls below .8 above a score of about .44."""
    rng, wrong, found = np.random.default_rng(27), 0, 0
    for _ in range(300):
        x = rng.random(120)
        failed = rng.random(120) < np.where(x < 0.3, 0.95, 0.4)
        certified = certify_precision(x, failed, GRID, target=0.8)
        if certified.threshold is not None:
            found += 1
            h = certified.threshold
            true = (0.95 * min(h, 0.3) + 0.4 * max(h - 0.3, 0)) / h
            wrong += true < 0.8
    assert wrong / 300 <= 0.10 + 3 * (0.09 / 300) ** 0.5
    assert found > 100


def test_the_highest_threshold_that_passes_is_returned() -> None:
    x = np.arange(200) / 200
    found = certify_precision(x, x < 0.5, GRID, target=0.8)
    assert found.threshold == pytest.approx(0.55)
    assert found.recall == 1.0
    assert found.more_labels == 0
    assert found.p == pytest.approx(precision_p(found.hits, found.flagged, 0.8))


def test_too_few_labels_say_how_many_more() -> None:
    found = certify_precision([0.1, 0.2, 0.9, 0.9], [True, True, False, False], GRID, target=0.8)
    assert found.threshold is None
    assert found.more_labels == 18  # 9 more flagged ones, half of the sessions being flagged
    assert np.isnan(found.recall)


def test_a_precision_that_is_too_low_needs_no_more_labels() -> None:
    x = np.arange(100) / 100
    assert certify_precision(x, np.arange(100) % 2 == 0, GRID, target=0.8).more_labels is None
    assert certify_precision([], [], GRID, target=0.8).threshold is None


def test_what_is_needed_certifies() -> None:
    n = flagged_needed(18, 20, 0.8)
    assert n is not None
    assert precision_p(int(0.9 * n + 1e-9), n, 0.8) <= 0.10
    assert flagged_needed(0, 0, 0.9) == certifiable_count(0.9)
    assert precision_p(0, 0, 0.8) == 1.0


def test_unscored_sessions_are_not_dropped_in_silence() -> None:
    with pytest.raises(ValueError, match="score and a label"):
        certify_precision([0.1, float("nan")], [True, True], GRID, target=0.8)


def test_flips_are_most_frequent_at_the_threshold() -> None:
    assert flip_rate([0.5], 0.5, sd=0.1) == pytest.approx(0.5)
    assert flip_rate([0.0, 1.0], 0.5, sd=0.05) < 1e-6
    with pytest.raises(ValueError, match="above 0"):
        flip_rate([0.5], 0.5, sd=0.0)
    with pytest.raises(ValueError, match="between 0 and 1"):
        certifiable_count(1.0)
