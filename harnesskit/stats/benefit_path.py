"""Whether a rule helps its failing cases, looked at after every replay up to a budget: the path, and where it decided.

The statistic is `harnesskit.stats.benefit`'s pooled moderated z. Efficacy: z at or above a Hwang-Shih-DeCani bound of
one-sided `alpha`, and a mean improvement of `min_effect`. Futility (binding): the normal deviate of the test that the
effect is `worthwhile` or more, at or above the bound of `beta`. Harmful: the one-sided 95 % upper bound of the effect
is below 0. The bounds count the information of the planned schedule, which knows no score.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from harnesskit.stats.paired import t_to_z
from harnesskit.stats.replay_schedule import schedule
from harnesskit.stats.running_cells import RunningCells, running_cells
from harnesskit.stats.sequential import boundaries

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

Verdict = Literal["efficacy", "futility", "harmful"]
HARMFUL_Z = -1.6448536269514722
"""z at which the one-sided 95 % upper bound of the effect is below 0."""


class BenefitRules(NamedTuple):
    """What is fixed before the first replay, with the banked control runs of each case."""

    budget: int
    """Replays of failing cases at most, see `replay_schedule.benefit_budget`."""
    prior_sd: float
    """Standard deviation of one run as known from other cases."""
    prior_df: float = 3.0
    """Degrees of freedom it counts for."""
    alpha: float = 0.05
    beta: float = 0.10
    gamma: float = -2.0
    min_effect: float = 0.05
    worthwhile: float = 0.10
    rounds: bool = False
    """Whole rounds, looked at when complete: the ``classic`` design."""


class BenefitPath(NamedTuple):
    """The looks, one entry each, until the one that decided (or all so far)."""

    replays: Ints
    """Replays made up to the look, unscored ones included."""
    n_control: Ints
    """Scored control runs, the bank included."""
    n_candidate: Ints
    delta: Floats
    """Mean improvement over the cases."""
    se: Floats
    df: Floats
    """Degrees of freedom, the prior's included."""
    z: Floats
    """Positive for a benefit."""
    bound: Floats
    """z at which the benefit is shown; infinite where the look may not show it yet."""
    z_futility: Floats
    """Large where an effect of `worthwhile` is ruled out."""
    bound_futility: Floats
    verdict: Verdict | None
    """What the last look decided; None while open."""

    @property
    def looks(self) -> int:
        """Times the evidence was looked at."""
        return len(self.replays)


def benefit_path(
    case: ArrayLike,
    candidate: ArrayLike,
    value: ArrayLike,
    *,
    banked: Sequence[ArrayLike],
    rules: BenefitRules,
    looks: ArrayLike | None = None,
) -> BenefitPath:
    """Return the looks at the benefit up to the one that decides, from the replays in the order they were made.

    A look follows every scored replay (every complete round under ``rounds``) once each case has a scored run in each
    arm. Unscored replays use the budget up and bring no information. Replays after the deciding look, and beyond the
    budget, are not looked at.

    Parameters
    ----------
    case, candidate, value
        Per replay: place of the case, whether it was the candidate's arm, score on the common scale (NaN: unscored).
    banked
        Control runs of each case from before the first replay; empty where there are none.
    rules
        Budget, noise and bounds.
    looks
        Per replay: whether the evidence may be looked at after it; at all of them when None. Where only the round of a
        replay is known, the last of each round.

    Examples
    --------
    >>> rules = BenefitRules(budget=7, prior_sd=0.1)
    >>> bank = [[0.4, 0.5, 0.45], [0.3, 0.3, 0.4]]
    >>> path = benefit_path([0, 1, 0], [True] * 3, [0.8, 0.7, 0.75], banked=bank, rules=rules)
    >>> path.verdict, path.replays.tolist(), path.z.round(2).tolist(), path.bound.round(2).tolist()
    ('efficacy', [2], [3.37], [2.25])
    """
    spent = slice(None, rules.budget)
    seen = running_cells(
        np.asarray(case)[spent], np.asarray(candidate)[spent], np.asarray(value, dtype=float)[spent], banked=banked
    )
    planned = schedule([_known(runs) for runs in banked], rules.budget, rounds=rules.rounds).planned
    at = _looks(seen, rules)
    if looks is not None:
        at = at[np.asarray(looks, dtype=bool)[spent][at]]
    return _judged(seen, at, planned, rules)


def benefit_bounds(information: ArrayLike, planned: float, rules: BenefitRules) -> tuple[Floats, Floats]:
    """Return the bounds of z and of the futility deviate at looks of the given information.

    Parameters
    ----------
    information
        Of the looks so far, rising (`replay_schedule.schedule` has that of a whole plan).
    planned
        Information when the budget is spent.

    Examples
    --------
    >>> from harnesskit.stats.replay_schedule import schedule
    >>> plan = schedule([5, 5, 5], 30)
    >>> bound, futility = benefit_bounds(plan.information[plan.look], plan.planned, BenefitRules(30, 0.1))
    >>> bound[[0, -1]].round(2).tolist(), futility[[0, -1]].round(2).tolist()
    ([2.62, 1.91], [2.37, 1.53])
    """
    upper = boundaries(information, rules.alpha, gamma=rules.gamma, planned=planned)
    return upper, boundaries(information, rules.beta, gamma=rules.gamma, planned=planned)


def _known(runs: ArrayLike) -> int:
    return int(np.isfinite(np.asarray(runs, dtype=float)).sum())


def _looks(seen: RunningCells, rules: BenefitRules) -> Ints:
    """Return the replays after which the evidence is looked at: each brings more information than the last."""
    open_ = seen.scored & (seen.information > 0)
    if rules.rounds:
        open_ &= seen.even
    return np.flatnonzero(open_)


def _judged(seen: RunningCells, at: Ints, planned: float, rules: BenefitRules) -> BenefitPath:
    df = seen.df[at].astype(np.float64) + rules.prior_df
    s2 = (seen.squares[at] + rules.prior_df * rules.prior_sd**2) / df
    delta, se = seen.delta[at], np.asarray(np.sqrt(s2 / seen.information[at]), dtype=float)
    z = -t_to_z(delta / se, df)
    futility = -t_to_z((rules.worthwhile - delta) / se, df)
    info = seen.information[at]
    bound, bound_futility = benefit_bounds(info, planned, rules) if len(at) else (np.zeros(0), np.zeros(0))
    shown = (z >= bound) & (delta >= rules.min_effect)
    harmful = z <= HARMFUL_Z
    decided = np.flatnonzero(shown | harmful | (futility >= bound_futility))
    verdict: Verdict | None = None
    if len(decided):
        last = int(decided[0])
        verdict = "efficacy" if shown[last] else "harmful" if harmful[last] else "futility"
        at = at[: last + 1]
    to = slice(None, len(at))
    return BenefitPath(
        at + 1, seen.n_control[at], seen.n_candidate[at], delta[to], se[to], df[to], z[to],
        np.array(bound[to]), futility[to], np.array(bound_futility[to]), verdict,
    )  # fmt: skip
