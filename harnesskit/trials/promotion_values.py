"""The attempts of a trial as numbers, in the order of the replays: failures in the target metric, wins in all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from harnesskit.measures.failed_runs import ended_early
from harnesskit.measures.promotion_trial import UNSCORABLE
from harnesskit.replays.setup import Record
from harnesskit.trials.common_scale import Scale, common_values
from harnesskit.trials.promotion_frozen import FrozenPromotion
from harnesskit.trials.replayer import scored_values
from harnesskit.trials.win import CANDIDATE, CONTROL, Step
from harnesskit.workspace.rows import SampleRow

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]


class Replayed(NamedTuple):
    """Replays in order: place of the case, whether of the candidate's arm, and values (NaN: unscored)."""

    case: Ints
    candidate: Bools
    values: Floats


class Values:
    """What a trial has replayed so far.

    Parameters
    ----------
    frozen
        What the trial fixed before its first replay.

    Attributes
    ----------
    spent
        Replays made, unscored ones included.
    known, read
        Candidate replays of failures that say whether they read the rule, and those that did.
    """

    def __init__(self, frozen: FrozenPromotion) -> None:
        self.frozen = frozen
        self.kinds = frozen.kinds
        self.spent = self.known = self.read = 0
        self._rows: list[tuple[Step, tuple[float, ...]]] = []
        self._scored: dict[Step, int] = {}
        self._tried: dict[Step, int] = {}
        scales = frozen.scales
        self._target = next((k for k, one in enumerate(scales) if one.metric == frozen.target), None)
        self._guards = [k for k, one in enumerate(scales) if one.metric in frozen.guard_metrics]
        self.banked = {case: self._frozen_values(case) for case in self.kinds}

    def _frozen_values(self, case: str) -> list[tuple[float, ...]]:
        runs = [run for run in self.frozen.controls.get(case, ()) if run.source == "control"]
        return [numbers(run.scores, self.frozen.scales) for run in runs]

    def take(self, records: Iterable[Record]) -> None:
        """Take attempts that came to an end, in order."""
        for record in records:
            sample, scores = record
            step = Step(sample.case_id or "", sample.arm or CANDIDATE)
            if step.case_id not in self.kinds:
                continue
            values = numbers(scored_values(scores), self.frozen.scales)
            if sample.status in ("error", "timeout", "skipped"):
                values = tuple(np.nan for _ in values)
                if step.arm != CONTROL and ended_early(sample.status, sample.reason):
                    values = tuple(one.worst if one.binary else np.nan for one in self.frozen.scales)
            self.spent += 1
            self._rows.append((step, values))
            self._tried[step] = self._tried.get(step, 0) + 1
            self._scored[step] = self._scored.get(step, 0) + self._counts(step, values)
            if step.arm != CONTROL and self.kinds[step.case_id] == "failure":
                self._count_reading(record.sample)

    def _count_reading(self, sample: SampleRow) -> None:
        if sample.candidate_surfaced is not None and not ended_early(sample.status, sample.reason):
            self.known += 1
            self.read += bool(sample.candidate_surfaced)

    @property
    def unread(self) -> bool:
        """Whether too few of the candidate replays of failures read the rule, so far."""
        return self.read < self.frozen.policy.min_compliance * self.known

    def _counts(self, step: Step, values: tuple[float, ...]) -> bool:
        if self.kinds[step.case_id] == "win":
            return any(np.isfinite(values[k]) for k in self._guards)
        return self._target is not None and bool(np.isfinite(values[self._target]))

    def scored(self, case: str, arm: str) -> int:
        """Return the scored runs of a case in an arm, the bank included."""
        return self._scored.get(Step(case, arm), 0) + (len(self.bank_of(case)) if arm == CONTROL else 0)

    def bank_of(self, case: str) -> Floats:
        """Return the banked values of a failure in the target metric."""
        if self._target is None:
            return np.zeros(0)
        known = [values[self._target] for values in self.banked[case] if np.isfinite(values[self._target])]
        return np.array(known, dtype=float)

    def given_up(self, case: str, arm: str) -> bool:
        """Whether a case gave no score in an arm too often."""
        return self._tried.get(Step(case, arm), 0) >= UNSCORABLE and not self.scored(case, arm)

    @property
    def failures(self) -> tuple[str, ...]:
        """Failures that can be compared; one that cannot be scored in one of the arms is left out."""
        out = {case for case in self.frozen.failures for arm in (CONTROL, CANDIDATE) if self.given_up(case, arm)}
        return tuple(case for case in self.frozen.failures if case not in out)

    def benefit(self) -> Replayed:
        """Return the replays of the failures in the target metric."""
        place = {case: i for i, case in enumerate(self.failures)}
        rows = [
            (place[step.case_id], step.arm != CONTROL, values) for step, values in self._rows if step.case_id in place
        ]
        target = [np.nan if self._target is None else values[self._target] for _, _, values in rows]
        return _replayed(rows, np.array(target, dtype=float))

    def guard(self) -> Replayed:
        """Return the replays of the wins in all metrics watched, (replays, metrics)."""
        place = {case: i for i, case in enumerate(self.frozen.wins)}
        rows = [
            (place[step.case_id], step.arm != CONTROL, values) for step, values in self._rows if step.case_id in place
        ]
        values = [[row[2][k] for k in self._guards] for row in rows]
        return _replayed(rows, np.array(values, dtype=float).reshape(-1, len(self._guards)))

    def guard_cells(self) -> list[Floats]:
        """Return the runs of each failure and arm in the metrics watched, the bank included."""
        cells: dict[Step, list[list[float]]] = {}
        for case in self.frozen.failures:
            cells[Step(case, CONTROL)] = [[values[k] for k in self._guards] for values in self.banked[case]]
        for step, values in self._rows:
            if self.kinds[step.case_id] == "failure":
                cells.setdefault(step, []).append([values[k] for k in self._guards])
        return [np.array(rows, dtype=float) for rows in cells.values() if rows]

    def guard_bank(self) -> tuple[Floats, Floats]:
        """Return the banked runs (wins, runs, metrics) and the captures (wins, metrics) of the wins; NaN where none."""
        wins, k = self.frozen.wins, len(self._guards)
        depth = max([len(self.banked[case]) for case in wins], default=0)
        bank, captures = np.full((len(wins), depth, k), np.nan), np.full((len(wins), k), np.nan)
        for i, case in enumerate(wins):
            for j, values in enumerate(self.banked[case]):
                bank[i, j] = [values[at] for at in self._guards]
            captured = [run for run in self.frozen.controls.get(case, ()) if run.source == "captured"]
            if captured:
                values = numbers(captured[0].scores, self.frozen.scales)
                captures[i] = [values[at] for at in self._guards]
        return bank, captures


def numbers(scores: dict[str, float] | object, scales: tuple[Scale, ...]) -> tuple[float, ...]:
    """Return scores on the common scale, NaN where there is none."""
    known = dict(scores) if isinstance(scores, dict) else {}
    return tuple(np.nan if value is None else value for value in common_values(known, scales))


def _replayed(rows: list[tuple[int, bool, tuple[float, ...]]], values: Floats) -> Replayed:
    return Replayed(
        np.array([case for case, _, _ in rows], dtype=np.int64),
        np.array([arm for _, arm, _ in rows], dtype=bool),
        values,
    )
