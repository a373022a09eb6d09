"""Do raters agree? Agreement, kappa, AC1 and Krippendorff's alpha of labels; intra-class correlations of scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from harnesskit.stats.intervals import Interval

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

Level = Literal["nominal", "ordinal", "interval"]


class Agreement(NamedTuple):
    """Agreement of two raters on the same items, plain and beyond chance; NaN where chance explains everything."""

    agreement: float
    ac1: float
    """Gwet (2008): stays meaningful when nearly all items have the same label."""
    kappa: float
    """Cohen (1960): collapses then."""
    n: int


def label_table(first: ArrayLike, second: ArrayLike) -> NDArray[np.int64]:
    """Return the counts of label pairs, labels in sorted order; items that one rater left out are not counted.

    Examples
    --------
    >>> label_table([0, 1, 1, float("nan")], [0, 1, 0, 1]).tolist()
    [[1, 0], [1, 1]]
    """
    a, b = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    both = ~(np.isnan(a) | np.isnan(b))
    labels, codes = np.unique(np.concatenate([a[both], b[both]]), return_inverse=True)
    size, n = len(labels), int(both.sum())
    counts = np.bincount(codes[:n] * size + codes[n:], minlength=size * size)
    return np.asarray(counts.reshape(size, size), dtype=np.int64)


def agreement(table: ArrayLike) -> Agreement:
    """Return agreement, AC1 and kappa of a square table of counts, first rater down, second across.

    Chance agreement is sum p_i q_i for kappa and sum pi_i (1 - pi_i) / (K - 1), pi the mean of both margins, for AC1.

    Raises
    ------
    ValueError
        If the table is not square.

    Examples
    --------
    >>> [round(x, 3) for x in agreement([[118, 5], [2, 0]])]
    [0.944, 0.941, -0.023, 125]
    """
    counts = np.atleast_2d(np.asarray(table, dtype=float))
    if counts.shape[0] != counts.shape[1]:
        raise ValueError(f"a table of agreement is square, found {counts.shape[0]} by {counts.shape[1]}")
    n, labels = float(counts.sum()), len(counts)
    if not n:
        return Agreement(float("nan"), float("nan"), float("nan"), 0)
    p, q = counts.sum(axis=1) / n, counts.sum(axis=0) / n
    seen, shared = float(np.trace(counts)) / n, (p + q) / 2
    by_chance = float((shared * (1 - shared)).sum()) / (labels - 1) if labels > 1 else 0.0
    return Agreement(seen, _beyond(seen, by_chance), _beyond(seen, float((p * q).sum())), int(n))


def krippendorff(ratings: ArrayLike, *, level: Level = "nominal") -> float:
    """Return Krippendorff's alpha of two or more raters, missing ratings (NaN) allowed (Krippendorff 2011).

    1 - observed / expected disagreement over the coincidences of values within an item; NaN when fewer than two
    values occur among items with at least two ratings.

    Parameters
    ----------
    ratings
        One row per rater, one column per item.
    level
        What a distance between values means: any difference (nominal), ranks (ordinal), or squares (interval).

    Examples
    --------
    >>> nan = float("nan")
    >>> round(krippendorff([[1, 2, 3, 3, nan], [1, 2, 3, 2, 1], [1, 2, 3, 3, 1]]), 3)
    0.8
    """
    data = np.atleast_2d(np.asarray(ratings, dtype=float))
    values = np.unique(data[~np.isnan(data)])
    counts = (data[:, :, None] == values).sum(axis=0).astype(float)  # item x value
    per_item = counts.sum(axis=1)
    counts, per_item = counts[per_item > 1], per_item[per_item > 1]
    coincidence = (counts / (per_item - 1)[:, None]).T @ counts
    coincidence[np.diag_indices(len(values))] -= (counts / (per_item - 1)[:, None]).sum(axis=0)
    margin = coincidence.sum(axis=0)
    n = float(margin.sum())
    distance = _distances(values, margin, level)
    expected = float((np.outer(margin, margin) * distance).sum())
    if expected <= 0:
        return float("nan")
    return 1 - (n - 1) * float((coincidence * distance).sum()) / expected


class IntraClass(NamedTuple):
    """Intra-class correlations: of one rating, and (``k``) of the mean of all raters (Shrout & Fleiss 1979)."""

    icc1: float
    """Every item rated by other raters: absolute agreement."""
    icc2: float
    """The same raters, drawn from many: absolute agreement."""
    icc3: float
    """These raters only: consistency, their levels may differ."""
    icc1k: float
    icc2k: float
    icc3k: float


def intra_class(ratings: ArrayLike) -> IntraClass:
    """Return the six intra-class correlations of a complete table, one row per item and one column per rater.

    From the mean squares of the two-way analysis of variance; NaN when the items do not differ at all.

    Raises
    ------
    ValueError
        If a rating is missing, or there are fewer than two items or raters.

    Examples
    --------
    >>> found = intra_class([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6]])
    >>> round(found.icc1, 3), round(found.icc2, 3), round(found.icc3, 3)
    (0.134, 0.261, 0.637)
    """
    x = np.atleast_2d(np.asarray(ratings, dtype=float))
    n, k = x.shape
    if n < 2 or k < 2 or np.isnan(x).any():
        raise ValueError("intra-class correlations need two items and two raters at least, and no missing rating")
    rows, columns, mean = x.mean(axis=1), x.mean(axis=0), x.mean()
    items = k * float(((rows - mean) ** 2).sum()) / (n - 1)
    raters = n * float(((columns - mean) ** 2).sum()) / (k - 1)
    within = float(((x - rows[:, None]) ** 2).sum()) / (n * (k - 1))
    error = float(((x - rows[:, None] - columns + mean) ** 2).sum()) / ((n - 1) * (k - 1))
    return IntraClass(
        _ratio(items - within, items + (k - 1) * within),
        _ratio(items - error, items + (k - 1) * error + k * (raters - error) / n),
        _ratio(items - error, items + (k - 1) * error),
        _ratio(items - within, items),
        _ratio(items - error, items + (raters - error) / n),
        _ratio(items - error, items),
    )


def group_icc(values: ArrayLike, group: ArrayLike) -> float:
    """Return the correlation of two values of the same group (traces of a session), groups of any size, at least 0.

    One-way analysis of variance: (between - within) / (between + (n0 - 1) within), n0 the mean size corrected for
    unequal ones (Donner 1986). NaN without two groups and one group of two.

    Examples
    --------
    >>> round(group_icc([1.0, 1.1, 0.2, 0.3, 0.4], [0, 0, 1, 1, 1]), 3)
    0.971
    """
    x = np.asarray(values, dtype=float)
    codes = np.unique(np.asarray(group), return_inverse=True)[1]
    size = np.bincount(codes).astype(float)
    n, groups = len(x), len(size)
    if groups < 2 or n == groups:
        return float("nan")
    means = np.bincount(codes, x) / size
    between = float((size * (means - x.mean()) ** 2).sum()) / (groups - 1)
    within = float(((x - means[codes]) ** 2).sum()) / (n - groups)
    typical = (n - float((size**2).sum()) / n) / (groups - 1)
    return max(0.0, _ratio(between - within, between + (typical - 1) * within))


def bootstrap_interval(
    items: ArrayLike,
    statistic: Callable[[Floats], float],
    *,
    cluster: ArrayLike | None = None,
    confidence: float = 0.95,
    draws: int = 2000,
    seed: int = 0,
) -> Interval:
    """Return the percentile bootstrap interval of a statistic of items, whole clusters (sessions) drawn together.

    Draws on which the statistic is NaN are left out; NaN ends below 20 clusters, where the interval does not cover.

    Parameters
    ----------
    items
        One row per item (its ratings, for example).
    statistic
        Takes the drawn rows, returns a number.
    cluster
        Session or user of each item; every item its own by default.

    Examples
    --------
    >>> rows = [[0, 0], [1, 1], [1, 0], [1, 1]] * 10
    >>> bootstrap_interval(rows, lambda r: float((r[:, 0] == r[:, 1]).mean()), draws=500)
    Interval(low=0.6, high=0.875)
    """
    rows = np.asarray(items, dtype=float)
    codes = np.arange(len(rows)) if cluster is None else np.unique(np.asarray(cluster), return_inverse=True)[1]
    members = np.split(np.argsort(codes, kind="stable"), np.cumsum(np.bincount(codes))[:-1]) if len(rows) else []
    if len(members) < 20:
        return Interval(float("nan"), float("nan"))
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(draws):
        drawn = rng.integers(len(members), size=len(members))
        found.append(statistic(rows[np.concatenate([members[i] for i in drawn])]))
    usable = np.array([value for value in found if not np.isnan(value)])
    if not len(usable):
        return Interval(float("nan"), float("nan"))
    low, high = np.quantile(usable, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(float(low), float(high))


def _distances(values: Floats, margin: Floats, level: Level) -> Floats:
    if level == "nominal":
        return 1.0 - np.eye(len(values))
    if level == "ordinal":
        middle = np.cumsum(margin) - margin / 2  # sum from c to k minus half of both ends
        return np.asarray((middle[:, None] - middle) ** 2, dtype=float)
    if level != "interval":
        raise ValueError(f"level must be nominal, ordinal or interval, found {level!r}")
    return np.asarray((values[:, None] - values) ** 2, dtype=float)


def _beyond(seen: float, by_chance: float) -> float:
    return (seen - by_chance) / (1 - by_chance) if by_chance < 1 else float("nan")


def _ratio(top: float, bottom: float) -> float:
    return top / bottom if bottom > 0 else float("nan")
