"""The protected wins of an adaptive run: what is known of each, which is replayed next, and what was decided.

Knows no agent and no file: attempts go in, steps and verdicts come out, the same whether a run is being made or read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from harnesskit.stats.beta_evidence import log_failure_e
from harnesskit.stats.classic_evidence import classic_look
from harnesskit.stats.run_path import run_path
from harnesskit.stats.win_evidence import Look, Runs, centres, judge, look
from harnesskit.trials.frozen import Frozen, Members
from harnesskit.trials.win import CANDIDATE, CONTROL, Found, Given, Step, Win
from harnesskit.trials.win_tests import WinTests, z_of_e

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from harnesskit.stats.win_evidence import Verdicts

    Floats = NDArray[np.float64]

MOST_FAILED = 3
"""Attempts of a win without usable scores after which it is left alone."""
CLOSED_LOG_E = float(np.log(0.25))
"""Log of the e-value below which the yes-or-no metrics of a win are at rest."""


class WinStates:
    """The wins of a run and the rules of its policy.

    Parameters
    ----------
    frozen
        What the run fixed before its first replay.
    """

    def __init__(self, frozen: Frozen) -> None:
        self.frozen = frozen
        self.tests = WinTests(frozen)
        self.wins = {case_id: Win(frozen, place) for place, case_id in enumerate(frozen.wins)}
        self._place = {case_id: place for place, case_id in enumerate(frozen.wins)}
        cap = max([frozen.policy.n_max, *(win.m0 for win in self.wins.values())]) + 2
        shape = (len(self.wins), cap, len(frozen.scales))
        self._values = {CANDIDATE: np.full(shape, np.nan), CONTROL: np.full(shape, np.nan)}
        for case_id, win in self.wins.items():
            for row, run in enumerate(win.bank):
                self._values[CONTROL][self._place[case_id], row] = [np.nan if v is None else v for v in run.values]
        self._bank = self._values[CONTROL].copy()
        self._centres: dict[Members, Floats] = {}
        self.spent = 0

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
        for (_, members), cases in groups.items():
            self._look_at_scores(members, cases)
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

    def _look_at_scores(self, members: Members, cases: list[str]) -> None:
        directions = self.tests.directions(members)
        places, wins = [self._place[case_id] for case_id in cases], [self.wins[case_id] for case_id in cases]
        most = max(max(win.n, win.m) for win in wins)
        control, candidate = (self._values[arm][places][:, :most][:, :, list(members)] for arm in (CONTROL, CANDIDATE))
        runs = Runs(control, candidate, self._centre(members)[places])
        seen = (classic_look if self.frozen.policy.test == "classic" else look)(runs, directions, self.tests.rules)
        bounds = np.full((2, len(cases), len(directions.subsets)), np.inf)
        for i, win in enumerate(wins):
            here = self.tests.bounds_of(win)
            if here is not None:
                bounds[:, i] = here
        said = judge(seen, directions.subsets, bounds[0], bounds[1], self.tests.rules)
        for i, win in enumerate(wins):
            win.look, win.rank = (seen, i), float(seen.rank[i])
            if win.fails:
                win.rank = max(win.rank, float(np.exp(min(win.log_e, 700.0))))
            self._note(win, i, said, bounds[:, i], seen, members)

    def _note(self, win: Win, i: int, said: Verdicts, bounds: Floats, seen: Look, members: Members) -> None:
        """Keep what stands out at this look."""
        subsets = self.tests.directions(members).subsets

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

    def _settle(self, win: Win) -> None:
        """Decide by the yes-or-no metrics, close what is calm, and leave what can be run no further."""
        if win.status != "open":
            return
        self._judge_failures(win)
        if win.status != "open":
            return
        tried = all(runs for *_, runs in win.fails.values()) and (win.look is not None or not win.family)
        if tried and self._calm(win) and (not win.fails or win.log_e < CLOSED_LOG_E):
            win.status = "closed"
        elif self._given_up(win) or self._at_end(win):
            win.status = "left"

    def _judge_failures(self, win: Win) -> None:
        if not win.fails:
            return
        k = max(win.fails, key=lambda one: (win.fails[one][2], -one))
        needed, alone = len(self.wins) / self.tests.level, 1 / self.tests.suspect_level
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

    def _given_up(self, win: Win) -> bool:
        """Whether a win gave no scores too often; while its failures speak for a change it is gone on with."""
        return win.failed >= MOST_FAILED and (win.log_e <= 0 or win.attempts >= self.frozen.policy.n_max)

    def _at_end(self, win: Win) -> bool:
        most = self.frozen.policy.n_max
        if not win.family:
            return win.n >= most
        path = run_path(win.m0, n_max=most, top_up=self.frozen.top_up)
        return win.n >= int(path.n[-1]) and win.m >= int(path.m[-1])

    @property
    def unseen(self) -> list[str]:
        """Wins that were not replayed yet: the first wave is not over."""
        return [case_id for case_id, win in self.wins.items() if not win.attempts]

    @property
    def open_wins(self) -> list[str]:
        """Wins whose verdict further replays can still change."""
        return [case_id for case_id, win in self.wins.items() if win.status == "open"]

    def next_round(self) -> list[Step]:
        """Return the steps of the next round: one run of every win first, then of the open wins of highest rank."""
        left = self.frozen.budget - self.spent
        if unseen := self.unseen:
            return [Step(case_id, CANDIDATE) for case_id in unseen][: max(left, 0)]
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

    def _centre(self, members: Members) -> Floats:
        if members not in self._centres:
            self._centres[members] = centres(self._bank[:, :, list(members)], self.tests.directions(members))
        return self._centres[members]

    def metric_noise(self, case_id: str, member: int) -> tuple[float, float]:
        """Return the moderated standard deviation of one run of a win in one of its metrics, and its df."""
        win, place = self.wins[case_id], self._place[case_id]
        directions = self.tests.directions(win.members)
        single = int(np.flatnonzero((directions.subsets.sum(axis=1) == 1) & directions.subsets[:, member])[0])
        k = win.members[member]
        sides = [self._values[CANDIDATE][place, : win.n, k], self._values[CONTROL][place, : win.m, k]]
        squares = sum(float(((side - side.mean()) ** 2).sum()) for side in sides)
        prior, df0 = float(directions.raw_s2[single]), float(directions.raw_df[single])
        df = win.n + win.m - 2 + df0
        return float(np.sqrt((squares + df0 * prior) / df)), df
