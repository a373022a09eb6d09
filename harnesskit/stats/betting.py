"""Bets on a bounded mean: capital against "the mean is at most m", and confidence sequences that may be watched.

Waudby-Smith & Ramdas (2024, JRSS B), with predictable plug-in bets. Valid for any scores between 0 and 1 whose
conditional mean is constant, at every number of scores at once. Hopeless below about 60 scores when the spread is
that of a judge: for few pairs use `harnesskit.stats.eprocess`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

TRUNCATION = 0.5
"""Largest share of what could be lost that is ever bet."""


class Bands(NamedTuple):
    """Lower and upper confidence sequence, one entry per score; they cover at every score at once."""

    low: Floats
    high: Floats


def plug_in_bets(x: ArrayLike, *, alpha: float = 0.05) -> Floats:
    """Return the predictable bets sqrt(2 ln(1/alpha) / (t ln(1+t) v_{t-1})), v the running variance before score t.

    Mean and variance start at 1/2 and 1/4, worth one score.

    Examples
    --------
    >>> plug_in_bets([0.6, 0.5], alpha=0.05).round(3).tolist()
    [5.88, 4.647]
    """
    scores = _bounded(x)
    t = np.arange(1, len(scores) + 1)
    mean = (0.5 + np.cumsum(scores)) / (t + 1)
    variance = (0.25 + np.cumsum((scores - mean) ** 2)) / (t + 1)
    before = np.concatenate([[0.25], variance[:-1]])[: len(scores)]
    return np.asarray(np.sqrt(2 * np.log(1 / alpha) / (t * np.log1p(t) * before)), dtype=float)


def capital(x: ArrayLike, mean: float, *, alpha: float = 0.05, truncation: float = TRUNCATION) -> Floats:
    """Return the capital of a bet that the mean of `x` is above `mean`: prod (1 + lambda_t (x_t - mean)).

    An e-process against "the mean is at most `mean`"; reject at 1 / alpha. lambda is cut at truncation / mean.

    Parameters
    ----------
    x
        Scores between 0 and 1 in the order they came.
    mean
        Bound to test, above 0 and below 1.

    Raises
    ------
    ValueError
        If a score is missing or out of range, or `mean` is.

    Examples
    --------
    >>> capital([0.62, 0.55, 0.71], 0.5).round(4).tolist()
    [1.12, 1.176, 1.423]
    """
    if not 0 < mean < 1:
        raise ValueError(f"the mean to bet against must be above 0 and below 1, found {mean}")
    scores = _bounded(x)
    bet = np.minimum(plug_in_bets(scores, alpha=alpha), truncation / mean)
    return np.asarray(np.cumprod(1 + bet * (scores - mean)), dtype=float)


def betting_bands(x: ArrayLike, *, confidence: float = 0.95, grid: int = 1000) -> Bands:
    """Return the hedged-capital confidence sequence of the mean of scores between 0 and 1.

    After t scores: the means m on a grid at which neither the bet on "above m" nor the one on "below m" has reached
    2 / alpha; running intersection, widened by one step of the grid. For precision and recall watched over sessions.

    Examples
    --------
    >>> bands = betting_bands([1.0] * 40)
    >>> float(bands.low[0]), round(float(bands.low[-1]), 2), float(bands.high[-1])
    (0.0, 0.84, 1.0)
    """
    scores = _bounded(x)
    m = np.arange(1, grid)[:, None] / grid
    bet = plug_in_bets(scores, alpha=(1 - confidence) / 2)
    limit = np.log(2 / (1 - confidence))
    above = np.cumsum(np.log1p(np.minimum(bet, TRUNCATION / m) * (scores - m)), axis=1)
    below = np.cumsum(np.log1p(-np.minimum(bet, TRUNCATION / (1 - m)) * (scores - m)), axis=1)
    low = (np.maximum.accumulate(above, axis=1) >= limit).sum(axis=0) / grid
    high = 1 - (np.maximum.accumulate(below, axis=1) >= limit).sum(axis=0) / grid
    return Bands(np.asarray(low, dtype=float), np.asarray(high, dtype=float))


def empirical_bernstein(x: ArrayLike, *, confidence: float = 0.95, truncation: float = TRUNCATION) -> Bands:
    """Return the predictable-mixture empirical-Bernstein confidence sequence of the mean (theorem 2 there).

    Weighted mean sum(lambda x) / sum(lambda) -+ (ln(2/alpha) + sum v psi(lambda)) / sum(lambda), with v = (x -
    mean_{t-1})^2 (the first mean is 0: any value fixed beforehand is valid) and psi = -ln(1 - lambda) - lambda; within
    [0, 1]. Closed form; wider than `betting_bands`.

    Examples
    --------
    >>> float(empirical_bernstein([0.7] * 60).low[-1].round(2))
    0.57
    """
    scores = _bounded(x)
    return Bands(_bernstein_low(scores, confidence, truncation), 1 - _bernstein_low(1 - scores, confidence, truncation))


def _bernstein_low(x: Floats, confidence: float, truncation: float) -> Floats:
    alpha = (1 - confidence) / 2
    bet = np.minimum(plug_in_bets(x, alpha=alpha), truncation)
    before = np.concatenate([[0.0], (np.cumsum(x) / np.arange(1, len(x) + 1))[:-1]])[: len(x)]
    spread = np.cumsum((x - before) ** 2 * (-np.log1p(-bet) - bet))
    total = np.cumsum(bet)
    return np.asarray(np.maximum((np.cumsum(bet * x) - np.log(1 / alpha) - spread) / total, 0.0), dtype=float)


def _bounded(x: ArrayLike) -> Floats:
    scores = np.asarray(x, dtype=float)
    if not ((scores >= 0) & (scores <= 1)).all():
        raise ValueError("bets on a bounded mean need scores between 0 and 1, none missing")
    return scores
