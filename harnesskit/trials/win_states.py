"""The protected wins of an adaptive run: what is known of each, which is replayed next, and what was decided.

Knows no agent and no file: attempts go in, steps and verdicts come out, the same whether a run is being made or read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from scipy import special

from harnesskit.stats.beta_evidence import log_failure_e
from harnesskit.stats.classic_evidence import classic_look
from harnesskit.stats.run_path import FIRST_LOOK, run_path, step_bounds, steps_of
from harnesskit.stats.win_evidence import Look, Rules, Runs, centres, judge, look
from harnesskit.trials.frozen import Frozen, Members
from harnesskit.trials.win import CANDIDATE, CONTROL, Found, Given, Step, Win

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from harnesskit.model.policy import RegressionPolicy
    from harnesskit.stats.directions import Directions
    from harnesskit.stats.win_evidence import Verdicts

    Floats = NDArray[np.float64]

MOST_FAILED = 3
"""Attempts of a win without usable scores after which it is left alone."""
_CLOSED_E = 0.25


class WinStates:
    """The wins of a run and the rules of its policy.

    Parameters
    ----------
    frozen
        What the run fixed before its first replay.
    """

    def __init__(self, frozen: Frozen) -> None:
        self.frozen = frozen
        policy = frozen.policy
        self.rules = rules_of(policy)
        self.wins = {case_id: Win(frozen, place) for place, case_id in enumerate(frozen.wins)}
        self._place = {case_id: place for place, case_id in enumerate(frozen.wins)}
        level = policy.alpha - policy.alpha_global
        both = bool(frozen.families) and bool(frozen.priors)
        self.level = level / (2 if both else 1)
        self.suspect_level = policy.alpha_suspect / (2 if both else 1)
        cap = max([policy.n_max, *(win.m0 for win in self.wins.values())]) + 2
        shape = (len(self.wins), cap, len(frozen.scales))
        self._values = {CANDIDATE: np.full(shape, np.nan), CONTROL: np.full(shape, np.nan)}
        for case_id, win in self.wins.items():
            for row, run in enumerate(win.bank):
                self._values[CONTROL][self._place[case_id], row] = [np.nan if v is None else v for v in run.values]
        self._bank = self._values[CONTROL].copy()
        self._centres: dict[Members, Floats] = {}
        self._directions: dict[Members, Directions] = {}
        self._bounds: dict[tuple[Members, Members, int], Floats] = {}
        self.spent = 0
        self._waved = False

    def take(self, attempts: Iterable[Given]) -> None:
        """Take the attempts of one round; where a win has several they are looked at one after the other."""
        waiting: dict[str, list[Given]] = {}
        for given in attempts:
            waiting.setdefault(given.case_id, []).append(given)
        while waiting:
            changed = []
            for case_id in list(waiting):
                given = self._first_on_path(case_id, waiting[case_id])
                if not waiting[case_id]:
                    del waiting[case_id]
                self._add(given)
                changed.append(case_id)
            self._look(changed)

    def _first_on_path(self, case_id: str, given: list[Given]) -> Given:
        arm = self.wins[case_id].next_arm(self.frozen.top_up)
        place = next((i for i, one in enumerate(given) if one.arm == arm), 0)
        return given.pop(place)

    def _add(self, given: Given) -> None:
        win, place = self.wins[given.case_id], self._place[given.case_id]
        win.attempts += 1
        self.spent += 1
        if given.values is None:
            win.failed += 1
            return
        for k, counts in win.fails.items():
            value = given.values[k]
            if value is not None:
                side = 2 if given.arm == CANDIDATE else 0
                counts[side] += self.frozen.scales[k].failed(value)
                counts[side + 1] += 1
        if not any(given.values[k] is not None for k in win.members):
            win.failed += bool(win.family) or not any(given.values[k] is not None for k in win.fails)
            if win.family:
                return
        win.members = tuple(k for k in win.members if given.values[k] is not None)
        row = win.n if given.arm == CANDIDATE else win.m
        store = self._values[given.arm]
        if row < store.shape[1]:
            store[place, row] = [np.nan if v is None else v for v in given.values]
        if given.arm == CANDIDATE:
            win.n += 1
        else:
            win.m += 1

    def _look(self, changed: Sequence[str]) -> None:
        groups: dict[tuple[Members, Members], list[str]] = {}
        for case_id in changed:
            win = self.wins[case_id]
            self._look_at_failures(win)
            if win.n and win.members:
                groups.setdefault((win.family, win.members), []).append(case_id)
            else:
                win.rank = np.exp(win.log_e)
        for (family, members), cases in groups.items():
            self._look_at_scores(family, members, cases)
        for case_id in changed:
            self._settle(self.wins[case_id])

    def _look_at_failures(self, win: Win) -> None:
        """Update the mean of the e-values of the yes-or-no metrics, an e-value itself."""
        values = [
            float(log_failure_e(fails, runs, bank_fails=before, bank_runs=of, prior=self.frozen.priors[k]))
            for k, (before, of, fails, runs) in win.fails.items()
            if runs
        ]
        win.log_e = float(np.logaddexp.reduce(values) - np.log(len(values))) if values else 0.0

    def _look_at_scores(self, family: Members, members: Members, cases: list[str]) -> None:
        directions = self.directions(members)
        places, wins = [self._place[case_id] for case_id in cases], [self.wins[case_id] for case_id in cases]
        most = max(max(win.n, win.m) for win in wins)
        control, candidate = (self._values[arm][places][:, :most][:, :, list(members)] for arm in (CONTROL, CANDIDATE))
        runs = Runs(control, candidate, self._centre(members)[places])
        seen = (classic_look if self.frozen.policy.test == "classic" else look)(runs, directions, self.rules)
        bounds = np.full((2, len(cases), len(directions.subsets)), np.inf)
        for i, win in enumerate(wins):
            step = self.step(win)
            if step is not None:
                bounds[:, i] = self.bounds(family, members, win.m0)[:, step]
        said = judge(seen, directions.subsets, bounds[0], bounds[1], self.rules)
        for i, win in enumerate(wins):
            win.look, win.rank = (seen, i), max(float(seen.rank[i]), float(np.exp(min(win.log_e, 700.0))))
            self._note(win, i, said, bounds[:, i], seen, members)

    def _note(self, win: Win, i: int, said: Verdicts, bounds: Floats, seen: Look, members: Members) -> None:
        """Keep what stands out at this look."""
        subsets = self.directions(members).subsets

        def best(flags: NDArray[np.bool_], bound: Floats, z: Floats) -> Found:
            place = int(np.argmax(np.where(flags, z - np.where(flags, bound, 0.0), -np.inf)))
            chosen = tuple(int(k) for k in np.array(members)[subsets[place]])
            return Found(chosen, float(seen.z[i, place]), float(bound[place]), win.n, win.m)

        if win.status == "open" and said.worse[i].any():
            win.status, win.found = "regressed", best(said.worse[i], bounds[0], seen.z[i])
        elif win.status == "open" and said.better[i].any():
            win.status, win.found = "improved", best(said.better[i], bounds[0], -seen.z[i])
        if said.suspect[i].any():
            win.suspect = best(said.suspect[i], bounds[1], seen.z[i])
        win.traded = best(said.traded[i], bounds[1], seen.z[i]) if said.traded[i].any() else None

    def step(self, win: Win) -> int | None:
        """Return where on its path a win stands; None beside it."""
        if not win.m0:
            return None
        return steps_of(win.m0, n_max=self.frozen.policy.n_max, top_up=self.frozen.top_up).get((win.n, win.m))

    def _settle(self, win: Win) -> None:
        """Decide by the yes-or-no metrics, close what is calm, and leave what can be run no further."""
        if win.status != "open":
            return
        self._judge_failures(win)
        if win.status != "open":
            return
        tried = all(runs for *_, runs in win.fails.values()) and (win.look is not None or not win.family)
        if tried and self._calm(win) and (not win.fails or win.log_e < np.log(_CLOSED_E)):
            win.status = "closed"
        elif win.failed >= MOST_FAILED or self._at_end(win):
            win.status = "left"

    def _judge_failures(self, win: Win) -> None:
        if not win.fails:
            return
        k = max(win.fails, key=lambda one: (win.fails[one][2], -one))
        needed, alone = len(self.wins) / self.level, 1 / self.suspect_level
        if win.log_e >= np.log(needed):
            win.status, win.found = "regressed", Found((k,), z_of_e(win.log_e), z_of_e(np.log(needed)), win.n, win.m)
        elif win.log_e >= np.log(alone) and win.suspect is None:
            win.suspect = Found((k,), z_of_e(win.log_e), z_of_e(np.log(alone)), win.n, win.m)

    def _calm(self, win: Win) -> bool:
        if not win.family or win.look is None:
            return not win.family
        seen, i = win.look
        small = self.frozen.policy.test == "classic" or bool(seen.rank[i] < self.frozen.policy.close_bf)
        return bool(seen.calm[i].all()) and small

    def _at_end(self, win: Win) -> bool:
        most = self.frozen.policy.n_max
        if not win.family:
            return win.n >= most
        path = run_path(win.m0, n_max=most, top_up=self.frozen.top_up)
        return win.n >= int(path.n[-1]) and win.m >= int(path.m[-1])

    def next_round(self) -> list[Step]:
        """Return the steps of the next round: one run of every win first, then of the open wins of highest rank."""
        left = self.frozen.budget - self.spent
        if not self._waved:
            self._waved = True
            return [Step(case_id, CANDIDATE) for case_id in self.wins][: max(left, 0)]
        policy = self.frozen.policy
        open_wins = [(-win.rank, place, case_id) for place, (case_id, win) in enumerate(self.wins.items())
                     if win.status == "open"]  # fmt: skip
        chosen = [case_id for _, _, case_id in sorted(open_wins)[: policy.width]]
        steps = [step for case_id in chosen for step in self._ahead(self.wins[case_id], case_id)]
        return steps[: max(left, 0)]

    def _ahead(self, win: Win, case_id: str) -> list[Step]:
        n, m, steps = win.n, win.m, []
        for _ in range(self.frozen.policy.depth):
            steps.append(Step(case_id, win.next_arm(self.frozen.top_up, n, m)))
            n, m = (n + 1, m) if steps[-1].arm == CANDIDATE else (n, m + 1)
        return steps

    def mark_wave(self) -> None:
        """Say that the first wave has been made (a run that is read or resumed)."""
        self._waved = True

    def directions(self, members: Members) -> Directions:
        """Return the directions of a set of metrics."""
        if members not in self._directions:
            self._directions[members] = self.frozen.directions(members)
        return self._directions[members]

    def _centre(self, members: Members) -> Floats:
        if members not in self._centres:
            self._centres[members] = centres(self._bank[:, :, list(members)], self.directions(members))
        return self._centres[members]

    def bounds(self, family: Members, members: Members, m: int) -> Floats:
        """Return the bounds of z, (2, steps, directions): among all wins, and for a win alone."""
        key = (family, members, m)
        if key not in self._bounds:
            policy, share = self.frozen.policy, self.shares(family, members)
            self._bounds[key] = np.array([
                np.column_stack([
                    step_bounds(
                        m, level * one, n_max=policy.n_max, top_up=self.frozen.top_up, gamma=policy.gamma, first=first
                    )
                    for one in share
                ])
                for level, first in ((self.level / max(len(self.wins), 1), FIRST_LOOK), (self.suspect_level, 1))
            ])  # fmt: skip
        return self._bounds[key]

    def shares(self, family: Members, members: Members) -> Floats:
        """Return the error share of each direction of `members`; what a lost metric had stays unspent."""
        whole = self.directions(family)
        if family == members:
            return whole.share
        by_set = {tuple(np.array(family)[row]): s for row, s in zip(whole.subsets, whole.share, strict=True)}
        return np.array([by_set.get(tuple(np.array(members)[row]), 0.0) for row in self.directions(members).subsets])


def rules_of(policy: RegressionPolicy) -> Rules:
    """Return what a verdict on a win asks for under a policy; the classic test has no raw z and no veto."""
    quantile = float(special.ndtri(policy.unchanged_level))
    if policy.test == "classic":
        return Rules(policy.min_drop, policy.tolerance, -np.inf, np.inf, np.inf, quantile)
    return Rules(policy.min_drop, policy.tolerance, policy.raw_z, policy.veto, policy.close_bf, quantile)


def z_of_e(log_e: float) -> float:
    """Return an e-value on the scale of z: the normal deviate of 1/E, which bounds a p-value; 0 for none.

    Examples
    --------
    >>> round(z_of_e(float(np.log(1500))), 2)
    3.21
    """
    return max(0.0, -float(special.ndtri(np.exp(-max(log_e, 0.0)) if log_e > 0 else 1.0 - 1e-16)))
