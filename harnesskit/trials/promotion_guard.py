"""The guard of a trial: which win is replayed next, once the rule was seen to help."""

from __future__ import annotations

import numpy as np

from harnesskit.stats.harm_mixture import GuardLook, GuardRules, guard_look
from harnesskit.stats.harm_prior import benefit_noise, harm_prior
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
        policy = frozen.policy
        self.frozen = frozen
        bank, captures = values.guard_bank()
        banked = bool(np.isfinite(bank).any())
        noise = benefit_noise(list(values.guard_cells()))
        self.known = harm_prior(
            bank if banked else None,
            captures if np.isfinite(captures).any() else None,
            sd=noise,
            wins=len(frozen.wins),
            **({} if banked else {"shift": 0.0}),
        )
        self.rules = GuardRules(
            policy.ni_margin, policy.ni_level, policy.harm_bar, policy.clean_bar, policy.end_bar if banked else 1.0
        )

    def next_steps(self, values: Values, most: int) -> list[Step]:
        """Return the replays to make next, at most so many; none when the guard has decided or can see no more."""
        look = guard_look(self.known, *values.guard(), rules=self.rules)
        if guard_verdict(look, self.known, ended=False, rules=self.rules) != "open":
            return []
        wins = self.frozen.wins
        order = [
            place
            for place, case in enumerate(wins)
            if not (values.given_up(case, CANDIDATE) or values.given_up(case, CONTROL))
        ]
        step = next_guard_step(look, self.known, order, rules=self.rules)
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
