"""The classic guard on wins: a group-sequential z test of every win, metric by metric and of all metrics together.

Every win once, then the ones that look worst again. The error of .05 is shared by the planned wins, half of it for the
composite and half by the metrics; a win is harmed when z reaches its Hwang-Shih-DeCani bound and the drop is .05 or
more. It is closed when a drop of the margin is excluded in every metric at one-sided 80 %.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import special

from harnesskit.stats.paired import t_to_z
from harnesskit.stats.run_path import run_path, step_bounds

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from harnesskit.stats.harm_prior import HarmPrior
    from harnesskit.stats.win_runs import Sums, WinRuns

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

ALPHA = 0.05
MIN_DROP = 0.05
MOST_RUNS = 10
"""Candidate runs of a win at most."""


class ClassicWins(NamedTuple):
    """Where wins that are scored on the same metrics stand, one entry per win."""

    delta: Floats
    """Mean change over the metrics."""
    s2: Floats
    """Its variance."""
    rank: Floats
    """Largest z of a drop, over the metrics and their composite."""
    reached: Floats
    """Largest z over its bound, of the drops that are large enough; 1 or more: the win is harmed."""
    closed: NDArray[np.bool_]
    """A drop of the margin is excluded in every metric."""


def classic_wins(known: HarmPrior, runs: WinRuns, sums: Sums, *, planned: int, margin: float = 0.10) -> ClassicWins:
    """Return where the wins stand.

    t = change / sqrt(s~2 (1/n + 1/m)) per metric with the win's moderated noise; z its normal equivalent; composite
    sum of z_k / sqrt(1'R1).

    Parameters
    ----------
    planned
        Wins that share the error.
    margin
        Drop to exclude before a win is closed.

    Examples
    --------
    >>> from harnesskit.stats.harm_prior import harm_prior
    >>> from harnesskit.stats.win_runs import WinRuns
    >>> known = harm_prior(np.full((3, 5, 1), 0.8) + np.array([-0.1, -0.05, 0, 0.05, 0.1])[None, :, None])
    >>> runs = WinRuns(known)
    >>> for _ in range(3):
    ...     runs.add(1, True, np.array([0.4]))
    >>> seen = classic_wins(known, runs, runs.groups()[0], planned=3)
    >>> bool(seen.reached[0] >= 1), bool(seen.delta[0] < -0.2)
    (True, True)
    """
    at, used = sums.wins, sums.used
    k, df = int(used.sum()), known.df[at][:, None]
    change = sums.rule - sums.control
    inverse = np.einsum("wkk->wk", sums.rule_weight) + np.einsum("wkk->wk", sums.control_weight)
    correlation = known.correlation[np.ix_(used, used)]
    sd = np.sqrt(known.spread[at][:, None] * inverse) * known.clipped_sd[used]
    z = np.asarray(t_to_z(change / sd, df), dtype=float)
    every = np.column_stack([z.sum(axis=1) / np.sqrt(correlation.sum()), z]) if k > 1 else z
    drop = -np.column_stack([change.mean(axis=1), change.min(axis=1)[:, None].repeat(k, axis=1)]) if k > 1 else -change
    bound = np.stack([_bounds(int(n), int(m), k, planned) for n, m in zip(*_counts(runs, at), strict=True)])
    reached = np.where(drop >= MIN_DROP, every / bound, 0.0).max(axis=1)
    calm = -change + special.stdtrit(df, 0.80) * sd < margin
    s2 = np.einsum("wk,kl,wl->w", sd, correlation, sd) / k**2
    return ClassicWins(change.mean(axis=1), s2, every.max(axis=1), reached, calm.all(axis=1))


def _counts(runs: WinRuns, at: Ints) -> tuple[list[int], list[int]]:
    return runs.n_candidate[at].tolist(), runs.n_control[at].tolist()


def _bounds(n: int, m: int, k: int, planned: int) -> Floats:
    """Return the bounds of the composite and of each metric; infinite before two candidate runs."""
    shares = [ALPHA / planned] if k == 1 else [ALPHA / (2 * planned), *[ALPHA / (2 * planned * k)] * k]
    path = run_path(m, n_max=MOST_RUNS, top_up=False)
    step = min(n, int(path.n[-1])) - 1
    return np.array([step_bounds(m, share, n_max=MOST_RUNS, top_up=False)[step] for share in shares])
