"""The calibration table at a small scale, on seeds of its own; the whole one is `python -m tests.operating`."""

from __future__ import annotations

import numpy as np
import pytest

from tests.operating.calibration_world import CELLS, one_trial, simulate_calibration


@pytest.mark.operating
def test_what_is_certified_holds_and_the_chosen_threshold_is_near_the_best():
    rows = simulate_calibration([CELLS[2], CELLS[3]], seed=70_000, scale=0.1)
    assert not [row for row in rows if row.missed]
    for row in rows:
        assert row.recall > 4 * row.lowest_recall
        assert row.regret < row.raw_regret
        assert abs(row.bias) < row.optimism


def test_one_trial_is_the_same_whenever_it_is_run():
    np.testing.assert_array_equal(one_trial(80, 3), one_trial(80, 3))
