"""The benefit of a rule over its failing cases: pooled moderated t of the mean difference, and what is left to run."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import stats

from harnesskit.stats.paired import t_to_z

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

PRIOR_DF = 3.0
"""Most degrees of freedom that the noise of other cases may count for: more lets a wrong prior promote (.13)."""


class Benefit(NamedTuple):
    """Mean difference rule - control over fixed cases, every case with the same weight."""

    delta: float
    s2: float
    """Variance of one run, pooled over the cases and drawn towards the prior."""
    variance: float
    """Of `delta`."""
    t: float
    df: float
    p: float
    """One-sided, small for a benefit."""
    z: float
    """Normal equivalent of `t`, positive for a benefit."""
    information: float
    """s2 / variance: what a sequential bound counts."""

    def shortfall_z(self, worthwhile: float = 0.10) -> float:
        """Return the normal deviate of the test that the effect is at least `worthwhile`: large speaks against it."""
        return float(-t_to_z((worthwhile - self.delta) / self.variance**0.5, self.df))


def benefit(
    control: Sequence[ArrayLike], rule: Sequence[ArrayLike], *, prior_sd: float, prior_df: float = PRIOR_DF
) -> Benefit:
    """Return the pooled moderated test that a rule helps on average over the given cases.

    delta = mean_c (mean rule - mean control); s2 = (sum of squares within cells + df0 s0^2) / (sum of df + df0);
    variance = s2 sum_c (1/n_c + 1/m_c) / F^2; t on the pooled degrees of freedom (Smyth 2004, one pooled stratum).

    Parameters
    ----------
    control, rule
        Runs of each case in each arm, at least one; unscored runs left out beforehand.
    prior_sd
        Standard deviation of one run as known from other cases.
    prior_df
        Degrees of freedom it counts for, above 0.

    Raises
    ------
    ValueError
        If the arms differ in cases, or a case has no run in one of them.

    Examples
    --------
    >>> found = benefit([[0.4, 0.5], [0.3, 0.3]], [[0.6, 0.5], [0.5, 0.4]], prior_sd=0.1)
    >>> round(found.delta, 3), round(found.t, 3), found.df
    (0.125, 2.205, 7.0)
    """
    before = [np.asarray(runs, dtype=float) for runs in control]
    after = [np.asarray(runs, dtype=float) for runs in rule]
    if len(before) != len(after) or not before:
        raise ValueError(f"both arms need the same cases: {len(before)} with control runs, {len(after)} with the rule")
    if min(len(runs) for runs in (*before, *after)) == 0:
        raise ValueError("every case needs at least one scored run in each arm; leave out the others, and list them")
    cells = [*before, *after]
    squares = sum(float(((runs - runs.mean()) ** 2).sum()) for runs in cells)
    df = sum(len(runs) - 1 for runs in cells) + prior_df
    s2 = (squares + prior_df * prior_sd**2) / df
    delta = float(np.mean([a.mean() - b.mean() for a, b in zip(after, before, strict=True)]))
    spread = sum(1 / len(runs) for runs in cells) / len(before) ** 2
    return benefit_from(delta, s2, s2 * spread, df)


def benefit_from(delta: float, s2: float, variance: float, df: float) -> Benefit:
    """Return the test from its parts: for a caller that keeps running sums.

    Examples
    --------
    >>> round(benefit_from(0.1, 0.01, 0.0025, 10).t, 3)
    2.0
    """
    t = delta / variance**0.5
    return Benefit(delta, s2, variance, t, df, float(stats.t.sf(t, df)), float(-t_to_z(t, df)), s2 / variance)


def further_replays(
    s2: float, *, worthwhile: float = 0.10, spent: int = 0, alpha: float = 0.05, power: float = 0.9
) -> float:
    """Return about how many more replays, both arms fresh, settle an effect of `worthwhile`: 4 (z_a+z_b)^2 s2/w^2.

    Normal approximation for one look; independent of the number of cases; at least 0, not rounded up.

    Examples
    --------
    >>> round(further_replays(0.01), 1), round(further_replays(0.01, spent=30), 1)
    (34.3, 4.3)
    """
    reach = float(stats.norm.isf(alpha) + stats.norm.ppf(power))
    return max(0.0, 4 * reach**2 * s2 / worthwhile**2 - spent)
