"""Directions in which the metrics of a case may fall together, and the noise of each: from control runs only.

A direction is a set of metrics. Its score is the generalised least squares combination of a run's metrics that is most
sensitive to an equal fall of these metrics, the noise that all metrics of a run share being regressed out.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from harnesskit.stats.case_noise import CaseNoise, fit_case_noise, no_case_noise
from harnesskit.stats.cells import cell_counts, cell_means, cell_medians, cell_variances
from harnesskit.stats.noise import ASSUMED_SD, COLD_DF, COLD_PRIOR_DF, MIN_SD, fit_prior

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Flags = NDArray[np.bool_]

SHARES = (0.45, 0.30, 0.15, 0.10)
"""Error shares: all metrics together, single metrics, pairs, triples (each class in total)."""
MOST_FOR_ALL = 4
"""Metrics up to which every subset is a direction; with more only the full set, singles and pairs are."""
CLIP_RESIDUALS = 2.5
CLIP_SCORES = 3.0
COLLAPSED = 0.02
"""Share of the control runs out of reach above which scores are clipped: some runs collapse then."""
COLLAPSING = 0.05
"""Share of clipped control runs above which the noise of a case is not told by its other metrics: they fall as one."""
FEW_DF = 30


class Directions(NamedTuple):
    """Directions of K metrics; S of them, the full set first."""

    subsets: Flags
    """(S, K): the metrics of each direction."""
    weights: Floats
    """(S, K): score of a run = weights @ metrics; standard deviation about 1."""
    share: Floats
    """(S,): share of the error."""
    s2: Floats
    """(S,): prior variance of the score of one run."""
    df: Floats
    """(S,): degrees of freedom that the prior is worth."""
    reach: Floats
    """(S,): scores further than this from the centre of their case are clipped."""
    raw_s2: Floats
    """(S,): variance of the plain mean of the direction's metrics in one run."""
    raw_df: Floats
    """(S,): degrees of freedom that this variance is worth as a prior."""
    case: CaseNoise
    """What the other metrics of a case say about the variance of each direction."""

    @property
    def gain(self) -> Floats:
        """Change of the score when each metric of the direction changes by 1."""
        return np.asarray((self.subsets * self.weights).sum(axis=1), dtype=float)


def metric_subsets(k: int) -> Flags:
    """Return the directions of `k` metrics: the full set, singles, pairs, triples (up to four metrics all subsets).

    Examples
    --------
    >>> len(metric_subsets(1)), len(metric_subsets(2)), len(metric_subsets(4)), len(metric_subsets(6))
    (1, 3, 15, 22)
    """
    sizes = [size for size in (1, 2, 3) if size < k and (size < 3 or k <= MOST_FOR_ALL)]
    chosen = [tuple(range(k)), *(one for size in sizes for one in combinations(range(k), size))]
    subsets = np.zeros((len(chosen), k), dtype=bool)
    for row, members in enumerate(chosen):
        subsets[row, list(members)] = True
    return subsets


def class_shares(subsets: Flags, shares: tuple[float, ...] = SHARES) -> Floats:
    """Return each direction's share of the error: shares of classes that are there, made to add up to 1.

    Examples
    --------
    >>> class_shares(metric_subsets(2)).round(3).tolist()
    [0.6, 0.2, 0.2]
    """
    size = subsets.sum(axis=1)
    kind = np.where(size == subsets.shape[1], 0, size)
    weight = np.array([shares[min(one, len(shares) - 1)] / np.count_nonzero(kind == one) for one in kind])
    return np.asarray(weight / weight.sum(), dtype=float)


def run_residuals(values: Floats, case: Ints, n_cases: int) -> Floats:
    """Return the runs minus the mean of their case, widened to the size of single deviations; cases of one left out."""
    count = cell_counts(case, n_cases)
    use = count[case] > 1
    means = np.column_stack([cell_means(column, case, n_cases) for column in values.T])
    m = count[case[use]][:, None]
    return np.asarray((values[use] - means[case[use]]) * np.sqrt(m / (m - 1)), dtype=float)


def robust_scale(residuals: Floats, floor: ArrayLike) -> Floats:
    """Return the interquartile range over 1.349 of each column, at least `floor`; `floor` where there are none."""
    least = np.asarray(floor, dtype=float)
    if not len(residuals):
        return np.broadcast_to(least, (residuals.shape[1],)).astype(float)
    low, high = np.quantile(residuals, [0.25, 0.75], axis=0)
    return np.asarray(np.maximum(least, (high - low) / 1.349), dtype=float)


def robust_correlation(residuals: Floats, scale: Floats, df: float) -> Floats:
    """Return the correlation of metrics within runs, from residuals clipped to 2.5 robust standard deviations.

    A ridge of 1e-6 keeps it regular when metrics do not vary or copy each other; below 30 degrees of freedom a fifth of
    the identity is mixed in.
    """
    k = len(scale)
    clipped = np.clip(residuals / scale, -CLIP_RESIDUALS, CLIP_RESIDUALS)
    cross = clipped.T @ clipped / max(len(clipped), 1) + 1e-6 * np.eye(k)
    size = np.sqrt(np.diag(cross))
    found = cross / np.outer(size, size) + 1e-6 * np.eye(k)
    return np.asarray(0.8 * found + 0.2 * np.eye(k) if df < FEW_DF else found, dtype=float)


