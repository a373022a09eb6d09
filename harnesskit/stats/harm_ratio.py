"""The likelihood ratio of harm of each protected win: its change, how sure it is, and a mixture of harms over none."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import special

from harnesskit.stats.harm_prior import CAPTURE_DF

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from harnesskit.stats.harm_prior import HarmPrior
    from harnesskit.stats.win_runs import Sums, WinRuns

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

HARMS = (0.10, 0.20, 0.30)
"""Drops that the mixture averages over."""
FIRST_CAP = 8.0
"""Largest likelihood ratio of a win with one candidate run: one run never decides."""
LARGEST = 1e6
FEW_WINS = 5.0
"""Replayed wins that "scatters as assumed" counts for in the common scale of the wins."""


class Level(NamedTuple):
    """Where the wins' control means lie now that some were made again."""

    mean: Floats
    s2: Floats
    moved: Floats
    """How far the captures are moved."""


class WinChanges(NamedTuple):
    """Wins scored on the same metrics."""

    sums: Sums
    change: Floats
    """(wins, K): candidate mean - control mean as it is known."""
    sure: Floats
    """(wins, K, K): inverse of its covariance."""
    mean_s2: Floats
    """(wins,): variance of its mean over the metrics."""
    clipped_s2: Floats
    """The same with the noise of clipped runs, without what the level adds to all wins alike."""
    q0: Floats
    """change' covariance^-1 change / K."""


