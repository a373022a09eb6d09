"""Agreement of any number of raters on nominal labels, with labels missing: items are rows, raters are columns."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from harnesskit.stats.reliability import agreement, label_table

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]


def label_counts(ratings: ArrayLike, labels: ArrayLike) -> Floats:
    """Return how many raters gave each item each label: one row per item, one column per label.

    Examples
    --------
    >>> label_counts([[0, 1, 1], [1, float("nan"), 1]], [0, 1]).tolist()
    [[1.0, 2.0], [0.0, 2.0]]
    """
    data = np.atleast_2d(np.asarray(ratings, dtype=float))
    return np.asarray((data[:, :, None] == np.asarray(labels, dtype=float)).sum(axis=1), dtype=float)


def observed_agreement(ratings: ArrayLike, labels: ArrayLike) -> float:
    """Return the share of agreeing pairs of raters, averaged over the items that two or more rated; NaN without one.

    Examples
    --------
    >>> observed_agreement([[0, 0, 1], [1, 1, 1]], [0, 1])
    0.6666666666666666
    """
    counts = label_counts(ratings, labels)
    n = counts.sum(axis=1)
    counts, n = counts[n > 1], n[n > 1]
    if not len(n):
        return float("nan")
    return float(((counts * (counts - 1)).sum(axis=1) / (n * (n - 1))).mean())


def gwet_ac1(ratings: ArrayLike, labels: ArrayLike) -> float:
    """Return Gwet's AC1 of any number of raters (Gwet 2008; with missing labels: Gwet 2014).

    (observed - chance) / (1 - chance), chance = sum pi (1 - pi) / (K - 1), pi the mean share of a label over all items
    that anybody rated. NaN without an item that two rated, or with a single label to choose from.

    Examples
    --------
    >>> round(gwet_ac1([[0, 0]] * 118 + [[0, 1]] * 5 + [[1, 0]] * 2, [0, 1]), 3)
    0.941
    """
    counts = label_counts(ratings, labels)
    n, size = counts.sum(axis=1), counts.shape[1]
    if size < 2 or not (n > 1).any():
        return float("nan")
    share = (counts[n > 0] / n[n > 0, None]).mean(axis=0)
    chance = float((share * (1 - share)).sum()) / (size - 1)
    return float((observed_agreement(ratings, labels) - chance) / (1 - chance))


def mean_kappa(ratings: ArrayLike) -> float:
    """Return Cohen's kappa; of more than two raters the mean over their pairs (Light 1971).

    Pairs without a common item, or with one label only, have no kappa and are left out; NaN when none is left.

    Examples
    --------
    >>> round(mean_kappa([[0, 0]] * 118 + [[0, 1]] * 5 + [[1, 0]] * 2), 3)
    -0.023
    """
    data = np.atleast_2d(np.asarray(ratings, dtype=float))
    found = []
    for a, b in combinations(range(data.shape[1]), 2):
        table = label_table(data[:, a], data[:, b])
        if table.sum():
            found.append(agreement(table).kappa)
    known = [kappa for kappa in found if not np.isnan(kappa)]
    return float(np.mean(known)) if known else float("nan")
