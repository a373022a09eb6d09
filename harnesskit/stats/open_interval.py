"""The interval that goes with an e-process, and the replays that would about settle a benefit."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from scipy import optimize, stats

from harnesskit.stats.replay_schedule import information, next_cells
from harnesskit.stats.t_eprocess import EFFECTS, t_evidence

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

FARTHEST = 400
"""Further replays beyond which a number is no plan."""


def t_half_width(
    se: float, df: float, info: float, *, sd: float, effects: ArrayLike = EFFECTS, confidence: float = 0.95
) -> float:
    """Return half the interval of an effect by the t process: the shifts it does not rule out on either side.

    The shift delta is outside once E(D - delta) or E(delta - D) reaches 2 / (1 - confidence); so the interval holds at
    whichever look the trial stopped, as far as the process does. Infinite while no shift can be ruled out.

    Parameters
    ----------
    se, df, info
        Of the pooled mean difference at the look, as for `harnesskit.stats.t_eprocess.t_evidence`.
    sd
        Standard deviation of one run that the process bets by.

    Examples
    --------
    >>> half = t_half_width(0.04, 20, 6.25, sd=0.1)
    >>> round(half, 3)
    0.136
    """
    level = math.log(2 / (1 - confidence))

    def over(steps: float) -> float:
        found = t_evidence(steps * se, se, df, info, sd=sd, effects=effects)
        return float(found.log_promote) - level

    reach = 2.0
    while over(reach) < 0:
        reach *= 2
        if reach > 1e4:
            return math.inf
    return se * float(optimize.brentq(over, 0.0, reach, xtol=1e-6))


def replays_to_settle(
    n_control: Sequence[int],
    n_candidate: Sequence[int],
    *,
    s2: float,
    delta: float,
    worthwhile: float,
    alpha: float = 0.05,
    beta: float = 0.10,
) -> int | None:
    """Return about how many more replays tell no effect from one of `worthwhile`, by the order that gains most.

    Fixed-sample information (z_alpha + z_beta)^2 s2 / worthwhile^2; where that is in and nothing was decided, what an
    effect as seen would take to cross the nearer of both bounds. None where more than 400 would be needed.

    Parameters
    ----------
    n_control, n_candidate
        Scored runs of each case.
    s2
        Variance of one run.
    delta
        Effect seen so far.

    Examples
    --------
    >>> replays_to_settle([0, 0, 0], [0, 0, 0], s2=0.01, delta=0.0, worthwhile=0.10)
    35
    >>> replays_to_settle([5, 5, 5], [1, 1, 1], s2=0.01, delta=0.05, worthwhile=0.10)
    17
    """
    m, n = list(n_control), list(n_candidate)
    if not m:
        return None
    z_alpha, z_beta = (float(stats.norm.isf(level)) for level in (alpha, beta))
    needed = (z_alpha + z_beta) ** 2 * s2 / worthwhile**2
    if information(m, n) >= needed:
        ways = [(z_alpha, delta), (z_beta, worthwhile - delta)]
        # both bounds of a sequential test end a little farther out than those of one look
        needed = min((1.2 * s2 * (z / gap) ** 2 for z, gap in ways if gap > 1e-9), default=math.inf)
    made = 0
    while information(m, n) < needed or not made:
        if made >= FARTHEST:
            return None
        cell = next_cells(m, n)[0]
        (n if cell.candidate else m)[cell.case] += 1
        made += 1
    return made
