"""Every threshold of a grid at once: confusion counts, the threshold of the best F1 and what it is worth elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import stats

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

DRAWS = 200
_KERNEL = (0.25, 0.5, 0.25)


class Sweep(NamedTuple):
    """Labelled sessions under each threshold of a grid."""

    grid: Floats
    flagged: Ints
    """Sessions below the threshold."""
    hits: Ints
    """Of these, the ones that did fail."""
    failed: int
    labelled: int


class BestF1(NamedTuple):
    """A threshold chosen for its F1, and how far the choice can be trusted."""

    threshold: float
    low: float
    high: float
    f1: float
    """On the labels that it was chosen on: too good."""
    corrected: float
    """The same, less what choosing added in bootstrap samples: what to expect of new sessions."""


class Band(NamedTuple):
    """Ends of an interval at every threshold."""

    low: Floats
    high: Floats


def class_cells(scores: ArrayLike, failed: ArrayLike, grid: ArrayLike) -> Ints:
    """Return how many sessions of each class (good, failed) first fall below each threshold; the last cell: never.

    Examples
    --------
    >>> class_cells([0.2, 0.5, 0.9], [True, False, False], [0.3, 0.6]).tolist()
    [[0, 1, 1], [1, 0, 0]]
    """
    thresholds = np.asarray(grid, dtype=float)
    width = len(thresholds) + 1
    place = np.searchsorted(thresholds, np.asarray(scores, dtype=float), side="right")
    flat = place + width * np.asarray(failed, dtype=np.int64)
    return np.bincount(flat, minlength=2 * width).reshape(2, width).astype(np.int64)


def sweep(scores: ArrayLike, failed: ArrayLike, grid: ArrayLike) -> Sweep:
    """Return the counts under every threshold; a session is flagged when its score is below the threshold.

    Parameters
    ----------
    scores, failed
        Score of each labelled session, and whether it did fail.
    grid
        Thresholds, sorted, each once.

    Examples
    --------
    >>> found = sweep([0.2, 0.5, 0.9], [True, False, False], [0.3, 0.6])
    >>> found.flagged.tolist(), found.hits.tolist(), found.failed
    ([1, 2], [1, 1], 1)
    """
    cells = class_cells(scores, failed, grid)
    under = cells.cumsum(axis=1)[:, :-1]
    return Sweep(np.asarray(grid, dtype=float), under.sum(axis=0), under[1], int(cells[1].sum()), int(cells.sum()))


def f1_scores(hits: ArrayLike, flagged: ArrayLike, failed: ArrayLike) -> Floats:
    """Return 2 hits / (flagged + failed), 0 where nothing was flagged and nothing failed."""
    total = np.asarray(np.asarray(flagged, dtype=float) + np.asarray(failed, dtype=float))
    out: Floats = np.zeros(total.shape)
    np.divide(2.0 * np.asarray(hits, dtype=float), total, out=out, where=total > 0)
    return out


def share_band(hits: ArrayLike, of: ArrayLike, *, confidence: float = 0.95, at_once: int = 1) -> Band:
    """Return Clopper-Pearson intervals of shares; simultaneous over `at_once` of them by Bonferroni; NaN where of = 0.

    Counts may be fractions (effective ones, where sessions come in clusters).

    Examples
    --------
    >>> [round(float(end[0]), 4) for end in share_band([14], [15])]
    [0.6805, 0.9983]
    """
    k, n = np.asarray(hits, dtype=float), np.asarray(of, dtype=float)
    tail = (1 - confidence) / (2 * at_once)
    with np.errstate(invalid="ignore"):
        low = np.where(k > 0, stats.beta.ppf(tail, np.maximum(k, 1e-9), n - k + 1), 0.0)
        high = np.where(k < n, stats.beta.ppf(1 - tail, k + 1, np.maximum(n - k, 1e-9)), 1.0)
    none = n <= 0
    return Band(np.where(none, np.nan, low), np.where(none, np.nan, high))


def f1_band(found: Sweep, *, confidence: float = 0.95, at_once: int = 1, effect: float = 1.0) -> Band:
    """Return exact intervals of F1: it is 2 J / (1 + J) of the share J of hits among all flagged or failed sessions.

    Examples
    --------
    >>> band = f1_band(sweep([0.1, 0.2, 0.8], [True, True, False], [0.5]))
    >>> round(float(band.low[0]), 3), float(band.high[0])
    (0.273, 1.0)
    """
    either = found.flagged + found.failed - found.hits
    band = share_band(found.hits / effect, either / effect, confidence=confidence, at_once=at_once)
    return Band(2 * band.low / (1 + band.low), 2 * band.high / (1 + band.high))


def resampled(cells: Ints, *, draws: int = DRAWS, seed: int = 0) -> Ints:
    """Return bootstrap samples of `class_cells`, sessions being independent: (draws, 2, thresholds + 1)."""
    flat = cells.ravel()
    rng = np.random.default_rng(seed)
    drawn = rng.multinomial(int(flat.sum()), flat / flat.sum(), size=draws)
    return np.asarray(drawn, dtype=np.int64).reshape(draws, *cells.shape)


def resampled_clusters(
    scores: ArrayLike, failed: ArrayLike, cluster: ArrayLike, grid: ArrayLike, *, draws: int = DRAWS, seed: int = 0
) -> Ints:
    """Return bootstrap samples of `class_cells` in which whole clusters are drawn."""
    width = len(np.asarray(grid)) + 1
    names, codes = np.unique(np.asarray(cluster), return_inverse=True)
    place = np.searchsorted(np.asarray(grid, dtype=float), np.asarray(scores, dtype=float), side="right")
    flat = place + width * np.asarray(failed, dtype=np.int64)
    rng, n = np.random.default_rng(seed), len(names)
    out = np.empty((draws, 2 * width), dtype=np.int64)
    for draw in range(draws):
        weight = np.bincount(rng.integers(n, size=n), minlength=n)[codes]
        out[draw] = np.bincount(flat, weights=weight, minlength=2 * width)
    return out.reshape(draws, 2, width)


def best_f1(found: Sweep, samples: Ints, *, confidence: float = 0.95) -> BestF1:
    """Return the threshold of the best F1: the middle of the plateau of the smoothed curve.

    The curve is smoothed (1/4, 1/2, 1/4); thresholds around its top that lie within `PLATEAU` bootstrap standard
    errors of the difference to the top form the plateau. The F1 is corrected for optimism (Efron & Tibshirani 1993,
    17.6): less the mean, over bootstrap samples, of what the threshold chosen in a sample has there over what it has
    in all sessions.

    Parameters
    ----------
    found
        Counts of `sweep`.
    samples
        `resampled` or `resampled_clusters` of the same sessions.
    """
    curve = f1_scores(found.hits, found.flagged, np.full(len(found.grid), found.failed))
    under = samples.cumsum(axis=2)[:, :, :-1]
    curves = f1_scores(under[:, 1], under.sum(axis=1), samples[:, 1].sum(axis=1)[:, None] + 0 * under[:, 1])
    smooth, smooths = _smoothed(curve[None])[0], _smoothed(curves)
    chosen = int(_plateau(smooth[None], smooths)[0])
    drawn = _plateau(smooths, smooths)
    optimism = float(np.mean(curves[np.arange(len(drawn)), drawn] - curve[drawn]))
    tail = 100 * (1 - confidence) / 2
    low, high = np.percentile(found.grid[drawn], [tail, 100 - tail], method="nearest")
    corrected = min(max(float(curve[chosen]) - optimism, 0.0), 1.0)
    return BestF1(float(found.grid[chosen]), float(low), float(high), float(curve[chosen]), corrected)


PLATEAU = 0.5
"""Standard errors within which a threshold counts as good as the best."""


def _smoothed(curves: Floats) -> Floats:
    padded = np.concatenate([curves[:, :1], curves, curves[:, -1:]], axis=1)
    before, here, after = _KERNEL
    return np.asarray(before * padded[:, :-2] + here * padded[:, 1:-1] + after * padded[:, 2:], dtype=float)


def _plateau(curves: Floats, samples: Floats) -> NDArray[np.intp]:
    """Return, for each curve, the middle of the run of thresholds around its top that are as good as the top."""
    top = curves.argmax(axis=1)
    rows, width = np.arange(len(curves)), curves.shape[1]
    wide = np.std(samples[:, None, :] - samples[:, :, None], axis=0)  # of the difference between two thresholds
    good = curves >= curves[rows, top][:, None] - PLATEAU * wide[top]
    places = np.arange(width)
    broken = np.where(~good, places, -1)
    left = np.where(places <= top[:, None], broken, -1).max(axis=1) + 1
    right = np.where(~good & (places >= top[:, None]), places, width).min(axis=1) - 1
    return np.asarray((left + right) // 2, dtype=np.intp)


def cheapest(found: Sweep, *, missed: float, false_alarm: float) -> tuple[float | None, float]:
    """Return the threshold of the least cost per labelled session, and that cost; None: no alarm at all is.

    Examples
    --------
    >>> cheapest(sweep([0.2, 0.5, 0.9], [True, False, False], [0.3, 0.6]), missed=6, false_alarm=1)
    (0.3, 0.0)
    """
    costs = missed * (found.failed - found.hits) + false_alarm * (found.flagged - found.hits)
    at = int(np.argmin(costs))
    nothing = missed * found.failed
    if nothing <= costs[at]:
        return None, nothing / found.labelled
    return float(found.grid[at]), float(costs[at]) / found.labelled


def lowest_precise(found: Sweep, target: float) -> float | None:
    """Return the lowest threshold with precision >= `target` on the labels and a hit: the reference's choice."""
    precision = np.divide(found.hits, found.flagged, out=np.zeros(len(found.grid)), where=found.flagged > 0)
    passing = np.flatnonzero((precision >= target) & (found.hits > 0))
    return float(found.grid[passing[0]]) if len(passing) else None
