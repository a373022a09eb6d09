"""The adaptive regression run: every win once, then round by round where a verdict can still change, then failures.

The runner asks `WinStates` what to replay, has it replayed, hands every attempt to a sink as it ends, and stops at the
budget, when every win is decided, at a time limit or when the user stops it; what is there by then gives the verdict.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from harnesskit.measures.failed_runs import ended_early
from harnesskit.model.case import EvalCase
from harnesskit.replays.engine import Sink, areplay_trials, replay_trials
from harnesskit.replays.setup import Record, Setup, Trial
from harnesskit.trials.common_scale import common_values
from harnesskit.trials.frozen import Frozen
from harnesskit.trials.replayer import reason_code, scored_values
from harnesskit.trials.win import CANDIDATE, CONTROL, Given, Step
from harnesskit.trials.win_states import WinStates
from harnesskit.workspace.rows import SampleRow, ScoreRow

BUDGET, DECIDED, INTERRUPTED, TIME_LIMIT = "budget spent", "all wins decided", "interrupted", "time limit"


class Replays(Protocol):
    """What makes attempts."""

    async def make(self, trials: Sequence[Trial], arm: str, sink: Sink) -> None:
        """Replay these trials and hand each attempt to the sink as it ends."""


@dataclass
class AgentReplays:
    """Replays of the user's functions, one set-up per arm.

    Attributes
    ----------
    setups
        Arm to what its attempts have in common; the arms share their sessions.
    blocking
        Replay in worker threads and block the caller, who drives the run with `harnesskit.trials.replayer.finish`.
    concurrency
        Replays at work at once.
    """

    setups: Mapping[str, Setup]
    blocking: bool = False
    concurrency: int = 1

    async def make(self, trials: Sequence[Trial], arm: str, sink: Sink) -> None:
        """Replay these trials and hand each attempt to the sink as it ends."""
        at_once = max(1, min(self.concurrency, len(trials)))
        if self.blocking:
            replay_trials(self.setups[arm], trials, concurrency=at_once, sink=sink)
        else:
            await areplay_trials(self.setups[arm], trials, concurrency=at_once, sink=sink)


class Ended(NamedTuple):
    """How an adaptive run ended."""

    states: WinStates
    stopped: str
    rounds: int


@dataclass
class AdaptiveRun:
    """One adaptive run, begun or gone on with.

    Attributes
    ----------
    frozen
        What was fixed before the first replay.
    cases
        The cases by id.
    replays
        Makes attempts.
    keep
        Is given every attempt as it ends, with its round; it is on disk when this returns.
    earlier
        Attempts that the run has already.
    time_limit_s
        Seconds after which no further round is begun.
    clock
        Seconds that pass.
    step
        Called after each attempt.
    states
        The wins as they stand, once the run has begun.
    """

    frozen: Frozen
    cases: Mapping[str, EvalCase]
    replays: Replays
    keep: Sink
    earlier: Sequence[Record] = ()
    time_limit_s: float | None = None
    clock: Callable[[], float] = time.monotonic
    step: Callable[[], None] = lambda: None
    states: WinStates = field(init=False, repr=False)
    _trials: dict[tuple[str, str], list[tuple[int, int]]] = field(default_factory=dict, init=False, repr=False)

    async def go(self) -> Ended:
        """Replay until a reason to stop, then each failure once; a run that the user stops has a verdict too.

        Raises
        ------
        CancelledError
            The task was cancelled; everything that had ended is kept.
        """
        states, number = taken(self.frozen, self.earlier)
        self.states = states
        for record in self.earlier:
            self._count(record.sample)
        began = self.clock()
        try:
            while steps := states.next_round():
                if self.time_limit_s is not None and self.clock() - began >= self.time_limit_s:
                    return Ended(states, TIME_LIMIT, number)
                number = 1 if states.unseen else max(number, 1) + 1
                states.take(given(await self._round(steps, number), self.frozen))
            await self._failures()
        except KeyboardInterrupt:
            return Ended(states, INTERRUPTED, number)
        return Ended(states, BUDGET if states.open_wins else DECIDED, number)

    async def _round(self, steps: Sequence[Step], number: int | None) -> list[Record]:
        made: list[Record] = []

        def sink(sample: SampleRow, scores: list[ScoreRow]) -> None:
            numbered = sample._replace(round=number)
            self.keep(numbered, scores)
            self._count(numbered)
            made.append(Record(numbered, scores))
            self.step()

        for arm in dict.fromkeys(step.arm for step in steps):
            trials = self._numbered([step for step in steps if step.arm == arm])
            await self.replays.make(trials, arm, sink)
        place = {step.case_id: i for i, step in enumerate(steps)}
        return sorted(made, key=lambda one: (place[one.sample.case_id or ""], one.sample.trial or 0))

    def _numbered(self, steps: Iterable[Step]) -> list[Trial]:
        """Return the trials of the steps: the next number of each case and arm, again where one was interrupted."""
        found: list[Trial] = []
        ahead: dict[tuple[str, str], int] = {}
        for step in steps:
            key = (step.case_id, step.arm)
            known = self._trials.get(key, [])
            more = ahead.get(key, 0)
            cut = [attempt for trial, attempt in known if trial < 0]
            done = sum(trial > 0 for trial, _ in known)
            found.append(Trial(self.cases[step.case_id], done + 1 + more, 1 + (max(cut, default=0) if not more else 0)))
            ahead[key] = more + 1
        return found

    def _count(self, sample: SampleRow) -> None:
        """Remember an attempt; an interrupted one (counted below 0) is made again under the next attempt number."""
        key = (sample.case_id or "", sample.arm or CANDIDATE)
        known = self._trials.setdefault(key, [])
        if reason_code(sample) == "interrupted":
            known.append((-(sample.trial or 1), sample.attempt))
        else:
            self._trials[key] = [one for one in known if one[0] > 0] + [(sample.trial or 1, sample.attempt)]

    async def _failures(self) -> None:
        """Replay each failure once: it is shown, never decides, and costs nothing of the budget."""
        left = [Step(case_id, CANDIDATE) for case_id in self.frozen.once
                if not any(trial > 0 for trial, _ in self._trials.get((case_id, CANDIDATE), ()))]  # fmt: skip
        if left:
            await self._round(left, None)


def given(records: Iterable[Record], frozen: Frozen) -> list[Given]:
    """Return the attempts on wins as the evidence needs them; interrupted ones are none."""
    wins, found = set(frozen.wins), []
    for sample, scores in records:
        if sample.case_id not in wins or reason_code(sample) == "interrupted":
            continue
        values = None
        if sample.status not in ("error", "timeout", "skipped"):
            known = common_values(scored_values(scores), frozen.scales)
            values = known if any(value is not None for value in known) else None
        elif frozen.policy.counts_failed and sample.arm != CONTROL and ended_early(sample.status, sample.reason):
            values = tuple(one.worst if k in frozen.priors else None for k, one in enumerate(frozen.scales))
            values = values if frozen.priors else None
        found.append(Given(sample.case_id, sample.arm or CANDIDATE, values))
    return found


def taken(frozen: Frozen, records: Iterable[Record], states: WinStates | None = None) -> tuple[WinStates, int]:
    """Return the wins of a run as its stored attempts leave them, and the number of its last round.

    Round by round; inside a round in the order of cases and trials, not in that in which they ended. `states` takes
    them, when it is given.
    """
    states = states or WinStates(frozen)
    rounds: dict[int, list[Record]] = {}
    place = {case_id: i for i, case_id in enumerate(frozen.wins)}
    for record in records:
        if record.sample.round is not None and record.sample.case_id in place:
            rounds.setdefault(record.sample.round, []).append(record)
    for number in sorted(rounds):
        ordered = sorted(
            rounds[number],
            key=lambda one: (place[one.sample.case_id or ""], one.sample.arm or "", one.sample.trial or 0),
        )
        states.take(given(ordered, frozen))
    return states, max(rounds, default=0)
