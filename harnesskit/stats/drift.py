"""Production drift: a chart of session means that may be read every day, and distances between two periods."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import stats

from harnesskit.stats.noise import MIN_SD
from harnesskit.stats.paired import t_to_z

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

SLACK = 0.25
LIMIT = 10.0
"""Height of the alarm: P(alarm within 100 sessions without drift) is .03 to .04 for self-starting scores."""
PSI_SESSIONS = 40
"""Sessions on each side below which a PSI says nothing."""


class Cusum(NamedTuple):
    """A one-sided cumulative-sum chart."""

    path: Floats
    alarm: int | None
    """Index of the first score at which the path reached the limit, else None."""


def cusum(z: ArrayLike, *, slack: float = SLACK, limit: float = LIMIT) -> Cusum:
    """Return the chart S_t = max(0, S_{t-1} + z_t - slack) (Page 1954); give -z for the other direction.

    Examples
    --------
    >>> cusum([0.2, 0.8, -0.3, 1.1]).path.round(2).tolist()
    [0.0, 0.55, 0.0, 0.85]
    """
    walk = np.cumsum(np.asarray(z, dtype=float) - slack)
    path = walk - np.minimum(np.minimum.accumulate(walk), 0.0)
    over = np.flatnonzero(path >= limit)
    return Cusum(path, int(over[0]) if len(over) else None)


def self_starting(baseline: ArrayLike, new: ArrayLike, *, floor: float = MIN_SD) -> Floats:
    """Return the standard score of each new session mean among all before it, positive for a drop.

    z_t = -Phi^-1(T_{t-2}(sqrt((t-1)/t) (x_t - mean_{t-1}) / s_{t-1})), baseline and new counted through: independent
    standard normal for normal session means, whatever their mean and spread (Hawkins 1987).

    Parameters
    ----------
    baseline
        At least two session means of a good period, in order.
    new
        Session means since.
    floor
        Smallest standard deviation believed, against a baseline of equal scores.

    Examples
    --------
    >>> self_starting([0.78, 0.71, 0.8, 0.69], [0.7, 0.6]).round(3).tolist()
    [0.667, 1.818]
    """
    known = _baseline(baseline)
    x = np.concatenate([known, np.asarray(new, dtype=float)])
    n = np.arange(len(known), len(x))
    centred = x - known.mean()  # keeps the sums of squares from cancelling
    sums, squares = np.cumsum(centred)[n - 1], np.cumsum(centred**2)[n - 1]
    sd = np.maximum(np.sqrt(np.maximum(squares - sums**2 / n, 0.0) / (n - 1)), floor)
    t = np.sqrt(n / (n + 1)) * (centred[n] - sums / n) / sd
    return t_to_z(t, n - 1)


def frozen(baseline: ArrayLike, new: ArrayLike, *, floor: float = MIN_SD) -> Floats:
    """Return the standard score of each new session mean against the baseline alone, positive for a drop.

    As `self_starting` with mean and spread frozen at the baseline: finds a drop sooner, but a baseline that happens
    to be high goes on counting (.065 to .10 false alarms in 100 sessions); for 60 baseline sessions or more.

    Examples
    --------
    >>> frozen([0.78, 0.71, 0.8, 0.69], [0.7, 0.6]).round(3).tolist()
    [0.667, 1.681]
    """
    known = _baseline(baseline)
    n = len(known)
    sd = max(float(known.std(ddof=1)), floor)
    t = (n / (n + 1)) ** 0.5 * (np.asarray(new, dtype=float) - known.mean()) / sd
    return t_to_z(t, np.full(t.shape, float(n - 1)))


class Distance(NamedTuple):
    """How far two samples of session means lie apart."""

    ks: float
    """Largest difference of the distribution functions."""
    ks_p: float
    wasserstein: float
    """Mean distance a score has to move, in units of the score."""


def distances(before: ArrayLike, after: ArrayLike) -> Distance:
    """Return the two-sample Kolmogorov-Smirnov test (exact up to 10,000 sessions) and the Wasserstein-1 distance.

    Examples
    --------
    >>> [round(x, 3) for x in distances([0.1, 0.4, 0.6], [0.5, 0.7, 0.9])]
    [0.667, 0.6, 0.333]
    """
    a, b = np.asarray(before, dtype=float), np.asarray(after, dtype=float)
    with warnings.catch_warnings():
        # Next to p = 1 scipy's exact sum may round above 1; it says so and takes the asymptotic p, which is 1 as well.
        warnings.filterwarnings("ignore", message="ks_2samp: Exact calculation unsuccessful", category=RuntimeWarning)
        test = stats.ks_2samp(a, b)
    return Distance(float(test.statistic), float(test.pvalue), float(stats.wasserstein_distance(a, b)))


def psi(expected: ArrayLike, observed: ArrayLike, *, least: float = 1e-4) -> float:
    """Return the population stability index of two sets of shares: sum (o - e) ln(o / e); empty bins count `least`.

    Examples
    --------
    >>> round(psi([0.4, 0.3, 0.2, 0.1], [0.25, 0.3, 0.25, 0.2]), 4)
    0.151
    """
    e, o = (np.maximum(np.asarray(x, dtype=float), least) for x in (expected, observed))
    return float(((o - e) * np.log(o / e)).sum())


def binned_psi(before: ArrayLike, after: ArrayLike, *, bins: int = 10) -> float:
    """Return the stability index of two samples over bins of equal weight in the first; half a count in every bin.

    Its size without drift depends on the sample (.2 is passed by 28 to 58 % of samples of 10 to 20): judge it by
    `permutation_p`, and not at all below 40 sessions.

    Examples
    --------
    >>> round(binned_psi(list(range(50)), list(range(50))), 6)
    0.0
    """
    a, b = np.asarray(before, dtype=float), np.asarray(after, dtype=float)
    edges = np.unique(np.quantile(a, np.linspace(0, 1, bins + 1)[1:-1]))
    counts = [np.bincount(np.searchsorted(edges, x, side="right"), minlength=len(edges) + 1) + 0.5 for x in (a, b)]
    return psi(counts[0] / counts[0].sum(), counts[1] / counts[1].sum())


def permutation_p(
    before: ArrayLike,
    after: ArrayLike,
    statistic: Callable[[Floats, Floats], float],
    *,
    draws: int = 9999,
    seed: int = 0,
) -> float:
    """Return the chance of a statistic at least this large when sessions are dealt to the two periods at random.

    (1 + number of draws at or above the one seen) / (1 + draws): never 0 (Phipson & Smyth 2010).

    Examples
    --------
    >>> permutation_p([0.8, 0.9, 0.85, 0.8], [0.2, 0.3, 0.1, 0.2], lambda a, b: float(a.mean() - b.mean()), draws=99)
    0.01
    """
    a, b = np.asarray(before, dtype=float), np.asarray(after, dtype=float)
    both, rng = np.concatenate([a, b]), np.random.default_rng(seed)
    seen = statistic(a, b) - 1e-12
    higher = 0
    for _ in range(draws):
        mixed = rng.permutation(both)
        higher += statistic(mixed[: len(a)], mixed[len(a) :]) >= seen
    return (1 + higher) / (1 + draws)


def _baseline(values: ArrayLike) -> Floats:
    known = np.asarray(values, dtype=float)
    if len(known) < 2:
        raise ValueError(f"a drift chart needs a baseline of at least 2 sessions, found {len(known)}")
    return known
