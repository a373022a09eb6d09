"""Few human labels and many judged sessions: prediction-powered means, which borrow the judge without trusting it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from scipy import stats

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

FEWEST = 20
"""Labels below which the judge's weight is not tuned: the interval would be too short (.93 at 20)."""


class PoweredMean(NamedTuple):
    """Mean of the label over all sessions."""

    mean: float
    low: float
    high: float
    weight: float
    """How much the judge counts: 0 is the labels alone, 1 the full correction."""
    classical: float
    """Mean of the labels alone."""


def powered_mean(
    labels: ArrayLike,
    judged: ArrayLike,
    unlabelled: ArrayLike,
    *,
    weight: float | None = None,
    confidence: float = 0.95,
    quantile: Literal["t", "normal"] = "t",
) -> PoweredMean:
    """Return the mean label over sessions, sharpened by the judge's scores of sessions without a label.

    mean(y) + w (mean of f unlabelled - mean of f labelled), variance w^2 var(f unlabelled)/N + var(y - w f)/n
    (Angelopoulos et al. 2023, Science; PPI++, Angelopoulos, Duchi & Zrnic 2023). Unbiased for every w, however bad
    the judge, if the labelled sessions are a random part of all.

    Parameters
    ----------
    labels, judged
        Label and judge's score of the labelled sessions, at least two.
    unlabelled
        Judge's scores of the others.
    weight
        w; by default cov(y, f) / ((1 + n/N) var f) within 0 to 1, and 0 below 20 labels.
    quantile
        ``t`` with n - 1 degrees of freedom; ``normal`` is that of the papers, too short below 30 labels.

    Raises
    ------
    ValueError
        If there are fewer than two labels, or their number differs from that of their scores.

    Examples
    --------
    >>> y, f = [1.0, 0.0, 1.0, 1.0] * 6, [0.9, 0.2, 0.8, 0.7] * 6
    >>> found = powered_mean(y, f, [0.9, 0.1] * 50)
    >>> round(found.mean, 3), found.classical, round(found.weight, 3)
    (0.654, 0.75, 0.641)
    """
    y, f, others = (np.asarray(x, dtype=float) for x in (labels, judged, unlabelled))
    n, more = len(y), len(others)
    if n < 2 or len(f) != n:
        raise ValueError(f"a powered mean needs two labels at least, each with a score: {n} labels, {len(f)} scores")
    if weight is None:
        weight = tuned_weight(y, f, others) if n >= FEWEST else 0.0
    mean, variance, weight = _powered(y, f, others, weight if more else 0.0)
    tail = (1 - confidence) / 2
    reach = float(stats.t.isf(tail, n - 1) if quantile == "t" else stats.norm.isf(tail)) * variance**0.5
    return PoweredMean(mean, mean - reach, mean + reach, weight, float(y.mean()))


def tuned_weight(labels: ArrayLike, judged: ArrayLike, unlabelled: ArrayLike) -> float:
    """Return the weight of the judge with the smallest variance: cov(y, f) / ((1 + n/N) var f), within 0 to 1.

    The variance of f is that of all sessions. 0 when the judge gives every session the same score.

    Examples
    --------
    >>> tuned_weight([1, 0, 1], [0.5, 0.5, 0.5], [0.5, 0.5])
    0.0
    """
    y, f, others = (np.asarray(x, dtype=float) for x in (labels, judged, unlabelled))
    spread = float(np.var(np.concatenate([f, others]), ddof=1))
    if not len(others) or spread <= 1e-15:
        return 0.0
    covariance = float(np.cov(y, f)[0, 1])
    return float(np.clip(covariance / ((1 + len(y) / len(others)) * spread), 0.0, 1.0))


def _powered(y: Floats, f: Floats, others: Floats, weight: float) -> tuple[float, float, float]:
    mean, variance = float(y.mean()), float(np.var(y - weight * f)) / len(y)
    if weight:
        mean += weight * float(others.mean() - f.mean())
        variance += weight**2 * float(np.var(others)) / len(others)
    return mean, variance, float(weight)
