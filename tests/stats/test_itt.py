"""Intention to treat recovers the effect that a look at readers only hides."""

from __future__ import annotations

import numpy as np
import pytest

from harnesskit.stats.itt import exercised_only_bias, intention_to_treat


def test_readers_only_hide_an_effect_that_all_runs_show() -> None:
    rng = np.random.default_rng(28)
    noise = rng.normal(scale=0.1, size=40_000)
    read = (noise < 0).astype(float)
    found = intention_to_treat(0.5 + noise + 0.1 * read, 0.5 + rng.normal(scale=0.1, size=40_000), read)
    assert tuple(found) == pytest.approx(tuple(exercised_only_bias(sd=0.1, effect=0.1)), abs=0.01)


def test_nobody_read_it_or_nobody_knows() -> None:
    found = intention_to_treat([0.6, 0.6], [0.5], [0.0, 0.0])
    assert (found.itt, found.compliance) == pytest.approx((0.1, 0.0))
    assert np.isnan([found.cace, found.exercised_only]).all()
    assert np.isnan(intention_to_treat([0.6], [0.5], [np.nan]).compliance)


def test_both_arms_are_needed() -> None:
    with pytest.raises(ValueError, match="a run in each arm"):
        intention_to_treat([], [0.5], [])