def posterior_level(known: HarmPrior, runs: WinRuns) -> Level:
    """Return the posterior of the wins' mean level: the captures' with their shift, and the control runs made since.

    A captured win with c control runs of mean x tells x - beta (y - M), beta = T^2 / (T^2 + s^2), with variance T^2 (1
    - beta) + s^2 / c; y its capture and M the mean of all captures.
    """
    if not known.fresh:
        return Level(known.level, known.level_s2, np.zeros_like(known.level))
    s2, t2 = known.sd**2, known.between
    beta = t2 / (t2 + s2)
    count = runs.fresh_count
    captured = known.captured[:, None]
    own = np.where(captured, beta * (known.control[:, 0] - known.level), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        told = runs.fresh_total / count - np.where(np.isfinite(own), own, 0.0)
        precision = 1 / (np.where(captured, t2 * (1 - beta), t2) + s2 / count)
    precision = np.where(count > 0, precision, 0.0)
    first = 1 / np.maximum(known.level_s2, 1e-12)
    start = known.level + known.shift
    total = first + precision.sum(axis=0)
    mean = (first * start + (precision * np.where(count > 0, told, 0.0)).sum(axis=0)) / total
    return Level(mean, 1 / total, mean - known.level)


def win_changes(known: HarmPrior, runs: WinRuns, sums: Sums, level: Level) -> WinChanges:
    """Return the changes of wins that are scored on the same metrics, and how sure they are."""
    at, used = sums.wins, sums.used
    correlation, sd = known.correlation[np.ix_(used, used)], known.sd[used]
    noise = correlation * np.outer(sd, sd)
    clipped = correlation * np.outer(known.clipped_sd[used], known.clipped_sd[used])
    moved = np.where(known.captured[at, None], level.moved[used], 0.0) / sums.control_count
    prior = np.diag(1 / known.between[used])
    sure = np.linalg.inv(noise * sums.control_weight)
    posterior = np.linalg.inv(prior + sure)
    told = prior @ level.mean[used] + (sure @ (sums.control + moved)[:, :, None])[:, :, 0]
    change = sums.rule - (posterior @ told[:, :, None])[:, :, 0]
    covariance = known.spread[at, None, None] * (noise * sums.rule_weight + posterior)
    known_s2 = np.linalg.inv(prior + np.linalg.inv(clipped * sums.control_weight))
    clipped_s2 = (clipped * sums.rule_weight + known_s2).mean(axis=(1, 2))
    if known.fresh:
        doubt = np.sqrt(level.s2[used])
        share = np.where(known.banked[at], 0.0, _level_share(runs, at))
        covariance = covariance + np.outer(doubt, doubt) * correlation * share[:, None, None] ** 2
    precision = np.asarray(np.linalg.inv(covariance), dtype=float)
    q0 = np.asarray(np.einsum("wk,wkl,wl->w", change, precision, change) / len(sd), dtype=float)
    return WinChanges(sums, change, precision, covariance.mean(axis=(1, 2)), clipped_s2, q0)


def _level_share(runs: WinRuns, at: Ints) -> Floats:
    """Return about how much of the doubt about the level is left in each win's control mean: (m + 1) / (m + 1 + c)."""
    before = (runs.n_control - runs.n_fresh)[at] + 1.0
    return np.asarray(before / (before + runs.n_fresh[at]), dtype=float)


def common_scale(groups: list[WinChanges]) -> float:
    """Return by how much the wins scatter more than assumed: a robust scale over the replayed ones, at least 1.

    (5 + g median(Q0 / K) / median of F(K, nu)) / (5 + g): runs that collapse, or an assumed noise that is too small,
    show as scatter of all wins; harm in a few of them does not move a median.
    """
    q0 = np.concatenate([one.q0 / _median_f(one.change.shape[1]) for one in groups]) if groups else np.zeros(0)
    if not len(q0):
        return 1.0
    return max(1.0, float((FEW_WINS + len(q0) * np.median(q0)) / (FEW_WINS + len(q0))))


@lru_cache(maxsize=64)
def _median_f(k: int) -> float:
    return float(special.fdtri(k, CAPTURE_DF, 0.5))


def harm_ratios(
    known: HarmPrior,
    runs: WinRuns,
    one: WinChanges,
    level: Level,
    *,
    scale: float,
    harms: tuple[float, ...],
    one_run: float,
) -> Floats:
    """Return the likelihood ratio of harm of each win, no run of which may raise it by more than runs collapse.

    A run that collapsed for no reason of the rule's is as unlikely as runs collapse at all; so a run raises the ratio
    of the others by that factor (`one_run`) at most, and a single one by 8.
    """
    at = one.sums.wins
    n = runs.n_candidate[at]
    ratio = np.minimum(_likelihood_ratio(known, one, scale, harms), np.where(n > 1, LARGEST, FIRST_CAP))
    ratio = np.minimum(ratio, one_run ** np.minimum(n, 6))
    for i in np.flatnonzero((n > 1) & (ratio > min(FIRST_CAP, one_run))):
        others = runs.without_one(int(at[i]), one.sums.used)
        if others is not None:
            least = _likelihood_ratio(known, win_changes(known, runs, others, level), scale, harms).min()
            ratio[i] = min(ratio[i], one_run * least)
    return ratio


def _likelihood_ratio(known: HarmPrior, one: WinChanges, scale: float, harms: tuple[float, ...]) -> Floats:
    """Return the likelihood ratio of harm of each win: multivariate t densities, a mixture of harms over none."""
    k, nu = one.change.shape[1], known.df[one.sums.wins]
    kinds, weights = _slab(k, known.single)
    size = np.asarray(harms)
    along = np.einsum("wkl,wl,jk->wj", one.sure, one.change, kinds)[:, :, None]
    across = np.einsum("wkl,jk,jl->wj", one.sure, kinds, kinds)[:, :, None]
    q = (one.q0[:, None, None] * k + 2 * size * along + size**2 * across) / scale
    none = np.log1p(one.q0 * k / scale / nu)[:, None, None]
    log_ratio = (nu[:, None, None] + k) / 2 * (none - np.log1p(q / nu[:, None, None]))
    ratio = np.exp(np.minimum(log_ratio, 300.0)).mean(axis=2)
    return np.asarray(ratio @ weights, dtype=float)


@lru_cache(maxsize=64)
def _slab(k: int, single: float) -> tuple[Floats, Floats]:
    """Return the directions of harm and their weights: all metrics alike, and one alone."""
    if k == 1:
        return np.ones((1, 1)), np.ones(1)
    return np.vstack([np.ones(k), np.eye(k)]), np.array([1 - single, *[single / k] * k])
