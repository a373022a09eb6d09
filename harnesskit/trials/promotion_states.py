"""A trial of a rule as it stands: what is replayed next, and when the replays end.

Knows no agent and no file: attempts go in, steps come out, the same whether a trial is being made or read. The verdict
itself is reached from the rows of both arms (`harnesskit.trials.promotion_verdict`), by the same numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from harnesskit.measures.promotion_looks import benefit_rules
from harnesskit.replays.setup import Record
from harnesskit.stats.benefit_path import benefit_path
from harnesskit.stats.open_path import OpenRules, certified_path, open_path
from harnesskit.stats.replay_schedule import Cell, benefit_budget, next_cells, next_in_round, next_of_pair
from harnesskit.trials.promotion_frozen import FrozenPromotion
from harnesskit.trials.promotion_guard import Guard
from harnesskit.trials.promotion_sentinels import stale_bank
from harnesskit.trials.promotion_values import Values
from harnesskit.trials.win import CANDIDATE, CONTROL, Step

DECIDED, BUDGET = "decided", "budget spent"
NOT_READ = "the rule was not read"
NOT_SCORED = "replays gave no scores"
STALE = "the control bank is stale"


class PromotionStates:
    """One trial and the rules of its policy.

    Parameters
    ----------
    frozen
        What the trial fixed before its first replay.

    Attributes
    ----------
    values
        What was replayed.
    stopped
        Why nothing is asked for any more; empty while something is.
    """

    def __init__(self, frozen: FrozenPromotion) -> None:
        self.frozen = frozen
        self.values = Values(frozen)
        self.stopped = ""
        self._guard: Guard | None = None
        self._helps = False
        self._sentinels: list[Record] = []
        self._waiting = [Step(case, CONTROL) for case in frozen.sentinels]

    def take(self, records: Iterable[Record]) -> None:
        """Take attempts that came to an end, in the order of the replays."""
        for record in records:
            step = Step(record.sample.case_id or "", record.sample.arm or CANDIDATE)
            if step in self._waiting:
                self._waiting.remove(step)
                self._sentinels.append(record)
                if not self._waiting and stale_bank(self.frozen, self._sentinels):
                    self.stopped = STALE
            self.values.take([record])

    @property
    def benefit_budget(self) -> int:
        """Replays of failures at most."""
        return benefit_budget(self.frozen.policy.budget, guard_share=self.frozen.policy.guard_share)

    def next_steps(self, most: int = 1) -> list[Step]:
        """Return the replays to make next, at most so many; none when the trial is over, and `stopped` says why."""
        most = min(most, self.frozen.policy.budget - self.values.spent)
        if not self.stopped and most < 1:
            self.stopped = BUDGET
        if self.stopped:
            return []
        if self._waiting:
            return self._waiting[:most]
        steps = self._guard_steps(most) if self._benefit_shown() else self._benefit_steps(most)
        return [] if self.stopped else steps

    def _benefit_shown(self) -> bool:
        """Look at the benefit; note when it is decided against the rule, or cannot be decided."""
        if self._helps:
            return True
        values = self.values
        if not values.failures:
            self.stopped = NOT_SCORED
        elif values.unread and values.known >= self.frozen.policy.compliance_after:
            self.stopped = NOT_READ
        elif not values.unread:  # what was not read proves nothing yet: some more replays may
            verdict = benefit_verdict(self.frozen, values)
            self._helps = verdict == "efficacy"
            if verdict is not None and not self._helps:
                self.stopped = DECIDED
        return self._helps

    def _benefit_steps(self, most: int) -> list[Step]:
        values, failures = self.values, self.values.failures
        if self.stopped:
            return []
        left = self.benefit_budget - len(values.benefit().case)
        if left < 1:
            self.stopped = BUDGET
            return []
        m = [values.scored(case, CONTROL) for case in failures]
        n = [values.scored(case, CANDIDATE) for case in failures]
        steps = []
        for number in range(values.spent, values.spent + min(most, left)):
            cell = self._next_cell(m, n, number)
            (n if cell.candidate else m)[cell.case] += 1
            steps.append(Step(failures[cell.case], CANDIDATE if cell.candidate else CONTROL))
        return steps

    def _next_cell(self, m: Sequence[int], n: Sequence[int], number: int) -> Cell:
        """Return the cell that tells most; between equals the seed decides, anew at each replay."""
        policy = self.frozen.policy
        draw = np.random.default_rng([self.frozen.seed, number])
        if policy.mode == "open_ended" and policy.certified:
            cell = next_of_pair(m, n)
            begun = m[cell.case] != n[cell.case]
            return cell if begun else Cell(cell.case, bool(draw.integers(2)))
        if policy.design == "classic":
            return next_in_round(m, n)
        cells = next_cells(m, n)
        return cells[int(draw.integers(len(cells)))]

    def _guard_steps(self, most: int) -> list[Step]:
        if not self.frozen.wins:
            self.stopped = DECIDED
            return []
        if self._guard is None:
            self._guard = Guard(self.frozen, self.values)
        steps = self._guard.next_steps(self.values, most)
        if not steps:
            self.stopped = DECIDED
        return steps


def benefit_verdict(frozen: FrozenPromotion, values: Values) -> str | None:
    """Return what the replays of the failures decide: ``efficacy``, or against the rule; None while it is open."""
    policy, replayed = frozen.policy, values.benefit()
    banked = [values.bank_of(case) for case in values.failures]
    if policy.mode == "open_ended":
        walk = certified_path if policy.certified else open_path
        rules = OpenRules(frozen.prior_sd, policy.alpha, policy.beta, policy.min_effect, policy.worthwhile)
        return walk(*replayed, banked=banked, rules=rules).verdict
    return benefit_path(*replayed, banked=banked, rules=benefit_rules(policy, frozen.prior_sd)).verdict
