"""Effects that differ between cases: what to expect on average over a population of cases, and on a new one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from scipy import optimize, stats

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

Heterogeneity = Literal["paule-mandel", "dersimonian-laird"]


class RandomEffects(NamedTuple):
    """Mean over a population of cases; the ends are NaN when there are too few cases for them."""

    mean: float
    se: float
    """1 / sqrt(sum of weights)."""
    tau2: float
    """Variance of the effect between cases."""
    q: float
    """Cochran's Q, about k - 1 when the cases differ by noise only."""
    fixed: float
    """Mean weighted by the noise alone."""
    df: float
    hksj_se: float
    """Standard error of Hartung & Knapp (2001), Sidik & Jonkman (2002)."""
    low: float
    """t interval of the mean with `hksj_se`, k - 1 degrees of freedom."""
    high: float
    new_low: float
    """Prediction interval of a new case, k - 2 degrees of freedom."""
    new_high: float


def random_effects(
    effect: ArrayLike,
    variance: ArrayLike,
    *,
    heterogeneity: Heterogeneity = "paule-mandel",
    confidence: float = 0.95,
) -> RandomEffects:
    """Return the random-effects mean of per-case effects with the HKSJ interval (IntHout, Ioannidis & Borm 2014).

    Weights 1 / (variance + tau2). The HKSJ standard error is never below the ordinary one: with few cases that look
    alike it would be (Roever, Knapp & Friede 2015). Prediction: mean +- t_{k-2} sqrt(tau2 + se^2) (Higgins
    et al. 2009).

    Parameters
    ----------
    effect, variance
        Per case: mean difference and its variance, above 0.
    heterogeneity
        How tau2 is estimated.

    Raises
    ------
    ValueError
        If there is no case, or a variance is not above 0.

    Examples
    --------
    >>> found = random_effects([0.1, 0.25, -0.05, 0.18, 0.02], [0.004, 0.006, 0.005, 0.003, 0.008])
    >>> round(found.mean, 4), round(found.low, 4), round(found.high, 4)
    (0.1035, -0.0437, 0.2506)
    """
    y, v = np.asarray(effect, dtype=float), np.asarray(variance, dtype=float)
    k = len(y)
    if not k or len(v) != k or not (v > 0).all():
        raise ValueError("random effects need at least one case, each with a variance above 0")
    tau2 = paule_mandel(y, v) if heterogeneity == "paule-mandel" else dersimonian_laird(y, v)
    mean, total = _weighted(y, v + tau2)
    fixed, _ = _weighted(y, v)
    se, missing = total**-0.5, float("nan")
    half = around = hksj = missing
    if k > 1:
        residual = float(((y - mean) ** 2 / (v + tau2)).sum()) / (k - 1)
        hksj = se * max(1.0, residual**0.5)
        half = float(stats.t.isf((1 - confidence) / 2, k - 1)) * hksj
    if k > 2:
        around = float(stats.t.isf((1 - confidence) / 2, k - 2)) * (tau2 + se**2) ** 0.5
    q = _q(y, v, 0.0)
    return RandomEffects(
        mean, se, tau2, q, fixed, float(k - 1), hksj, mean - half, mean + half, mean - around, mean + around
    )


def dersimonian_laird(effect: ArrayLike, variance: ArrayLike) -> float:
    """Return tau2 by moments: (Q - (k-1)) / (sum w - sum w^2 / sum w), at least 0 (DerSimonian & Laird 1986).

    Examples
    --------
    >>> round(dersimonian_laird([0.1, 0.25, -0.05, 0.18, 0.02], [0.004, 0.006, 0.005, 0.003, 0.008]), 6)
    0.008442
    """
    y, v = np.asarray(effect, dtype=float), np.asarray(variance, dtype=float)
    if len(y) < 2:
        return 0.0
    w = 1 / v
    return max(0.0, (_q(y, v, 0.0) - (len(y) - 1)) / float(w.sum() - (w**2).sum() / w.sum()))


def paule_mandel(effect: ArrayLike, variance: ArrayLike) -> float:
    """Return tau2 that makes the generalised Q equal k - 1; 0 when Q is below that without it (Paule & Mandel 1982).

    Examples
    --------
    >>> round(paule_mandel([0.1, 0.25, -0.05, 0.18, 0.02], [0.004, 0.006, 0.005, 0.003, 0.008]), 6)
    0.009045
    """
    y, v = np.asarray(effect, dtype=float), np.asarray(variance, dtype=float)
    excess = _q(y, v, 0.0) - (len(y) - 1) if len(y) > 1 else 0.0
    if excess <= 0:
        return 0.0
    # Q(tau2) falls, and Q <= sum (y - mean y)^2 / tau2 is below k - 1 from the plain variance of the effects on.
    most = float(np.var(y, ddof=1)) * (1 + 1e-9)
    return float(optimize.brentq(lambda tau2: _q(y, v, tau2) - (len(y) - 1), 0.0, most, xtol=1e-14))


def _weighted(y: Floats, variance: Floats) -> tuple[float, float]:
    w = 1 / variance
    return float((w * y).sum() / w.sum()), float(w.sum())


def _q(y: Floats, v: Floats, tau2: float) -> float:
    mean, _ = _weighted(y, v + tau2)
    return float(((y - mean) ** 2 / (v + tau2)).sum())
