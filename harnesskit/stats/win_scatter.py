"""How the control runs of protected wins scatter: as they are, clipped about medians, and whether runs collapse."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from harnesskit.stats.noise import MIN_SD, robust_sd

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

CLIP = 3.0
"""Robust standard deviations at which runs are clipped about the median of their win's control runs."""
CLIP_COLLAPSE = 2.0
"""The same where runs collapse."""
COLLAPSE_SHARE = 0.03
"""Share of runs 3 robust standard deviations low from which runs are said to collapse; Gaussian ones reach .02."""
ASSUMED_CORRELATION = 0.5
"""Correlation of two metrics within a run that is assumed."""
CORRELATION_DF = 30.0
"""Degrees of freedom that it counts for beside the bank's."""


class Scatter(NamedTuple):
    """W wins, K metrics; wins without two runs of a metric tell nothing of it."""

    clipped: Floats
    """(W, R, K): the runs, clipped."""
    centre: Floats
    """(W, K): median of the win's runs; NaN without any."""
    reach: Floats
    """(K,): farthest from it that a run is taken to lie."""
    sd: Floats
    """(K,): standard deviation of one run, pooled within wins."""
    clipped_sd: Floats
    """(K,): the same of clipped runs."""
    win_s2: Floats
    """(W, K): variance of clipped runs of each win."""
    win_df: Floats
    """(W, K)."""
    correlation: Floats
    """(K, K): of clipped runs within wins, drawn towards the assumed one."""
    low_share: float
    """Share of scores more than 3 robust standard deviations below the median."""

    @property
    def collapses(self) -> bool:
        """Whether runs collapse now and then, rule or no rule."""
        return self.low_share > COLLAPSE_SHARE


def win_scatter(runs: Floats) -> Scatter:
    """Return how the runs of each win scatter.

    The robust standard deviation is IQR / 1.349 of the residuals about the win's mean, times sqrt(m / (m - 1)).

    Parameters
    ----------
    runs
        (W, R, K) control runs; NaN where there is none.

    Examples
    --------
    >>> runs = np.random.default_rng(1).normal(0.8, 0.1, size=(40, 5, 2))
    >>> found = win_scatter(runs)
    >>> found.sd.round(2).tolist(), found.reach.round(2).tolist(), found.collapses
    ([0.09, 0.09], [0.25, 0.26], False)
    """
    seen = np.isfinite(runs)
    count = seen.sum(axis=1)
    centre = _medians(runs, count)
    away = _residuals(runs) * np.sqrt(count / np.maximum(count - 1, 1))[:, None, :]
    robust = np.array([_robust(away[:, :, j]) for j in range(runs.shape[2])])
    low = runs - centre[:, None, :] < -CLIP * robust
    low_share = float(low[seen].mean()) if seen.any() else 0.0
    reach = (CLIP_COLLAPSE if low_share > COLLAPSE_SHARE else CLIP) * robust
    clipped = np.clip(runs, (centre - reach)[:, None, :], (centre + reach)[:, None, :])
    free = np.maximum(count - 1, 0).astype(float)
    total = np.maximum(free.sum(axis=0), 1.0)
    within = np.where(seen, _residuals(clipped), 0.0)
    own, squares = (np.square(part).sum(axis=1) for part in (np.where(seen, _residuals(runs), 0.0), within))
    return Scatter(
        clipped, centre, reach, np.maximum(np.sqrt(own.sum(axis=0) / total), MIN_SD),
        np.maximum(np.sqrt(squares.sum(axis=0) / total), MIN_SD), squares / np.maximum(free, 1.0), free,
        _correlation(within, float(free.min(axis=1).sum())), low_share,
    )  # fmt: skip


def assumed_correlation(k: int) -> Floats:
    """Return the correlation of K metrics where nothing tells it: .5 between any two.

    Examples
    --------
    >>> assumed_correlation(2).tolist()
    [[1.0, 0.5], [0.5, 1.0]]
    """
    return np.full((k, k), ASSUMED_CORRELATION) + (1 - ASSUMED_CORRELATION) * np.eye(k)


def _correlation(within: Floats, df: float) -> Floats:
    joint = np.einsum("wrk,wrl->kl", within, within)
    scale = np.sqrt(np.maximum(np.diag(joint), 1e-12))
    found, assumed = joint / np.outer(scale, scale), assumed_correlation(len(scale))
    both = np.outer(np.diag(joint) > 1e-12, np.diag(joint) > 1e-12)
    drawn = (df * np.where(both, found, assumed) + CORRELATION_DF * assumed) / (df + CORRELATION_DF)
    np.fill_diagonal(drawn, 1.0)
    return np.asarray(drawn, dtype=float)


def _medians(runs: Floats, count: NDArray[np.int64]) -> Floats:
    if not runs.shape[1]:
        return np.full(count.shape, np.nan)
    ordered = np.sort(np.where(np.isfinite(runs), runs, np.inf), axis=1)
    places = (np.maximum((count - 1) // 2, 0), np.minimum(count // 2, runs.shape[1] - 1))
    low, high = (np.take_along_axis(ordered, at[:, None, :], axis=1)[:, 0] for at in places)
    return np.where(count > 0, (low + high) / 2, np.nan)


def _residuals(runs: Floats) -> Floats:
    seen = np.isfinite(runs)
    mean = np.where(seen, runs, 0.0).sum(axis=1) / np.maximum(seen.sum(axis=1), 1)
    return np.asarray(runs - mean[:, None, :], dtype=float)


def _robust(away: Floats) -> float:
    known = away[np.isfinite(away)]
    return robust_sd(known) if len(known) else MIN_SD
