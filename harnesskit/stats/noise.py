"""Noise of one run: variances pooled within cases, and the prior that a case with few runs borrows from."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import special

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

ASSUMED_SD = 0.10
"""Standard deviation of one run, on the 0-to-1 scale, assumed until runs were repeated (judges: .05 to .15)."""
COLD_DF = 8
"""Degrees of freedom below which the noise is still partly assumed."""
COLD_PRIOR_DF = 3.0
MIN_SD = 0.02
"""Smallest standard deviation believed, on the 0-to-1 scale."""
GRID_STEPS = (1.0, 0.25, 0.1, 0.05)


class Prior(NamedTuple):
    """What is known about the variance of one run before looking at a case."""

    s2: float
    """Prior variance."""
    df: float
    """Degrees of freedom that the prior is worth; infinite when the cases differ by chance only."""


class Noise(NamedTuple):
    """The noise of a metric, as every case borrows it."""

    prior: Prior
    floor: float
    """Smallest standard deviation believed."""
    df: float
    """Degrees of freedom behind the pooled variance."""
    source: str
    """``measured``, ``partly assumed`` or ``assumed``."""


def trigamma_inverse(x: ArrayLike) -> Floats:
    """Return y with trigamma(y) = x, for x > 0 (Newton on 1/trigamma; Smyth 2004, appendix).

    Examples
    --------
    >>> trigamma_inverse([1.0]).round(6).tolist()
    [1.426255]
    """
    target = np.asarray(x, dtype=float)
    y = 0.5 + 1.0 / target
    for _ in range(50):
        trigamma = special.polygamma(1, y)
        step = trigamma * (1.0 - trigamma / target) / special.polygamma(2, y)
        y = y + step
        if np.all(-step / y < 1e-10):
            break
    y = np.where(target > 1e7, 1.0 / np.sqrt(target), y)
    return np.asarray(np.where(target < 1e-6, 1.0 / target, y), dtype=float)


def fit_prior(s2: ArrayLike, df: ArrayLike) -> Prior:
    """Return the scaled inverse chi-square prior of a set of variances (Smyth 2004; limma's ``fitFDist``).

    With e = ln s2 - digamma(df/2) + ln(df/2) and v = var(e) - mean trigamma(df/2): df0 = 2 trigamma_inverse(v) and
    s0^2 = exp(mean e + digamma(df0/2) - ln(df0/2)) if v > 0, else df0 is infinite and s0^2 the mean.

    Examples
    --------
    >>> fit_prior([0.011, 0.009, 0.012, 0.01], [4, 4, 4, 4]).df
    inf
    """
    dfs = np.asarray(df, dtype=float)
    used = dfs > 0
    variances, dfs = np.asarray(s2, dtype=float)[used], dfs[used]
    if not len(variances):
        raise ValueError("fit_prior() needs at least one variance with df > 0")
    variances = np.maximum(variances, 1e-5 * (float(np.median(variances)) or 1.0))
    half, of = np.unique(dfs / 2, return_inverse=True)  # cases share few degrees of freedom
    e = np.log(variances) - special.digamma(half)[of] + np.log(half)[of]
    excess = float(np.var(e, ddof=1) - np.mean(special.polygamma(1, half)[of])) if len(e) > 1 else 0.0
    if excess <= 0:
        return Prior(float(np.mean(variances)), float("inf"))
    df0 = 2 * float(trigamma_inverse(excess))
    return Prior(float(np.exp(np.mean(e) + special.digamma(df0 / 2) - np.log(df0 / 2))), df0)


def moderate(s2: ArrayLike, df: ArrayLike, prior: Prior) -> Floats:
    """Return the variances drawn towards the prior: (df s2 + df0 s0^2) / (df + df0) (limma's ``squeezeVar``).

    Examples
    --------
    >>> moderate([0.02], [4], Prior(0.01, 4.0)).round(6).tolist()
    [0.015]
    """
    dfs, variances = np.asarray(df, dtype=float), np.asarray(s2, dtype=float)
    if np.isinf(prior.df):
        return np.full(np.broadcast(dfs, variances).shape, prior.s2)
    return np.asarray((dfs * np.where(dfs > 0, variances, 0.0) + prior.df * prior.s2) / (dfs + prior.df), dtype=float)


def grid_step(values: ArrayLike) -> float:
    """Return the step of the grid on which at least 95 % of the scores lie, or 0.

    Tried are 1, .25, .1 and .05. A grid counts only when the scores use at least two of its points: scores that
    are all 1.0 say nothing about a grid.

    Examples
    --------
    >>> grid_step([0, 1, 1, 0]), grid_step([0.5, 0.75, 1.0]), grid_step([0.913, 0.72, 0.5]), grid_step([1.0, 1.0])
    (1.0, 0.25, 0.0, 0.0)
    """
    scores = np.asarray(values, dtype=float)
    for step in GRID_STEPS:
        nearest = np.round(scores / step)
        on = np.abs(scores / step - nearest) < 1e-6
        if on.mean() >= 0.95 and len(np.unique(nearest[on])) > 1:
            return step
    return 0.0


def sd_floor(values: ArrayLike) -> float:
    """Return the smallest standard deviation to believe: max(.02, g / sqrt 12), g the judge's grid step.

    Examples
    --------
    >>> sd_floor([0.913, 0.724]), round(sd_floor([0, 1, 1, 0]), 4)
    (0.02, 0.2887)
    """
    scores = np.asarray(values, dtype=float)
    return floor_of(grid_step(scores) if scores.size else 0.0)


def floor_of(step: float) -> float:
    """Return the smallest standard deviation to believe of a judge with this grid step (0: none).

    Examples
    --------
    >>> floor_of(0.0), round(floor_of(0.25), 4)
    (0.02, 0.0722)
    """
    return max(MIN_SD, step / 12**0.5)


def pool_noise(
    s2: ArrayLike, df: ArrayLike, *, floor: float = MIN_SD, clip: tuple[float, float] | None = (2.0, 30.0)
) -> Noise:
    """Return the noise of a metric from the variances of its cases.

    The prior's scale is the arithmetic pooled variance, at least `floor` squared (slightly above limma's, and not
    upset by exact zeros); its degrees of freedom are `fit_prior`'s, clipped to `clip`. Below 8 degrees of freedom in
    all, a standard deviation of .10 worth 3 degrees of freedom is mixed in ("partly assumed"; "assumed" without any).

    Examples
    --------
    >>> pool_noise([], []).source, pool_noise([0.01] * 6, [4] * 6).prior.df
    ('assumed', 30.0)
    """
    variances, dfs = np.asarray(s2, dtype=float), np.asarray(df, dtype=float)
    total = float(dfs.sum())
    pooled = float((dfs * variances).sum() / total) if total else 0.0
    if total < COLD_DF:
        cold = (total * pooled + COLD_PRIOR_DF * ASSUMED_SD**2) / (total + COLD_PRIOR_DF)
        source = "partly assumed" if total else "assumed"
        return Noise(Prior(max(cold, floor**2), COLD_PRIOR_DF), floor, total, source)
    df0 = fit_prior(np.maximum(variances, floor**2), dfs).df
    if clip is not None:
        df0 = float(np.clip(df0, *clip))
    return Noise(Prior(max(pooled, floor**2), df0), floor, total, "measured")


def total_df(df: ArrayLike, noise: Noise) -> Floats:
    """Return the degrees of freedom of each moderated variance: df + df0, at most all there are (limma's ``eBayes``).

    Examples
    --------
    >>> total_df([4.0], Noise(Prior(0.01, 30.0), 0.02, 10.0, "measured")).tolist()
    [10.0]
    """
    dfs = np.asarray(df, dtype=float)
    most = noise.df if noise.source == "measured" else noise.df + noise.prior.df
    return np.minimum(dfs + noise.prior.df, most)


def robust_sd(residuals: ArrayLike, *, floor: float = MIN_SD) -> float:
    """Return the interquartile range over 1.349, at least `floor`: the standard deviation without its tails.

    Examples
    --------
    >>> robust_sd([0.0, 0.0, 0.001])
    0.02
    """
    low, high = np.quantile(np.asarray(residuals, dtype=float), [0.25, 0.75])
    return max(floor, float(high - low) / 1.349)


class Shrunken(NamedTuple):
    """A single captured score, drawn towards what replayed wins look like."""

    mean: float
    variance: float


def shrink_baseline(score: float, *, mean: float, between: float, within: float) -> Shrunken:
    """Return the normal-normal posterior of a case's true mean after one run.

    M + T2/(T2+s2)(y-M) with variance T2 s2/(T2+s2); `mean` M and `between` T2 from replayed wins, `within` s2.

    Examples
    --------
    >>> round(shrink_baseline(0.97, mean=0.84, between=0.006, within=0.01).mean, 5)
    0.88875
    """
    share = between / (between + within)
    return Shrunken(mean + share * (score - mean), share * within)
