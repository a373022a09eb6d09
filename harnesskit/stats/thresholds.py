"""Alarm thresholds whose precision is guaranteed, and how often noise alone carries a session over one."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import stats

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Ints = NDArray[np.int64]

DELTA = 0.10


class Certified(NamedTuple):
    """A threshold with its evidence; `threshold` is None when none could be certified."""

    threshold: float | None
    flagged: int
    """Labelled sessions below it (below the first one tested when none was certified)."""
    hits: int
    """Of these, the ones that did fail."""
    p: float
    recall: float
    """Share of the failed sessions that it flags, on the same labels."""
    more_labels: int | None
    """About how many more labelled sessions the nearest threshold needs, precision and share flagged staying as they
    are: 0 when one was found, None when the precision seen is too low everywhere or nothing was flagged."""


def precision_p(hits: int, flagged: int, target: float) -> float:
    """Return the p-value of "the precision is at most `target`": P(Bin(flagged, target) >= hits); 1 for none flagged.

    Examples
    --------
    >>> round(precision_p(14, 15, 0.8), 4)
    0.1671
    """
    return float(stats.binom.sf(hits - 1, flagged, target)) if flagged else 1.0


def certifiable_count(target: float, *, delta: float = DELTA) -> int:
    """Return the fewest flagged sessions, all correct, that certify a precision: ceil(ln delta / ln target).

    Examples
    --------
    >>> [certifiable_count(target) for target in (0.8, 0.9, 0.95)]
    [11, 22, 45]
    """
    if not (0 < target < 1 and 0 < delta < 1):
        raise ValueError(f"target and delta must be between 0 and 1, found {target} and {delta}")
    return math.ceil(math.log(delta) / math.log(target) - 1e-12)


def certify_precision(
    scores: ArrayLike, failed: ArrayLike, grid: ArrayLike, *, target: float, delta: float = DELTA
) -> Certified:
    """Return the highest threshold of a fixed sequence whose precision is above `target`, wrong with chance <= `delta`.

    Learn then Test (Angelopoulos, Bates, Candes, Jordan & Lei 2021): from the lowest threshold that flags enough
    labelled sessions to certify anything (chosen without labels) upward while `precision_p` <= `delta`; the last
    that passed has the best recall. A session is flagged when its score is below the threshold.

    Parameters
    ----------
    scores, failed
        Score of each labelled session, and whether it did fail.
    grid
        Thresholds to try, at least one, fixed beforehand.

    Raises
    ------
    ValueError
        If a score is missing, or the labels are not one per score.

    Examples
    --------
    >>> scores = [i / 100 for i in range(100)]
    >>> found = certify_precision(scores, [s < 0.45 for s in scores], [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], target=0.8)
    >>> found.threshold, found.flagged, found.hits, round(found.recall, 2)
    (0.5, 50, 45, 1.0)
    """
    x, bad = np.asarray(scores, dtype=float), np.asarray(failed, dtype=bool)
    thresholds = np.unique(np.asarray(grid, dtype=float))
    if np.isnan(x).any() or len(bad) != len(x):
        raise ValueError("a threshold needs a score and a label of every session; leave out the others, and count them")
    under = x[:, None] < thresholds
    return certify_counts(
        under.sum(axis=0), (under & bad[:, None]).sum(axis=0), thresholds,
        failed=float(bad.sum()), labelled=len(x), target=target, delta=delta,
    )  # fmt: skip


def certify_counts(
    flagged: ArrayLike,
    hits: ArrayLike,
    grid: ArrayLike,
    *,
    failed: float,
    labelled: float,
    target: float,
    delta: float = DELTA,
    effect: float = 1.0,
) -> Certified:
    """Do the same as `certify_precision` from the counts under every threshold of a sorted grid.

    Parameters
    ----------
    flagged, hits
        Labelled sessions below each threshold, and the failed ones of these.
    failed, labelled
        Failed sessions, and all labelled ones.
    effect
        Design effect of clusters, at least 1: the test uses counts divided by it, rounded against the alarm.

    Examples
    --------
    >>> certify_counts([10, 30], [10, 29], [0.2, 0.4], failed=40, labelled=100, target=0.8).threshold
    0.4
    """
    thresholds = np.asarray(grid, dtype=float)
    flagged, hits = np.asarray(flagged, dtype=np.int64), np.asarray(hits, dtype=np.int64)
    count = np.floor(flagged / effect + 1e-9)
    right = np.maximum(count - np.ceil((flagged - hits) / effect - 1e-9), 0)
    p = np.where(count > 0, stats.binom.sf(right - 1, count, target), 1.0)
    start = _first_tested(count, certifiable_count(target, delta=delta), labelled / effect)
    failing = np.flatnonzero(p[start:] > delta)
    last = start + (int(failing[0]) if len(failing) else len(p) - start) - 1
    found = last >= start
    at = last if found else min(start, len(thresholds) - 1)
    recall = float(hits[at] / failed) if found and failed else float("nan")
    more = 0 if found else _labels_needed(hits, flagged, int(labelled), target, delta)
    threshold = float(thresholds[at]) if found else None
    return Certified(threshold, int(flagged[at]), int(hits[at]), float(p[at]), recall, more)


def _first_tested(count: NDArray[np.float64], fewest: int, labelled: float) -> int:
    """Return the place of the first threshold tested, chosen without labels.

    A tenth of the labelled sessions, at least the fewest that can certify and at most half as many again: a test of
    the fewest fails at one wrong alarm, and ends the sequence early (simulated: recall .39 against .45 at 160 labels).
    Where the grid jumps over that count, the fewest.
    """
    wanted = min(max(fewest, labelled / 10), 1.5 * fewest)
    start = int(np.searchsorted(count, wanted))
    jumped = start >= len(count) or count[start] > 2 * wanted
    return int(np.searchsorted(count, fewest)) if jumped else start


def flagged_needed(hits: int, flagged: int, target: float, *, delta: float = DELTA, most: int = 10_000) -> int | None:
    """Return how many flagged sessions certify the precision, hits coming at the share seen; None beyond `most`.

    Examples
    --------
    >>> flagged_needed(14, 15, 0.8), flagged_needed(0, 0, 0.8), flagged_needed(7, 10, 0.8)
    (25, 11, None)
    """
    share = hits / flagged if flagged else 1.0
    if share <= target:
        return None
    low, high = certifiable_count(target, delta=delta), most
    n = np.arange(low, high + 1)
    passing = np.flatnonzero(stats.binom.sf(np.floor(share * n + 1e-9) - 1, n, target) <= delta)
    return int(n[passing[0]]) if len(passing) else None


def flip_rate(scores: ArrayLike, threshold: float, *, sd: float) -> float:
    """Return how often judging a session twice gives two verdicts: mean of 2 q (1 - q), q = Phi((threshold - x) / sd).

    Above .15 judge several times, or leave a band of one `sd` on both sides without a verdict.

    Examples
    --------
    >>> round(flip_rate([0.5, 0.7, 0.9], 0.6, sd=0.1), 3)
    0.179
    """
    if not sd > 0:
        raise ValueError(f"the noise of one score must be above 0, found {sd}")
    q = stats.norm.cdf((threshold - np.asarray(scores, dtype=float)) / sd)
    return float(np.mean(2 * q * (1 - q)))


def _labels_needed(hits: Ints, flagged: Ints, labels: int, target: float, delta: float) -> int | None:
    """Return the fewest further labels at which some threshold certifies, precision and share flagged as seen."""
    wanted = []
    for right, count in zip(hits.tolist(), flagged.tolist(), strict=True):
        needed = flagged_needed(right, count, target, delta=delta) if count else None
        if needed is not None:
            wanted.append(math.ceil(max(needed - count, 1) * labels / count))
    return min(wanted) if wanted else None
