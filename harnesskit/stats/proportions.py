"""Proportions beyond one exact interval: of clustered units, of a difference, and of what two groups say together."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

from harnesskit.stats.intervals import Interval, clopper_pearson, clustered_se, wilson

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def newcombe(first: tuple[int, int], second: tuple[int, int], *, confidence: float = 0.95) -> Interval:
    """Return the hybrid score interval of p1 - p2 (Newcombe 1998, method 10); each side is (count, total).

    Examples
    --------
    >>> [round(end, 4) for end in newcombe((11, 20), (3, 20))]
    [0.1042, 0.6152]
    """
    (k1, n1), (k2, n2) = first, second
    p1, p2 = k1 / n1, k2 / n2
    one, two = wilson(k1, n1, confidence=confidence), wilson(k2, n2, confidence=confidence)
    low = p1 - p2 - math.hypot(p1 - one.low, two.high - p2)
    high = p1 - p2 + math.hypot(one.high - p1, p2 - two.low)
    return Interval(low, high)


def clustered_proportion(hits: ArrayLike, cluster: ArrayLike | None = None, *, confidence: float = 0.95) -> Interval:
    """Return the exact interval of a share of units, on the effective number of units where clusters group them.

    Clopper & Pearson (1934) with counts divided by the design effect CR1^2 / (p (1 - p) / n), at least 1 (Korn &
    Graubard 1998). When all units agree within and between clusters the effective number is that of the clusters.

    Parameters
    ----------
    hits
        True or false, one per unit, at least one.
    cluster
        Group of each unit; groups of one are the same as none.

    Examples
    --------
    >>> [round(end, 3) for end in clustered_proportion([1] * 14 + [0])]
    [0.681, 0.998]
    >>> [round(end, 3) for end in clustered_proportion([1] * 20, [0, 1, 2, 3] * 5)]
    [0.398, 1.0]
    """
    x = np.asarray(hits, dtype=float)
    n, k = len(x), float(x.sum())
    groups = n if cluster is None else len(np.unique(np.asarray(cluster)))
    if cluster is None or groups == n:
        return clopper_pearson(round(k), n, confidence=confidence)
    share = k / n
    plain = share * (1 - share) / n
    if plain == 0 or groups < 2:
        effective = float(groups)
    else:
        effective = n / max(1.0, clustered_se(x, np.asarray(cluster)).cr1 ** 2 / plain)
    tail = (1 - confidence) / 2
    right, wrong = share * effective, (1 - share) * effective
    low = 0.0 if right == 0 else float(stats.beta.ppf(tail, right, wrong + 1))
    high = 1.0 if wrong == 0 else float(stats.beta.ppf(1 - tail, right + 1, wrong))
    return Interval(low, high)


def recall_by_strata(alarm_rate: float, precision: Interval, missed: Interval) -> Interval:
    """Return bounds of recall from the two groups that an alarm makes: for labels that were chosen by the alarm.

    Recall = a p / (a p + (1 - a) m), a the share of sessions with an alarm, p the share of failures among these, m
    that among the silent ones. It rises in p and falls in m, so bounds of both at 1 - alpha/2 give one at 1 - alpha.

    Examples
    --------
    >>> bounds = recall_by_strata(0.1, Interval(0.8, 0.95), Interval(0.0, 0.02))
    >>> round(bounds.low, 3), bounds.high
    (0.816, 1.0)
    """

    def recall(found: float, lost: float) -> float:
        caught, left = alarm_rate * found, (1 - alarm_rate) * lost
        return caught / (caught + left) if caught + left > 0 else 0.0

    return Interval(recall(precision.low, missed.high), recall(precision.high, missed.low))


def units_for_lower(share: float, bar: float, *, confidence: float = 0.95, most: int = 5000) -> int | None:
    """Return how many units bring the lower Clopper-Pearson bound to `bar`, hits coming at `share`; None beyond `most`.

    Examples
    --------
    >>> units_for_lower(1.0, 0.8), units_for_lower(0.9, 0.8), units_for_lower(0.8, 0.8)
    (17, 69, None)
    """
    if share <= bar:
        return None
    n = np.arange(1, most + 1)
    k = np.floor(share * n + 1e-9)
    with np.errstate(invalid="ignore"):
        low = np.where(k > 0, stats.beta.ppf((1 - confidence) / 2, np.maximum(k, 1), n - k + 1), 0.0)
    reached = np.flatnonzero(low >= bar)
    return int(n[reached[0]]) if len(reached) else None
