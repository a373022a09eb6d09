"""Intervals of rates whose unit is the case: many groups at once, trials of a case and cases of a cluster dependent."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import stats

from harnesskit.stats.tails import t_isf

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]


class Rates(NamedTuple):
    """One mean rate per group with its interval; ends are NaN for fewer than two units."""

    mean: Floats
    low: Floats
    high: Floats
    units: NDArray[np.int64]
    """Clusters (cases where none are given) behind the interval."""


def case_rates(
    value: ArrayLike,
    group: ArrayLike,
    *,
    cluster: ArrayLike | None = None,
    trials: ArrayLike | None = None,
    n_groups: int | None = None,
    confidence: float = 0.95,
) -> Rates:
    """Return the mean over cases of a rate between 0 and 1, with its interval, for every group.

    The variance of the mean is that between clusters (CR1, Liang & Zeger 1986; cases are clusters of one by default).
    The interval is Clopper & Pearson (1934) at the effective number of trials p (1 - p) / variance, corrected for the
    degrees of freedom (Korn & Graubard 1998): it stays between 0 and 1, and does not vanish when all cases agree.

    Parameters
    ----------
    value
        One rate per case, 0 to 1.
    group
        Number of the group of each case, from 0.
    cluster
        Cluster of each case, a number; cases of one cluster may depend on each other.
    trials
        Trials behind each case, 1 by default.

    Examples
    --------
    >>> found = case_rates([1, 1, 0.5, 0, 1, 1], [0, 0, 0, 0, 1, 1])
    >>> found.mean.round(3).tolist(), found.low.round(2).tolist(), found.high.round(2).tolist()
    ([0.625, 1.0], [0.13, 0.16], [0.97, 1.0])
    """
    x, at = np.asarray(value, dtype=float), np.asarray(group, dtype=np.int64)
    size = int(at.max(initial=-1)) + 1 if n_groups is None else n_groups
    n = np.bincount(at, minlength=size).astype(float)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.bincount(at, x, minlength=size) / n
    ids = np.arange(len(x)) if cluster is None else np.asarray(cluster, dtype=np.int64)
    both = at * (int(ids.max(initial=0)) + 1) + ids
    _, first, code = np.unique(both, return_index=True, return_inverse=True)
    owner = at[first]
    units = np.bincount(owner, minlength=size)
    sums = np.bincount(code, x - mean[at]) if len(x) else np.zeros(0)
    weight = np.ones(len(x)) if trials is None else np.asarray(trials, dtype=float)
    observed = np.asarray(np.bincount(at, weight, minlength=size), dtype=float)
    with np.errstate(invalid="ignore", divide="ignore"):
        variance = np.bincount(owner, sums**2, minlength=size) / n**2 * units / (units - 1)
        plain = mean * (1 - mean)
        effective = np.where((variance > 1e-15) & (plain > 1e-15), plain / variance, units)
    low, high = _exact(mean, effective * _few(observed, units, confidence), confidence)
    none = units < 2
    return Rates(mean, np.where(none, np.nan, low), np.where(none, np.nan, high), units.astype(np.int64))


def _few(observed: Floats, units: NDArray[np.int64], confidence: float) -> Floats:
    """Return by how much few units shrink the effective number: the squared ratio of the two t quantiles."""
    tail = (1 - confidence) / 2
    wide = np.asarray(t_isf(tail, np.maximum(units - 1, 1)), dtype=float)
    plain = np.asarray(t_isf(tail, np.maximum(observed - 1, np.maximum(units - 1, 1))), dtype=float)
    return np.asarray((plain / wide) ** 2, dtype=float)


def _exact(share: Floats, n: Floats, confidence: float) -> tuple[Floats, Floats]:
    """Return Clopper & Pearson's ends for counts that need not be whole."""
    tail = (1 - confidence) / 2
    right, wrong = share * n, (1 - share) * n
    with np.errstate(invalid="ignore"):
        low = np.where(right <= 1e-12, 0.0, stats.beta.ppf(tail, np.maximum(right, 1e-12), wrong + 1))
        high = np.where(wrong <= 1e-12, 1.0, stats.beta.ppf(1 - tail, right + 1, np.maximum(wrong, 1e-12)))
    return np.asarray(low, dtype=float), np.asarray(high, dtype=float)


def count_bounds(k: ArrayLike, n: ArrayLike, *, confidence: float = 0.95) -> tuple[Floats, Floats]:
    """Return the exact interval of many proportions at once (Clopper & Pearson 1934); 0 to 1 where n is 0.

    Examples
    --------
    >>> low, high = count_bounds([5, 2, 0], [5, 5, 0])
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.478, 0.053, 0.0], [1.0, 0.853, 1.0])
    """
    hits, total = np.asarray(k, dtype=float), np.asarray(n, dtype=float)
    return _exact(hits / np.maximum(total, 1), total, confidence)
