"""Intervals: of proportions, of a mean over cases, and of a mean whose cases come in clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import stats

from harnesskit.stats.tails import t_isf

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]


class Interval(NamedTuple):
    """Both ends of an interval."""

    low: float
    high: float


class MeanInterval(NamedTuple):
    """A mean over cases with its interval; the ends are NaN when they cannot be had."""

    mean: float
    se: float
    df: float
    low: float
    high: float
    kind: str


def clopper_pearson(k: int, n: int, *, confidence: float = 0.95) -> Interval:
    """Return the exact interval of a proportion (Clopper & Pearson 1934): 0 at k = 0 and 1 at k = n.

    Examples
    --------
    >>> [round(end, 4) for end in clopper_pearson(14, 15)]
    [0.6805, 0.9983]
    """
    _counts(k, n)
    tail = (1 - confidence) / 2
    low = 0.0 if k == 0 else float(stats.beta.ppf(tail, k, n - k + 1))
    high = 1.0 if k == n else float(stats.beta.ppf(1 - tail, k + 1, n - k))
    return Interval(low, high)


def wilson(k: int, n: int, *, confidence: float = 0.95) -> Interval:
    """Return the score interval of a proportion (Wilson 1927); for n >= 5.

    Examples
    --------
    >>> [round(end, 4) for end in wilson(0, 5)]
    [0.0, 0.4345]
    """
    _counts(k, n)
    z = float(stats.norm.isf((1 - confidence) / 2))
    share, weight = k / n, z * z / n
    centre = (share + weight / 2) / (1 + weight)
    half = z / (1 + weight) * (share * (1 - share) / n + weight / (4 * n)) ** 0.5
    return Interval(0.0 if k == 0 else centre - half, 1.0 if k == n else centre + half)


def jeffreys(k: int, n: int, *, confidence: float = 0.95) -> Interval:
    """Return the equal-tailed interval of a proportion under the Beta(.5, .5) prior (Brown, Cai & DasGupta 2001).

    Examples
    --------
    >>> [round(end, 4) for end in jeffreys(5, 5)]
    [0.6206, 0.9999]
    """
    return beta_interval(k, n, prior=(0.5, 0.5), confidence=confidence)


def beta_interval(k: int, n: int, *, prior: tuple[float, float] = (1.0, 1.0), confidence: float = 0.95) -> Interval:
    """Return the equal-tailed posterior interval of a proportion under a Beta prior (flat by default).

    Examples
    --------
    >>> [round(end, 4) for end in beta_interval(0, 5)]
    [0.0042, 0.4593]
    """
    _counts(k, n)
    tail = (1 - confidence) / 2
    low, high = stats.beta.ppf([tail, 1 - tail], k + prior[0], n - k + prior[1])
    return Interval(float(low), float(high))


def chance_above(bar: float, passes: int, fails: int, *, prior: tuple[float, float] = (1.0, 1.0)) -> float:
    """Return the posterior probability that a pass rate is at least `bar`, under a Beta prior.

    Examples
    --------
    >>> round(chance_above(0.8, 10, 0), 4)
    0.9141
    """
    return float(stats.beta.sf(bar, passes + prior[0], fails + prior[1]))


def all_passed_low(n: int, *, confidence: float = 0.95) -> float:
    """Return the one-sided lower bound of a pass rate after `n` passes of `n`: (1 - confidence)^(1/n).

    Examples
    --------
    >>> round(all_passed_low(14), 4)
    0.8074
    """
    return float((1 - confidence) ** (1 / n))


class ClusteredSE(NamedTuple):
    """Standard errors of a mean whose values come in clusters."""

    mean: float
    clt: float
    """As if every value stood alone."""
    cr0: float
    cr1: float
    clusters: int


def clustered_se(values: ArrayLike, cluster: ArrayLike) -> ClusteredSE:
    """Return standard errors of a mean that allow for dependence within clusters (Liang & Zeger 1986; Miller 2024).

    CR0^2 = sum over clusters of (sum of residuals)^2 / n^2; CR1^2 = CR0^2 G/(G-1) (NaN for one cluster).
    The naive one is sqrt(sum of squares / (n - 1) / n).

    Examples
    --------
    >>> round(clustered_se([1.0, 0.0, 1.0, 1.0], [0, 0, 1, 1]).cr1, 4)
    0.25
    """
    x = np.asarray(values, dtype=float)
    codes = np.unique(np.asarray(cluster), return_inverse=True)[1]
    n, groups = len(x), int(codes.max()) + 1
    residual = x - x.mean()
    cr0 = float(np.sqrt((np.bincount(codes, residual) ** 2).sum())) / n
    cr1 = cr0 * (groups / (groups - 1)) ** 0.5 if groups > 1 else float("nan")
    clt = float(x.std(ddof=1)) / n**0.5 if n > 1 else float("nan")
    return ClusteredSE(float(x.mean()), clt, cr0, cr1, groups)


def mean_interval(
    values: ArrayLike, cluster: ArrayLike | None = None, *, confidence: float = 0.95, sd_if_equal: float = 0.0
) -> MeanInterval:
    """Return the mean over cases with its t interval; over clusters (CR1, G - 1 df) when `cluster` groups cases.

    Parameters
    ----------
    values
        One value per case.
    cluster
        Group of each case; groups of one are the same as none.
    sd_if_equal
        Standard deviation to assume when all values are equal: equal values are no proof of no noise.

    Examples
    --------
    >>> [round(x, 4) for x in mean_interval([0.1, 0.05, -0.02, 0.2, 0.12, 0.07])[3:5]]
    [0.0094, 0.164]
    >>> mean_interval([0.1]).kind
    ''
    """
    x = np.asarray(values, dtype=float)
    n, missing = len(x), float("nan")
    if n < 2:
        return MeanInterval(float(x.mean()) if n else missing, missing, missing, missing, missing, "")
    se, df, kind = float(x.std(ddof=1)) / n**0.5, float(n - 1), "t over cases"
    if cluster is not None:
        clustered = clustered_se(x, cluster)
        if clustered.clusters < 2:
            return MeanInterval(float(x.mean()), missing, missing, missing, missing, "")
        if clustered.clusters < n:
            se, df, kind = clustered.cr1, float(clustered.clusters - 1), "t over clusters"
    if np.ptp(x) < 1e-12:
        se, kind = sd_if_equal / (df + 1) ** 0.5, f"{kind}, smallest noise assumed"
    half = float(t_isf((1 - confidence) / 2, df)) * se
    mean = float(x.mean())
    return MeanInterval(mean, se, df, mean - half, mean + half, kind)


def mean_upper(interval: MeanInterval, *, confidence: float = 0.95) -> float:
    """Return the one-sided upper confidence bound of a mean.

    Examples
    --------
    >>> round(mean_upper(mean_interval([0.1, 0.05, -0.02, 0.2, 0.12, 0.07])), 4)
    0.1473
    """
    return interval.mean + float(t_isf(1 - confidence, interval.df)) * interval.se


class PairedSE(NamedTuple):
    """What pairing buys: standard errors of a difference of means, paired and not."""

    delta: float
    paired: float
    unpaired: float
    correlation: float


def paired_se(before: ArrayLike, after: ArrayLike) -> PairedSE:
    """Return standard errors of mean(after) - mean(before) over the same cases: Var(d) = Va + Vb - 2 cov.

    Examples
    --------
    >>> round(paired_se([0.9, 0.4, 0.7], [0.95, 0.55, 0.65]).paired, 4)
    0.0577
    """
    a, b = np.asarray(before, dtype=float), np.asarray(after, dtype=float)
    n = len(a)
    paired = float((b - a).std(ddof=1)) / n**0.5
    unpaired = float(np.sqrt((a.var(ddof=1) + b.var(ddof=1)) / n))
    return PairedSE(float(b.mean() - a.mean()), paired, unpaired, float(np.corrcoef(a, b)[0, 1]))


class EffectiveN(NamedTuple):
    """How many independent values a clustered sample is worth."""

    deff: float
    n_eff: float


def effective_n(n: int, *, per_cluster: float, icc: float) -> EffectiveN:
    """Return the design effect 1 + (k - 1) ICC and n divided by it (Kish 1965).

    Examples
    --------
    >>> effective_n(50, per_cluster=5, icc=0.5).deff
    3.0
    """
    deff = 1 + (per_cluster - 1) * icc
    return EffectiveN(deff, n / deff)


def _counts(k: int, n: int) -> None:
    if not 0 <= k <= n or n < 1:
        raise ValueError(f"a proportion needs 0 <= k <= n and n >= 1, found k={k}, n={n}")
