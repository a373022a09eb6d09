"""The classic test of protected wins: a moderated z per metric and their composite (no directions, no Bayes factor)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import special

from harnesskit.stats.directions import (
    Directions,
    measured,
    metric_subsets,
    robust_correlation,
    robust_scale,
    run_residuals,
)
from harnesskit.stats.noise import MIN_SD
from harnesskit.stats.win_evidence import Look, Rules, Runs, look

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

COMPOSITE_SHARE = 0.5


def fit_classic(values: ArrayLike, case: ArrayLike) -> Directions:
    """Return the full set and the single metrics, each metric's score being the metric itself.

    The weights of the full set give the composite of the z of the metrics its scale; half of the error is the
    composite's, half is shared by the metrics.

    Examples
    --------
    >>> bank = np.random.default_rng(1).normal(0.8, 0.1, size=(100, 2))
    >>> fit_classic(bank, np.repeat(np.arange(20), 5)).share.tolist()
    [0.5, 0.25, 0.25]
    """
    runs, of = np.asarray(values, dtype=float), np.asarray(case, dtype=np.int64)
    k = runs.shape[1]
    subsets = metric_subsets(k)
    subsets = subsets[(subsets.sum(axis=1) == 1) | (np.arange(len(subsets)) == 0)]
    residuals = run_residuals(runs, of, int(of.max(initial=-1)) + 1)
    scale = robust_scale(residuals, MIN_SD)
    correlation = robust_correlation(residuals, scale, float(np.count_nonzero(residuals[:, 0])))
    weights = subsets / scale
    weights[0] /= np.sqrt(correlation.sum()) if k > 1 else 1.0
    share = np.array([1.0]) if k == 1 else np.array([COMPOSITE_SHARE, *([(1 - COMPOSITE_SHARE) / k] * k)])
    return measured(runs, of, weights, subsets, share)


def classic_look(runs: Runs, directions: Directions, rules: Rules) -> Look:
    """Return the look of the classic test: z of every metric, their composite, ranking by the largest of them.

    z_* = sum of z_k / sqrt(1'R1); a win is calm in a metric when t_.80 standard errors above its drop stay below the
    tolerance, with the metric's own moderated variance.
    """
    seen = look(runs, directions, rules)
    alone = slice(0, 1) if len(directions.subsets) == 1 else slice(1, None)
    scale = 1 / directions.weights[alone].sum(axis=1)
    z = seen.z
    if len(directions.subsets) > 1:
        size = (1 / scale).sum() / directions.weights[0].sum()
        z = np.column_stack([seen.z[:, 1:].sum(axis=1) / size, seen.z[:, 1:]])
    df = (seen.n + seen.m - 2)[:, None] + directions.df[alone]
    spread = np.sqrt(seen.s2[:, alone] * (1 / seen.n + 1 / seen.m)[:, None]) * scale
    calm = seen.metric_drop + special.stdtrit(df, special.ndtr(rules.quantile)) * spread < rules.tolerance
    return seen._replace(z=z, calm=calm, rank=z.max(axis=1))
