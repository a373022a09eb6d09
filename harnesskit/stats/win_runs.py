"""Running sums of the runs of each protected win in each arm, metric by metric."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from harnesskit.stats.harm_prior import HarmPrior

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]

CONTROL, CANDIDATE = 0, 1


class Sums(NamedTuple):
    """Wins scored in both arms on the same K metrics; the same win may come several times, each without one run."""

    wins: Ints
    used: Bools
    """Which metrics."""
    control: Floats
    """(wins, K): mean of the control runs."""
    control_weight: Floats
    """(wins, K, K): what the covariance of a run is multiplied by to give that of the means.

    Runs with both metrics over the product of the runs with each: 1 / n where nothing is missing.
    """
    control_count: Floats
    """(wins, K): control runs."""
    rule: Floats
    """(wins, K): mean of the candidate runs."""
    rule_weight: Floats


class WinRuns:
    """Sums and joint counts of the runs so far; begins with the control runs that were there before.

    Parameters
    ----------
    known
        Control runs of the wins; runs are clipped where it says about what.
    """

    def __init__(self, known: HarmPrior) -> None:
        wins, _, k = known.control.shape
        self.known = known
        self.replays = 0
        self.n_candidate: Ints = np.zeros(wins, dtype=int)
        self.n_fresh: Ints = np.zeros(wins, dtype=int)
        self.n_control: Ints = np.isfinite(known.control).any(axis=2).sum(axis=1)
        self.fresh_total, self.fresh_count = np.zeros((wins, k)), np.zeros((wins, k))
        self._total, self._joint = np.zeros((2, wins, k)), np.zeros((2, wins, k, k))
        seen = np.isfinite(known.control).astype(float)
        self._total[CONTROL] = np.where(seen > 0, known.control, 0.0).sum(axis=1)
        self._joint[CONTROL] = np.einsum("wrk,wrl->wkl", seen, seen)
        self._bounded = np.isfinite(known.centre)
        self.candidate_rows: dict[int, list[Floats]] = {}
        self.fresh_rows: dict[int, list[Floats]] = {}

    def add(self, win: int, candidate: bool, row: Floats) -> None:
        """Take a replay; scores that are not finite are missing, and one without any is only counted."""
        self.replays += 1
        seen = np.isfinite(row)
        if not seen.any():
            return
        known = self.known
        centre = known.centre[win]
        near = np.where(self._bounded[win], np.clip(row, centre - known.reach, centre + known.reach), row)
        values = np.where(seen, near, 0.0)
        arm = CANDIDATE if candidate else CONTROL
        self._total[arm, win] += values
        self._joint[arm, win] += np.outer(seen, seen)
        if candidate:
            self.n_candidate[win] += 1
            self.candidate_rows.setdefault(win, []).append(np.where(seen, near, np.nan))
            return
        self.fresh_rows.setdefault(win, []).append(np.where(seen, near, np.nan))
        self.n_control[win] += 1
        self.n_fresh[win] += 1
        self.fresh_total[win] += values
        self.fresh_count[win] += seen

    def candidate_sums(self) -> tuple[Floats, Floats]:
        """Return the sums of the candidate runs and their counts, (wins, metrics) each."""
        return self._total[CANDIDATE], np.asarray(np.einsum("wkk->wk", self._joint[CANDIDATE]), dtype=float)

    def groups(self) -> list[Sums]:
        """Return the wins that are scored in both arms, those on the same metrics together."""
        both = np.einsum("awkk->awk", self._joint).min(axis=0) > 0
        some = both.any(axis=1)
        if not some.any():
            return []
        kinds = both[:1] | True if both[some].all() else np.unique(both[some], axis=0)
        chosen = [(np.flatnonzero(some & (both == used).all(axis=1)), used) for used in kinds]
        return [self._sums(at, used, self._total[CANDIDATE, at], self._joint[CANDIDATE, at]) for at, used in chosen]

    def without_one(self, win: int, used: Bools) -> Sums | None:
        """Return a win's sums without each of its candidate runs in turn; None where a metric would have none left."""
        rows = np.array(self.candidate_rows[win])
        seen = np.isfinite(rows).astype(float)
        total = self._total[CANDIDATE, win] - np.where(seen > 0, rows, 0.0)
        joint = self._joint[CANDIDATE, win] - seen[:, :, None] * seen[:, None, :]
        if np.einsum("wkk->wk", joint)[:, used].min() < 1:
            return None
        return self._sums(np.full(len(rows), win), used, total, joint)

    def _sums(self, at: Ints, used: Bools, total: Floats, joint: Floats) -> Sums:
        control, weight, count = _mean(self._total[CONTROL, at], self._joint[CONTROL, at], used)
        rule, rule_weight, _ = _mean(total, joint, used)
        return Sums(at, used, control, weight, count, rule, rule_weight)


def _mean(total: Floats, joint: Floats, used: Bools) -> tuple[Floats, Floats, Floats]:
    here = joint if used.all() else joint[:, used][:, :, used]
    count = np.einsum("wkk->wk", here)
    return total[:, used] / count, here / (count[:, :, None] * count[:, None, :]), count
