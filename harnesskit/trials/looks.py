"""The path of an adaptive run: the evidence on each win after each replay, against its boundary at that look."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from harnesskit.model.analyses import LOOKS
from harnesskit.replays.setup import Record
from harnesskit.trials.adaptive_regression import taken
from harnesskit.trials.frozen import Frozen
from harnesskit.trials.win import Win
from harnesskit.trials.win_states import WinStates
from harnesskit.trials.win_tests import z_of_e

_WORDS = {"regressed": "regressed", "improved": "improved", "closed": "unchanged"}


class _Watched(WinStates):
    """Wins that keep a row of every look at them."""

    def __init__(self, frozen: Frozen) -> None:
        super().__init__(frozen)
        self.rows: list[dict[str, Any]] = []
        self._looks: dict[str, int] = {}

    def _look(self, changed: Sequence[str]) -> None:
        super()._look(changed)
        for case_id in changed:
            self._looks[case_id] = self._looks.get(case_id, 0) + 1
            win = self.wins[case_id]
            facts = {"case_id": case_id, "look": self._looks[case_id], "n_candidate": win.n, "n_baseline": win.m}
            self.rows.append(facts | self._strongest(win) | {"status": _WORDS.get(win.status, "inconclusive")})

    def _strongest(self, win: Win) -> dict[str, Any]:
        """Return z and bound of what stands out most at this look: a set of metrics, or the yes-or-no metrics."""
        found = [*self._of_scores(win), *self._of_outcomes(win)]
        none = {"z": np.nan, "bound": np.nan, "metrics": None}
        return max(found, key=lambda one: one["z"] - (one["bound"] if np.isfinite(one["bound"]) else 0.0), default=none)

    def _of_scores(self, win: Win) -> list[dict[str, Any]]:
        if win.look is None:
            return []
        seen, i = win.look
        here = self.tests.bounds_of(win)
        bounds = np.full(len(seen.z[i]), np.inf) if here is None else here[0]
        place = int(np.argmax(seen.z[i] - np.where(np.isfinite(bounds), bounds, 0.0)))
        chosen = np.array(win.members)[self.tests.directions(win.members).subsets[place]]
        bound = float(bounds[place]) if np.isfinite(bounds[place]) else np.nan
        return [{"z": float(seen.z[i, place]), "bound": bound, "metrics": self._names(chosen)}]

    def _of_outcomes(self, win: Win) -> list[dict[str, Any]]:
        if not any(runs for *_, runs in win.fails.values()):
            return []
        bound = z_of_e(float(np.log(len(self.wins) / self.tests.level)))
        return [{"z": z_of_e(win.log_e), "bound": bound, "metrics": self._names(win.fails)}]

    def _names(self, places: Iterable[int]) -> str:
        return ", ".join(self.frozen.scales[k].metric for k in places)


def looks_of(frozen: Frozen, records: Iterable[Record]) -> pd.DataFrame:
    """Return the looks of an adaptive run: one row per win and look.

    Wins that were called regressed come first, then those whose evidence came nearest to its boundary.

    Parameters
    ----------
    frozen, records
        The run: what it froze, and its attempts.

    Returns
    -------
    DataFrame
        By the contract ``looks``. ``z`` and ``bound`` are in standard errors, those of the set of metrics that stood
        out most at that look; an e-value of yes-or-no metrics is put on the same scale. ``bound`` is missing before
        the second candidate run, when no verdict may be reached.
    """
    states = _Watched(frozen)
    taken(frozen, records, states)
    frame = pd.DataFrame(states.rows, columns=list(LOOKS.columns))
    frame = frame.astype({"look": "Int64", "n_candidate": "Int64", "n_baseline": "Int64", "z": float, "bound": float})
    frame["worse"] = (frame["status"] != "regressed").groupby(frame["case_id"]).transform("min")
    frame["near"] = (frame["bound"] - frame["z"]).groupby(frame["case_id"]).transform("min")
    ordered = frame.sort_values(["worse", "near", "case_id", "look"], kind="stable", ignore_index=True)
    return ordered[list(LOOKS.columns)]
