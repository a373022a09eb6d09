"""How noisy a case is, told by all of its metrics: the variance of one direction predicted from the others.

Runs of some cases scatter more than those of others, mostly in all metrics alike. What is orthogonal to a direction (in
whitened metrics) is independent of it and tells that scatter with K - 1 times the degrees of freedom, so that the
direction's own variance needs less borrowing from strangers. How well it tells is fitted on the control bank (Smyth
2004, on the ratio of the two); where it tells nothing, nothing is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from harnesskit.stats.cells import cell_variances
from harnesskit.stats.noise import COLD_DF, fit_prior

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

MOST_REST_DF = 60.0
FEWEST_DF = 2 * COLD_DF
"""Degrees of freedom within cases below which the other metrics are not asked."""


class CaseNoise(NamedTuple):
    """What the other metrics of a case say about the variance of each of S directions."""

    whiten: Floats
    """(K, K): makes the metrics of a run independent, each of standard deviation about 1."""
    rest: Floats
    """(S,): mean square orthogonal to the direction, per component, over all cases."""
    rest_df: Floats
    """(S,): degrees of freedom that this mean is worth for one case."""
    s2: Floats
    """(S,): variance of the score in a case whose other components scatter as usual."""
    df: Floats
    """(S,): degrees of freedom that the predicted variance is worth; 0 where it predicts no better than the mean."""


def no_case_noise(k: int, directions: int) -> CaseNoise:
    """Return the case noise that says nothing.

    Examples
    --------
    >>> no_case_noise(2, 3).df.tolist()
    [0.0, 0.0, 0.0]
    """
    nothing = np.zeros(directions)
    return CaseNoise(np.eye(k), nothing + 1, nothing, nothing + 1, nothing)


def fit_case_noise(
    runs: Floats, case: Ints, scores: Floats, correlation: Floats, scale: Floats, *, floor: Floats, alone: Floats
) -> CaseNoise:
    """Return what the other metrics say about the variance of each direction.

    Parameters
    ----------
    runs, case
        (runs, K) control runs, and the case of each.
    scores
        (runs, S): scores of the directions, clipped as the test clips them.
    correlation, scale
        Of the metrics within a run.
    floor, alone
        (S,): smallest variance believed, and the degrees of freedom of the prior without the other metrics.
    """
    n_cases, k = int(case.max(initial=-1)) + 1, runs.shape[1]
    nothing = no_case_noise(k, scores.shape[1])
    value, vector = np.linalg.eigh(correlation)
    whiten = (vector / np.sqrt(np.maximum(value, 1e-6))).T / scale
    parts = [cell_variances(component, case, case, n_cases) for component in (runs @ whiten.T).T]
    use = parts[0].df > 0
    free = parts[0].df[use]
    if k < 2 or free.sum() < FEWEST_DF:
        return nothing
    squares = np.sum([part.s2[use] * free for part in parts], axis=0)
    found = nothing._replace(whiten=whiten, rest=nothing.rest.copy(), rest_df=nothing.rest_df.copy(),
                             s2=nothing.s2.copy(), df=nothing.df.copy())  # fmt: skip
    for place, column in enumerate(scores.T):
        own = cell_variances(column, case, case, n_cases).s2[use]
        left = np.maximum(squares - own * free, 0.0)
        found.rest[place] = max(float(left.sum() / ((k - 1) * free.sum())), 1e-9)
        ratio = left / ((k - 1) * free) / found.rest[place]
        prior = fit_prior(np.maximum(ratio, 1e-3), (k - 1) * free).df
        found.rest_df[place] = np.clip(prior, 2.0, MOST_REST_DF)
        tau = _scatter(left, (k - 1) * free, found.rest[place], found.rest_df[place])
        found.s2[place] = max(float((own / tau * free).sum() / free.sum()), floor[place])
        df = float(np.clip(fit_prior(np.maximum(own, floor[place]) / tau, free).df, 2.0, 30.0))
        found.df[place] = df if df > alone[place] else 0.0
    return found


def predicted(noise: CaseNoise, squares: Floats, own: Floats, df: Floats) -> Floats:
    """Return the variance of each direction that the other components of some wins predict, (wins, S).

    Parameters
    ----------
    squares
        (wins,): sum of squares of all whitened components within arms.
    own
        (wins, S): that of the direction's score.
    df
        (wins,): degrees of freedom within arms.
    """
    k = len(noise.whiten)
    left = np.maximum(squares[:, None] - own, 0.0)
    return np.asarray(noise.s2 * _scatter(left, (k - 1) * df[:, None], noise.rest, noise.rest_df), dtype=float)


def _scatter(left: Floats, df: Floats, rest: Floats | float, rest_df: Floats | float) -> Floats:
    """Return how much more than usual cases scatter, drawn towards 1."""
    return np.asarray((left / rest + rest_df) / np.maximum(df + rest_df, 1e-9), dtype=float)
