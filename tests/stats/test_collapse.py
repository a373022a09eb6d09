"""What a trial's own runs tell of runs that collapse by themselves."""

from __future__ import annotations

import numpy as np
import pytest

from harnesskit.stats.collapse import one_run_factor
from harnesskit.stats.harm_mixture import guard_look
from harnesskit.stats.harm_prior import harm_prior
from harnesskit.stats.win_runs import WinRuns

CAPTURES = np.full((6, 2), 0.85)
HIGH, LOW, HARMED = [0.85, 0.85], [0.2, 0.2], [0.55, 0.55]


def _known(**other):
    return harm_prior(captures=CAPTURES, sd=[0.1, 0.1], **other)


def _factor(runs) -> float:
    known = _known()
    sums = WinRuns(known)
    for win, candidate, row in runs:
        sums.add(win, candidate, np.array(row, dtype=float))
    return one_run_factor(known, sums)


def test_a_harmed_win_is_no_collapse():
    assert _factor([(0, True, HARMED)] * 4 + [(0, False, HIGH)] * 3) == 8.0


@pytest.mark.parametrize(
    "runs",
    [
        [(0, True, LOW), (0, True, HIGH), (0, True, LOW)],
        [(0, False, LOW), (0, True, HIGH), (0, True, HIGH)],  # a control run far below the capture
    ],
)
def test_a_win_that_is_now_high_now_low_is_one(runs):
    assert _factor(runs) < 4


def test_missing_scores_are_not_low():
    assert _factor([(0, True, [0.85, np.nan]), (0, True, [np.nan, 0.9]), (0, True, [np.nan, np.nan])]) == 8.0


def test_with_a_bank_it_was_fixed_before():
    bank = np.random.default_rng(1).normal(0.8, 0.1, size=(10, 5, 2))
    known = harm_prior(bank)
    sums = WinRuns(known)
    for _ in range(3):
        for row in (HIGH, LOW):
            sums.add(0, True, np.array(row))
    assert one_run_factor(known, sums) == known.one_run


def test_runs_that_collapse_do_not_veto_a_rule_and_a_harm_still_does():
    known = _known()
    wins, arms = [0] * 6 + [1, 2, 3, 4, 5], [True] * 4 + [False] * 2 + [True] * 5
    others = [HIGH] * 7
    mixed = guard_look(known, wins, arms, [LOW, HIGH, LOW, HIGH, *others])
    harmed = guard_look(known, wins, arms, [HARMED] * 4 + others)
    assert mixed.evidence < 12 <= harmed.evidence
