"""Two arms compared: t tests (moderated, Welch, paired), exact tests, and tests of "not worse by more than"."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from scipy import stats

from harnesskit.stats.noise import Noise, Prior, fit_prior, moderate, total_df
from harnesskit.stats.tails import normal_isf, t_sf

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

Alternative = Literal["two-sided", "less", "greater"]


class TTest(NamedTuple):
    """A t test of one difference."""

    estimate: float
    t: float
    df: float
    p: float
    """Two-sided."""
    p_less: float
    """One-sided, for a difference below 0."""
    low: float
    high: float


class ModeratedT(NamedTuple):
    """Moderated t tests, one entry per case; `delta` is candidate minus baseline."""

    delta: Floats
    se: Floats
    t: Floats
    df: Floats
    p_less: Floats
    z: Floats
    """Normal equivalent of t, positive for a fall."""


def moderated_t(delta: ArrayLike, s2: ArrayLike, df: ArrayLike, n: ArrayLike, m: ArrayLike, noise: Noise) -> ModeratedT:
    """Return the moderated two-sample t test of each case (Smyth 2004).

    t = delta / sqrt(s~2 (1/n + 1/m)) on df + df0 degrees of freedom, s~2 the variance drawn towards the prior.

    Parameters
    ----------
    delta, s2, df, n, m
        Per case: change of the mean, variance within the arms and its df, runs in the candidate and baseline arm.
    noise
        What the other cases say about the variance.

    Examples
    --------
    >>> noise = Noise(Prior(0.01, 4.0), 0.02, 40.0, "measured")
    >>> test = moderated_t([-0.2], [0.01], [4], [3], [3], noise)
    >>> float(test.t[0].round(3)), float(test.df[0]), float(test.z[0].round(3))
    (-2.449, 8.0, 2.054)
    """
    change = np.asarray(delta, dtype=float)
    spread = 1 / np.asarray(n, dtype=float) + 1 / np.asarray(m, dtype=float)
    se = np.sqrt(moderate(s2, df, noise.prior) * spread)
    nu = total_df(df, noise)
    t = change / se
    return ModeratedT(change, se, t, nu, t_sf(-t, nu), t_to_z(t, nu))


def t_to_z(t: ArrayLike, df: ArrayLike) -> Floats:
    """Return the normal deviate with the same tail as -t: positive for a fall.

    Examples
    --------
    >>> t_to_z([-1.96, 0.0], [1e9, 5]).round(2).tolist()
    [1.96, 0.0]
    """
    values = np.asarray(t, dtype=float)
    tail = np.maximum(t_sf(np.abs(values), df), 1e-300)  # isf(0) would be infinite
    return np.asarray(np.where(values == 0, 0.0, -np.sign(values) * normal_isf(tail)), dtype=float)


def moderated_rows(baseline: ArrayLike, candidate: ArrayLike) -> tuple[ModeratedT, Prior]:
    """Return limma's ``lmFit`` + ``eBayes`` for a matrix of runs, one row per case, and the prior it fitted.

    The raw estimator, without floor and clip; `harnesskit.stats.noise.pool_noise` is the guarded one.

    Examples
    --------
    >>> test, prior = moderated_rows([[0.8, 0.9], [0.5, 0.7]], [[0.5, 0.4], [0.6, 0.6]])
    >>> test.delta.round(2).tolist()
    [-0.4, 0.0]
    """
    before, after = np.asarray(baseline, dtype=float), np.asarray(candidate, dtype=float)
    m, n = before.shape[1], after.shape[1]
    df = np.full(len(before), float(n + m - 2))
    s2 = (before.var(axis=1) * m + after.var(axis=1) * n) / df
    prior = fit_prior(s2, df)
    delta = after.mean(axis=1) - before.mean(axis=1)
    return moderated_t(delta, s2, df, n, m, Noise(prior, 0.0, float(df.sum()), "measured")), prior


def welch(x: ArrayLike, y: ArrayLike, *, confidence: float = 0.95) -> TTest:
    """Return Welch's t test of mean(x) - mean(y) (Welch 1947), at least two values on each side.

    Examples
    --------
    >>> round(welch([0.8, 0.7, 0.9], [0.5, 0.6, 0.4]).p, 4)
    0.0213
    """
    first, second = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    result = stats.ttest_ind(first, second, equal_var=False)
    interval = result.confidence_interval(confidence)
    return _t_test(
        float(first.mean() - second.mean()),
        float(result.statistic),
        float(result.df),
        float(interval.low),
        float(interval.high),
    )


def paired_t(d: ArrayLike, *, confidence: float = 0.95) -> TTest:
    """Return the paired t test of per-case differences `d` (Student 1908), at least two of them.

    Examples
    --------
    >>> round(paired_t([0.1, 0.05, -0.02, 0.2, 0.12, 0.07]).p, 4)
    0.0345
    """
    values = np.asarray(d, dtype=float)
    result = stats.ttest_1samp(values, 0.0)
    interval = result.confidence_interval(confidence)
    return _t_test(
        float(values.mean()), float(result.statistic), float(result.df), float(interval.low), float(interval.high)
    )


def _t_test(estimate: float, t: float, df: float, low: float, high: float) -> TTest:
    return TTest(estimate, t, df, float(2 * stats.t.sf(abs(t), df)), float(stats.t.cdf(t, df)), low, high)


def wilcoxon_exact(d: ArrayLike, *, alternative: Alternative = "two-sided") -> float:
    """Return the exact p-value of Wilcoxon's signed-rank test; needs non-zero differences without ties.

    Examples
    --------
    >>> wilcoxon_exact([0.11, 0.05, -0.02, 0.2, 0.12, 0.07, -0.03, 0.09])
    0.0390625
    """
    return float(stats.wilcoxon(np.asarray(d, dtype=float), method="exact", alternative=alternative).pvalue)


def sign_flip(d: ArrayLike, *, alternative: Alternative = "greater", seed: int = 0, draws: int = 9999) -> float:
    """Return the p-value of the sign-flip test of a mean of 0: all 2^n patterns for n <= 16, else `draws` seeded ones.

    Valid whatever the noise, as long as each difference is symmetric when nothing changed (Fisher 1935).

    Examples
    --------
    >>> sign_flip([0.1, 0.05, -0.02, 0.2, 0.12, 0.07])
    0.03125
    """
    values = np.asarray(d, dtype=float)
    n = len(values)
    if n <= 16:
        signs = 1 - 2 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1)
    else:
        signs = np.random.default_rng(seed).choice([-1, 1], size=(draws, n))
        signs = np.vstack([np.ones(n, dtype=signs.dtype), signs])  # the data itself is one of the patterns
    sums, seen = signs @ values, float(values.sum())
    slack = 1e-12 * max(1.0, float(np.abs(values).sum()))
    if alternative == "two-sided":
        return float(np.mean(np.abs(sums) >= abs(seen) - slack))
    return float(np.mean(sums >= seen - slack if alternative == "greater" else sums <= seen + slack))


def mcnemar_exact(improved: int, regressed: int) -> float:
    """Return the two-sided exact McNemar p-value from the discordant pairs (McNemar 1947); 1 when there are none.

    Examples
    --------
    >>> mcnemar_exact(9, 2)
    0.0654296875
    """
    n = improved + regressed
    return float(stats.binomtest(improved, n, 0.5).pvalue) if n else 1.0


def fisher_less(treated: tuple[int, int], control: tuple[int, int]) -> float:
    """Return Fisher's one-sided exact p-value that the treated rate is lower; each side is (count, total).

    Examples
    --------
    >>> round(fisher_less((3, 20), (11, 20)), 6)
    0.009351
    """
    return float(stats.fisher_exact(_two_by_two(treated, control), alternative="less").pvalue)


def boschloo_less(treated: tuple[int, int], control: tuple[int, int]) -> float:
    """Return Boschloo's one-sided exact p-value that the treated rate is lower (Boschloo 1970): never above Fisher's.

    Examples
    --------
    >>> round(boschloo_less((3, 20), (11, 20)), 4)
    0.0042
    """
    return float(stats.boschloo_exact(_two_by_two(treated, control), alternative="less").pvalue)


def _two_by_two(first: tuple[int, int], second: tuple[int, int]) -> list[list[int]]:
    return [[first[0], second[0]], [first[1] - first[0], second[1] - second[0]]]  # groups are columns (Boschloo)


class NonInferiority(NamedTuple):
    """A test that a mean difference is not below minus the margin."""

    p: float
    low: float
    """One-sided lower confidence bound of the mean difference."""


def non_inferiority(d: ArrayLike, *, margin: float, confidence: float = 0.95) -> NonInferiority:
    """Return the t test that the mean of `d` is above -`margin`, and its one-sided lower bound.

    Examples
    --------
    >>> round(non_inferiority([0.02, -0.03, 0.01, -0.05, 0.04, -0.02, 0.0, -0.01], margin=0.05).p, 6)
    0.001537
    """
    values = np.asarray(d, dtype=float)
    result = stats.ttest_1samp(values, -margin, alternative="greater")
    return NonInferiority(float(result.pvalue), float(result.confidence_interval(confidence).low))


def tost(d: ArrayLike, *, margin: float) -> float:
    """Return the p-value of equivalence within +-`margin`: the larger of two one-sided t tests (Schuirmann 1987).

    Examples
    --------
    >>> round(tost([0.02, -0.03, 0.01, -0.05, 0.04, -0.02, 0.0, -0.01], margin=0.05), 6)
    0.001537
    """
    values = np.asarray(d, dtype=float)
    below = stats.ttest_1samp(values, -margin, alternative="greater").pvalue
    above = stats.ttest_1samp(values, margin, alternative="less").pvalue
    return float(max(below, above))