def gls_weights(correlation: Floats, scale: Floats, subsets: Flags) -> Floats:
    """Return w_S = R^-1 e_S / sqrt(e_S' R^-1 e_S), over the scale of each metric (Aitken 1935; O'Brien 1984)."""
    inverse = np.linalg.inv(correlation)
    raw = subsets @ inverse
    size = np.sqrt(np.maximum(np.einsum("sk,sk->s", raw, subsets.astype(float)), 1e-12))
    return np.asarray(raw / size[:, None] / scale, dtype=float)


def fit_directions(
    values: ArrayLike, case: ArrayLike, *, shares: tuple[float, ...] = SHARES, subsets: Flags | None = None
) -> Directions:
    """Return the directions and their noise from control runs.

    Parameters
    ----------
    values
        (runs, K): scores on the common scale, higher better, none missing.
    case
        (runs,): the case of each run, from 0.
    shares
        Error shares of the classes full set, singles, pairs, triples.
    subsets
        Directions; `metric_subsets` of K when None.

    Examples
    --------
    >>> bank = np.random.default_rng(1).normal(0.8, 0.1, size=(100, 2))
    >>> found = fit_directions(bank, np.repeat(np.arange(20), 5))
    >>> found.subsets.astype(int).tolist(), found.s2.round(1).tolist()
    ([[1, 1], [1, 0], [0, 1]], [1.4, 1.3, 1.5])
    """
    runs, of = np.asarray(values, dtype=float), np.asarray(case, dtype=np.int64)
    n_cases = int(of.max(initial=-1)) + 1
    members = metric_subsets(runs.shape[1]) if subsets is None else subsets
    df = float(np.maximum(cell_counts(of, n_cases) - 1, 0).sum())
    residuals = run_residuals(runs, of, n_cases)
    scale = robust_scale(residuals, MIN_SD)
    correlation = robust_correlation(residuals, scale, df)
    found = measured(runs, of, gls_weights(correlation, scale, members), members, class_shares(members, shares))
    scores, far = clipped_scores(runs, of, found.weights, found.reach)
    if len(members) < 2 or far[0] > COLLAPSING:
        return found
    floor = MIN_SD**2 * (found.weights**2).sum(axis=1)
    return found._replace(case=fit_case_noise(runs, of, scores, correlation, scale, floor=floor, alone=found.df))


def clipped_scores(runs: Floats, case: Ints, weights: Floats, reach: Floats) -> tuple[Floats, Floats]:
    """Return the scores of control runs, clipped around the median of their case, and the share of clipped ones."""
    scores = runs @ weights.T
    n_cases = int(case.max(initial=-1)) + 1
    centre = np.column_stack([cell_medians(column, case, n_cases) for column in scores.T])[case]
    limited = np.clip(scores, centre - reach, centre + reach)
    return limited, np.asarray((limited != scores).mean(axis=0), dtype=float)


def measured(runs: Floats, case: Ints, weights: Floats, subsets: Flags, share: Floats) -> Directions:
    """Return directions of given weights with the noise of their scores in control runs."""
    n_cases = int(case.max(initial=-1)) + 1
    floor = MIN_SD * np.sqrt((weights**2).sum(axis=1))
    reach = CLIP_SCORES * robust_scale(run_residuals(runs @ weights.T, case, n_cases), floor)
    clipped, far = clipped_scores(runs, case, weights, reach)
    if not (far > COLLAPSED).all():
        reach = np.where(far > COLLAPSED, reach, np.inf)
        clipped, _ = clipped_scores(runs, case, weights, reach)
    assumed = (ASSUMED_SD * weights.sum(axis=1)) ** 2  # cold start: the metrics of a run move together
    s2, df = np.empty(len(weights)), np.empty(len(weights))
    raw, raw_df = np.empty(len(weights)), np.empty(len(weights))
    means = runs @ (subsets / subsets.sum(axis=1, keepdims=True)).T
    for place in range(len(weights)):
        s2[place], df[place] = _prior(clipped[:, place], case, n_cases, floor[place] ** 2, assumed[place])
        least = MIN_SD**2 / subsets[place].sum()
        raw[place], raw_df[place] = _prior(means[:, place], case, n_cases, least, ASSUMED_SD**2)
    nothing = no_case_noise(runs.shape[1], len(weights))
    return Directions(subsets, weights, share, s2, df, reach, raw, raw_df, nothing)


def _prior(scores: Floats, case: Ints, n_cases: int, floor: float, assumed: float) -> tuple[float, float]:
    """Return the pooled variance and the degrees of freedom it is worth; partly assumed below 8 of them."""
    found = cell_variances(scores, case, case, n_cases)
    total = float(found.df.sum())
    pooled = float((found.s2 * found.df).sum()) / max(total, 1.0)
    if total < COLD_DF:
        return max((total * pooled + COLD_PRIOR_DF * assumed) / (total + COLD_PRIOR_DF), floor), COLD_PRIOR_DF
    df0 = fit_prior(np.maximum(found.s2, floor), found.df).df
    return max(pooled, floor), float(np.clip(df0, 2.0, min(30.0, total)))  # no more than all there are (limma)
