"""A trial of a rule, replay by replay: what is asked for is replayed, kept as it ends, and looked at.

The runner asks `PromotionStates` what to replay, hands every attempt to a sink as it ends, and stops when the verdict
stands, at the budget, at a time limit or when the user stops it; what is there by then gives the verdict.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from harnesskit.model.case import EvalCase
from harnesskit.replays.engine import Sink
from harnesskit.replays.setup import Record, Trial
from harnesskit.trials.adaptive_regression import INTERRUPTED, TIME_LIMIT, Replays
from harnesskit.trials.promotion_rows import made
from harnesskit.trials.promotion_states import PromotionStates
from harnesskit.trials.replayer import reason_code
from harnesskit.trials.win import CANDIDATE, Step
from harnesskit.workspace.rows import SampleRow, ScoreRow


@dataclass
class PromotionRun:
    """One trial of a rule, begun or gone on with.

    Attributes
    ----------
    states
        What the trial knows and asks for; nothing was taken yet.
    cases
        The cases by id.
    replays
        Makes attempts of the arms ``candidate`` and ``control``.
    keep
        Is given every attempt as it ends, with its number; it is on disk when this returns.
    earlier
        Attempts that the run has already.
    concurrency
        Replays made at once; looked at one by one, in the order in which they were asked for.
    time_limit_s
        Seconds after which no further replay is begun.
    clock
        Seconds that pass.
    step
        Called after each attempt.
    """

    states: PromotionStates
    cases: Mapping[str, EvalCase]
    replays: Replays
    keep: Sink
    earlier: Sequence[Record] = ()
    concurrency: int = 1
    time_limit_s: float | None = None
    clock: Callable[[], float] = time.monotonic
    step: Callable[[], None] = lambda: None
    _trials: dict[Step, int] = field(default_factory=dict, init=False, repr=False)
    _cut: dict[tuple[Step, int], int] = field(default_factory=dict, init=False, repr=False)
    _number: int = field(default=0, init=False, repr=False)

    async def go(self) -> str:
        """Replay until a reason to stop, and return the reason; a run that the user stops has a verdict too.

        Raises
        ------
        CancelledError
            The task was cancelled; everything that had ended is kept.
        """
        for record in self.earlier:
            self._count(record.sample)
        self.states.take(made(self.earlier))
        began = self.clock()
        try:
            while steps := self.states.next_steps(self.concurrency):
                if self.time_limit_s is not None and self.clock() - began >= self.time_limit_s:
                    return TIME_LIMIT
                self.states.take(made(await self._made(steps)))
        except KeyboardInterrupt:
            return INTERRUPTED
        return self.states.stopped

    async def _made(self, steps: Sequence[Step]) -> list[Record]:
        """Replay the steps, each with the number of its place in the order of evidence."""
        trials = self._numbered(steps)
        numbers = {(trial.case.id, arm, trial.trial): self._number + i for i, (trial, arm) in enumerate(trials, 1)}
        found: list[Record] = []

        def sink(sample: SampleRow, scores: list[ScoreRow]) -> None:
            number = numbers[sample.case_id or "", sample.arm or CANDIDATE, sample.trial or 1]
            numbered = sample._replace(round=number)
            self.keep(numbered, scores)
            self._count(numbered)
            found.append(Record(numbered, scores))
            self.step()

        for arm in dict.fromkeys(arm for _, arm in trials):
            await self.replays.make([trial for trial, at in trials if at == arm], arm, sink)
        return found

    def _numbered(self, steps: Iterable[Step]) -> list[tuple[Trial, str]]:
        """Return the trials of the steps: the next number of each case and arm, again where one was interrupted."""
        ahead = dict(self._trials)
        found = []
        for step in steps:
            ahead[step] = ahead.get(step, 0) + 1
            attempt = 1 + self._cut.get((step, ahead[step]), 0)
            found.append((Trial(self.cases[step.case_id], ahead[step], attempt), step.arm))
        return found

    def _count(self, sample: SampleRow) -> None:
        step = Step(sample.case_id or "", sample.arm or CANDIDATE)
        trial = sample.trial or 1
        if reason_code(sample) == "interrupted":
            self._cut[step, trial] = max(self._cut.get((step, trial), 0), sample.attempt)
            return
        self._trials[step] = max(self._trials.get(step, 0), trial)
        self._number = max(self._number, sample.round or 0)
