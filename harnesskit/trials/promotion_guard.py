"""The guard of a trial: which win is replayed next, once the rule was seen to help."""

from __future__ import annotations

import numpy as np

from harnesskit.measures.promotion_stage import guard_stage
from harnesskit.stats.harm_mixture import GuardLook, guard_look
from harnesskit.stats.harm_steps import guard_verdict, next_guard_step
from harnesskit.trials.promotion_frozen import FrozenPromotion
from harnesskit.trials.promotion_values import Values
from harnesskit.trials.win import CANDIDATE, CONTROL, Step


class Guard:
    """The wins of a trial.

    Parameters
    ----------
    frozen
        What the trial fixed before its first replay.
    values
        What was replayed when the guard starts.
    """

    def __init__(self, frozen: FrozenPromotion, values: Values) -> None:
        bank, captures = values.guard_bank()
        cells = values.guard_cells()
        self.frozen = frozen
        self.stage = guard_stage(
            bank if np.isfinite(bank).any() else None,
            captures if np.isfinite(captures).any() else None,
            cells=cells,
            policy=frozen.policy,
            spent=len(values.benefit().case),
            wins=len(frozen.wins),
            metrics=bank.shape[2],
        )

    def next_steps(self, values: Values, most: int) -> list[Step]:
        """Return the replays to make next, at most so many; none when the guard has decided or can see no more."""
        known, rules, _ = self.stage
        look = guard_look(known, *values.guard(), rules=rules)
        if guard_verdict(look, known, ended=False, rules=rules) != "open":
            return []
        wins = self.frozen.wins
        order = [
            place
            for place, case in enumerate(wins)
            if not (values.given_up(case, CANDIDATE) or values.given_up(case, CONTROL))
        ]
        step = next_guard_step(look, known, order, rules=rules)
        if step is None:
            return []
        first = Step(wins[step.win], CANDIDATE if step.candidate else CONTROL)
        return [first, *self._ahead(look, order, step.win, most - 1)] if step.candidate else [first]

    def _ahead(self, look: GuardLook, order: list[int], win: int, most: int) -> list[Step]:
        """Return further unreplayed wins to replay at the same time, when the next one is such a win."""
        if look.n_candidate[win] or most < 1:
            return []
        waiting = [place for place in order if not look.n_candidate[place] and place != win]
        return [Step(self.frozen.wins[place], CANDIDATE) for place in waiting[:most]]
