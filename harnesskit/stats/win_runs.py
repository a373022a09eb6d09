"""Running sums of the runs of each protected win in each arm, metric by metric."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from harnesskit.stats.harm_prior import HarmPrior

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]

CONTROL, CANDIDATE = 0, 1


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
            return
        self.n_control[win] += 1
        self.n_fresh[win] += 1
        self.fresh_total[win] += values
        self.fresh_count[win] += seen

    def groups(self) -> Iterator[tuple[Ints, Bools]]:
        """Yield the wins that are scored in both arms on the same metrics, and which these are."""
        both = np.einsum("awkk->awk", self._joint).min(axis=0) > 0
        some = both.any(axis=1)
        for used in np.unique(both[some], axis=0):
            yield np.flatnonzero(some & (both == used).all(axis=1)), used

    def count(self, arm: int, wins: Ints, used: Bools) -> Floats:
        """Return the runs of each win and metric, (wins, metrics)."""
        return np.asarray(np.einsum("wkk->wk", self._joint[arm][wins])[:, used], dtype=float)

    def mean(self, arm: int, wins: Ints, used: Bools) -> Floats:
        """Return their means, (wins, metrics)."""
        return np.asarray(self._total[arm][wins][:, used] / self.count(arm, wins, used), dtype=float)

    def weight(self, arm: int, wins: Ints, used: Bools) -> Floats:
        """Return what the covariance of a run is multiplied by to give that of the means, (wins, metrics, metrics).

        Runs with both metrics over the product of the runs with each: 1 / n where nothing is missing.
        """
        joint = self._joint[arm][wins][:, used][:, :, used]
        count = np.einsum("wkk->wk", joint)
        return np.asarray(joint / (count[:, :, None] * count[:, None, :]), dtype=float)
