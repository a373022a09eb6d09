"""Is a repaired case a win? The chance that it passes often enough, and what is still to be shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import stats

from harnesskit.stats.beta_evidence import BetaPrior, beta_moments
from harnesskit.stats.intervals import chance_above

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

PRIOR = BetaPrior(4.0, 1.0)
"""Of the pass rate of a case that was once seen to pass."""
MOST_WEIGHT = 5.0
BAR = 0.80
CHANCE = 0.90


class PredictivePass(NamedTuple):
    """How likely the next run is to reach the threshold."""

    p: float
    sd: float
    """Standard deviation of one run, drawn towards the prior."""


def pass_chance(passes: int, fails: int, *, bar: float = BAR, prior: tuple[float, float] = PRIOR) -> float:
    """Return the chance that a case passes with probability `bar` or more: Beta(a + passes, b + fails).

    Safe when a case now and then collapses; a forecast from its scores is not.

    Examples
    --------
    >>> round(pass_chance(7, 0), 3), round(pass_chance(6, 0), 3)
    (0.914, 0.893)
    """
    return chance_above(bar, passes, fails, prior=prior)


def pass_prior(passes: ArrayLike, runs: ArrayLike, *, most: float = MOST_WEIGHT) -> BetaPrior:
    """Return the prior of a pass rate from the corpus of wins by moments, its weight at most `most`; else Beta(4, 1).

    Beta(4, 1) stays in the mean with its 5 runs: a corpus without a failure is no proof that none can be.

    Examples
    --------
    >>> pass_prior([], [])
    BetaPrior(a=4.0, b=1.0)
    >>> round(sum(pass_prior([5, 4, 5], [5, 5, 5])), 6)
    5.0
    """
    n = np.asarray(runs, dtype=float)
    if not (n > 0).any():
        return PRIOR
    weight = min(most, sum(beta_moments(passes, runs)))
    mean = (float(np.sum(np.asarray(passes, dtype=float))) + PRIOR.a) / (float(n.sum()) + sum(PRIOR))
    return BetaPrior(mean * weight, (1 - mean) * weight)


def passes_needed(
    passes: int,
    fails: int,
    *,
    bar: float = BAR,
    chance: float = CHANCE,
    prior: tuple[float, float] = PRIOR,
    most: int = 1000,
) -> int | None:
    """Return how many more passes in a row bring `pass_chance` to `chance`; 0 if it is there, None beyond `most`.

    Without a failure and with b = 1 this is ceil(ln(1 - chance) / ln(bar)) - a - passes.

    Examples
    --------
    >>> passes_needed(0, 0), passes_needed(5, 0), passes_needed(7, 0), passes_needed(5, 1)
    (7, 2, 0, 8)
    """
    if pass_chance(passes + most, fails, bar=bar, prior=prior) < chance:
        return None
    low, high = 0, most
    while low < high:
        middle = (low + high) // 2
        if pass_chance(passes + middle, fails, bar=bar, prior=prior) >= chance:
            high = middle
        else:
            low = middle + 1
    return low


def predictive_pass(scores: ArrayLike, *, threshold: float, prior_sd: float, prior_df: float) -> PredictivePass:
    """Return the chance that the next run of a metric reaches `threshold`.

    T_{n-1+d0}((mean - threshold) / (s~ sqrt(1 + 1/n))), s~2 = ((n-1) s2 + d0 s0^2) / (n-1+d0). It knows how far the
    scores are above the threshold, and nothing of runs that collapse: never a verdict by itself.

    Parameters
    ----------
    scores
        Runs of the metric, at least one. Of several metrics the worst decides.
    prior_sd, prior_df
        Noise of one run as known from other cases, and the degrees of freedom it counts for.

    Examples
    --------
    >>> round(predictive_pass([0.86, 0.81, 0.9, 0.84], threshold=0.7, prior_sd=0.1, prior_df=3).p, 4)
    0.9394
    """
    x = np.asarray(scores, dtype=float)
    if not len(x):
        raise ValueError("a forecast needs at least one scored run")
    df = len(x) - 1 + prior_df
    sd = float(((x.var() * len(x) + prior_df * prior_sd**2) / df) ** 0.5)
    return PredictivePass(float(stats.t.cdf((x.mean() - threshold) / (sd * (1 + 1 / len(x)) ** 0.5), df)), sd)
