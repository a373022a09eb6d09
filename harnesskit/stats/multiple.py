"""Many tests at once: adjusted p-values, e-values, and how an error budget is shared."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import stats

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]


def holm(p: ArrayLike) -> Floats:
    """Return Holm's adjusted p-values: family-wise error under any dependence (Holm 1979).

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).round(3).tolist()
    [0.03, 0.06, 0.06]
    """
    values, order = _sorted(p)
    steps = (len(values) - np.arange(len(values))) * values[order]
    return _unsorted(np.minimum(np.maximum.accumulate(steps), 1.0), order)


def holm_level(p: ArrayLike, alpha: float, *, family: int | None = None) -> Floats:
    """Return, per test, the level that its p-value has to meet in Holm's procedure, the other p-values as they are.

    A test is rejected exactly when p <= its level. With R rejections among `family` tests the level is
    alpha / (family - R) for those not rejected and alpha / (family - R + 1) for those that are.

    Parameters
    ----------
    family
        Number of tests planned, at least the number given; the ones without a p-value count as 1.

    Examples
    --------
    >>> holm_level([0.001, 0.5], 0.05).tolist()
    [0.025, 0.05]
    """
    values, order = _sorted(p)
    planned = max(len(values), family or 0)
    if not planned:
        return np.empty(0)
    passed = values[order] <= alpha / (planned - np.arange(len(values)))
    rejected = len(values) if passed.all() else int(np.argmin(passed))
    level = np.full(len(values), alpha / max(planned - rejected, 1))
    level[order[:rejected]] = alpha / (planned - rejected + 1)
    return level


def benjamini_hochberg(p: ArrayLike) -> Floats:
    """Return adjusted p-values for the false discovery rate, tests independent or positively dependent (BH 1995).

    Examples
    --------
    >>> benjamini_hochberg([0.01, 0.04, 0.03]).round(3).tolist()
    [0.03, 0.04, 0.04]
    """
    values, order = _sorted(p)
    n = len(values)
    steps = values[order] * n / np.arange(1, n + 1)
    return _unsorted(np.minimum(np.minimum.accumulate(steps[::-1])[::-1], 1.0), order)


def benjamini_yekutieli(p: ArrayLike) -> Floats:
    """Return adjusted p-values for the false discovery rate under any dependence (Benjamini & Yekutieli 2001).

    Examples
    --------
    >>> benjamini_yekutieli([0.01, 0.04]).round(3).tolist()
    [0.03, 0.06]
    """
    values = np.asarray(p, dtype=float)
    penalty = float(np.sum(1.0 / np.arange(1, len(values) + 1)))
    order = np.argsort(values, kind="stable")
    steps = values[order] * penalty * len(values) / np.arange(1, len(values) + 1)
    return _unsorted(np.minimum(np.minimum.accumulate(steps[::-1])[::-1], 1.0), order)


def e_bh(e: ArrayLike, *, alpha: float) -> list[int]:
    """Return the indices rejected by e-BH: false discovery rate under any dependence (Wang & Ramdas 2022).

    Rejects the k* largest, k* = max {k : k e_(k) / m >= 1 / alpha}.

    Examples
    --------
    >>> e_bh([100, 2, 45], alpha=0.1)
    [0, 2]
    """
    values = np.asarray(e, dtype=float)
    order = np.argsort(-values, kind="stable")
    ranks = np.arange(1, len(values) + 1)
    passing = np.flatnonzero(ranks * values[order] / len(values) >= 1 / alpha)
    return sorted(int(i) for i in order[: passing[-1] + 1]) if len(passing) else []


def mean_e(e: ArrayLike) -> float:
    """Return the average of e-values, an e-value under any dependence (Vovk & Wang 2021).

    Examples
    --------
    >>> mean_e([0.5, 40, 3, 0.1])
    10.9
    """
    return float(np.mean(np.asarray(e, dtype=float)))


def e_threshold(tests: int, *, alpha: float) -> float:
    """Return the e-value at which one of `tests` is rejected with family-wise error `alpha` (Bonferroni: m / alpha).

    Examples
    --------
    >>> e_threshold(60, alpha=0.05)
    1200.0
    """
    return tests / alpha


def composite_z(z: ArrayLike, correlation: ArrayLike) -> float:
    """Return Stouffer's sum of correlated z: sum z / sqrt(1' R 1).

    Examples
    --------
    >>> composite_z([1.0, 1.0], [[1.0, 0.0], [0.0, 1.0]]).__round__(4)
    1.4142
    """
    return float(np.sum(np.asarray(z, dtype=float)) / np.sqrt(np.asarray(correlation, dtype=float).sum()))


class AlphaSplit(NamedTuple):
    """Levels of one win's tests, and the normal bounds of a single look at them."""

    composite: float
    metric: float
    z_composite: float
    z_metric: float


def split_alpha(alpha: float, *, wins: int, metrics: int) -> AlphaSplit:
    """Return a family-wise `alpha` shared by wins: half to the composite of a win, half to its metrics.

    Examples
    --------
    >>> round(split_alpha(0.05, wins=60, metrics=4).z_metric, 3)
    3.709
    """
    composite = 0.5 * alpha / wins
    metric = composite / metrics
    return AlphaSplit(composite, metric, float(stats.norm.isf(composite)), float(stats.norm.isf(metric)))


def _sorted(p: ArrayLike) -> tuple[Floats, NDArray[np.int64]]:
    values = np.asarray(p, dtype=float)
    if np.isnan(values).any():
        raise ValueError("p-values must not be missing; give 1 to a test that could not be made")
    return values, np.argsort(values, kind="stable")


def _unsorted(values: Floats, order: NDArray[np.int64]) -> Floats:
    out = np.empty_like(values)
    out[order] = values
    return out
