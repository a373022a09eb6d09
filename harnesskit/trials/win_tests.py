"""What the wins of an adaptive run are held against: rules, error levels, directions, bounds by step."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import special

from harnesskit.stats.run_path import FIRST_LOOK, RunPath, run_path, step_bounds, steps_of
from harnesskit.stats.win_evidence import Rules
from harnesskit.trials.frozen import Frozen, Members
from harnesskit.trials.win import Win

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from harnesskit.model.policy import RegressionPolicy
    from harnesskit.stats.directions import Directions

    Floats = NDArray[np.float64]

_HALF = 0.025


class WinTests:
    """Rules, levels and bounds of a run; they depend on the frozen part only.

    Parameters
    ----------
    frozen
        What the run fixed before its first replay.
    """

    def __init__(self, frozen: Frozen) -> None:
        policy = frozen.policy
        both = bool(frozen.families) and bool(frozen.priors)  # scores and yes-or-no metrics share the error evenly
        self.frozen = frozen
        self.rules = rules_of(policy)
        self.level = (policy.alpha - policy.alpha_global) / (2 if both else 1)
        self.suspect_level = policy.alpha_suspect / (2 if both else 1)
        self._directions: dict[Members, Directions] = {}
        self._bounds: dict[tuple[Members, Members, int], Floats] = {}

    def path(self, win: Win) -> RunPath:
        """Return the path of a win."""
        return run_path(win.m0, n_max=self.frozen.policy.n_max, top_up=self.frozen.top_up)

    def step(self, win: Win) -> int | None:
        """Return where on its path a win stands; None beside it."""
        if not win.m0:
            return None
        return steps_of(win.m0, n_max=self.frozen.policy.n_max, top_up=self.frozen.top_up).get((win.n, win.m))

    def bounds_of(self, win: Win) -> Floats | None:
        """Return the bounds of z where a win stands, (2, directions); None beside its path."""
        step = self.step(win)
        return None if step is None else self.bounds(win.family, win.members, win.m0)[:, step]

    def interval_bound(self, win: Win) -> float:
        """Return the standard errors of a 95 % repeated interval where a win stands (2.5 % a side, from run 1 on)."""
        policy, info = self.frozen.policy, 1 / (1 / win.n + 1 / win.m)
        at = max(int(np.searchsorted(self.path(win).info, info + 1e-9)) - 1, 0)
        made = step_bounds(
            win.m0, _HALF, n_max=policy.n_max, top_up=self.frozen.top_up, gamma=policy.gamma, first=1
        )  # fmt: skip
        return float(made[at])

    def directions(self, members: Members) -> Directions:
        """Return the directions of a set of metrics."""
        if members not in self._directions:
            self._directions[members] = self.frozen.directions(members)
        return self._directions[members]

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
                for level, first in ((self.level / max(len(self.frozen.wins), 1), FIRST_LOOK), (self.suspect_level, 1))
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
