"""The evidence on protected wins at one look: directions tested, Bayes factor for the next replay, closing.

Group-sequential tests of the scores of several directions, each with its own moderated variance; a drop must also
reach a margin and 1.28 raw standard errors, and no metric outside of the direction may have improved by as much.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import special

from harnesskit.stats.case_noise import predicted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from harnesskit.stats.directions import Directions

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Flags = NDArray[np.bool_]

GRID = (0.05, 0.10, 0.20, 0.30)
"""Drops that the Bayes factor of a direction averages over."""
CALM = 0.8416212335729143
"""One-sided 80 % normal quantile of the closing rule."""
SLACK = 1e-9


class Rules(NamedTuple):
    """What a verdict on a win asks for besides its bound."""

    min_drop: float = 0.05
    tolerance: float = 0.10
    raw_z: float = 1.28
    veto: float = 1.28
    close_bf: float = 1.0
    quantile: float = CALM


class Runs(NamedTuple):
    """The runs of some wins, oldest first, padded with NaN."""

    control: Floats
    """(wins, most runs, K)."""
    candidate: Floats
    centre: Floats
    """(wins, S): median score of the win's control bank in each direction; scores are clipped around it."""


class Look(NamedTuple):
    """The evidence on some wins, S directions and K metrics each."""

    n: Ints
    m: Ints
    z: Floats
    """(wins, S): positive for a drop, standard normal when nothing changed."""
    effect: Floats
    """(wins, S): drop of the score, over its standard deviation (the drift of z per root information)."""
    s2: Floats
    """(wins, S): variance of the score of one run, the win's own drawn towards the prior."""
    drop: Floats
    """(wins, S): plain mean drop over the metrics of the direction."""
    raw_z: Floats
    """(wins, S): that drop over its pooled standard error."""
    metric_drop: Floats
    """(wins, K)."""
    metric_z: Floats
    """(wins, K)."""
    calm: Flags
    """(wins, K): a drop of the tolerance is excluded."""
    rank: Floats
    """(wins,): Bayes factor that something fell; the open win with the largest is replayed next."""


class Verdicts(NamedTuple):
    """What a look says, one entry per win and direction."""

    worse: Flags
    better: Flags
    suspect: Flags
    traded: Flags
    """Enough for suspicion, but another metric improved: reported, no verdict."""


def look(runs: Runs, directions: Directions, rules: Rules | None = None) -> Look:
    """Return the evidence on wins with at least one run on each side.

    Examples
    --------
    >>> from harnesskit.stats.directions import fit_directions
    >>> bank = np.random.default_rng(1).normal(0.8, 0.05, size=(100, 2)).reshape(20, 5, 2)
    >>> found = fit_directions(bank.reshape(100, 2), np.repeat(np.arange(20), 5))
    >>> fallen = bank[:, :3] - 0.2
    >>> seen = look(Runs(bank, fallen, centres(bank, found)), found)
    >>> bool((seen.z[:, 0] > 2).all()), seen.drop.shape
    (True, (20, 3))
    """
    rules = rules or Rules()
    n, m = _counts(runs.candidate), _counts(runs.control)
    info = 1 / (1 / n + 1 / m)
    after, ss_after = _scores(runs.candidate, runs.centre, directions, n)
    before, ss_before = _scores(runs.control, runs.centre, directions, m)
    free, own = n + m - 2, ss_after + ss_before
    prior_df, prior = _prior(runs, directions, own, n, m)
    df = free[:, None] + prior_df
    s2 = (own + prior_df * prior) / df
    root = np.sqrt(info)[:, None]
    effect = (before - after) / np.sqrt(s2)
    z = t_to_z(effect * root, df)
    metric_drop = _means(runs.control, m) - _means(runs.candidate, n)
    members = directions.subsets / directions.subsets.sum(axis=1, keepdims=True)
    drop = metric_drop @ members.T
    raw_z = drop * root / np.sqrt(directions.raw_s2)
    spread = np.sqrt(single_variances(directions))
    return Look(
        n, m, z, effect, s2, drop, raw_z, metric_drop, metric_drop * root / spread,
        metric_drop + rules.quantile * spread / root < rules.tolerance,
        bayes_factor(z, directions.gain / np.sqrt(s2) * root, directions.share),
    )  # fmt: skip


def judge(seen: Look, subsets: Flags, bounds: Floats, suspect_bounds: Floats, rules: Rules) -> Verdicts:
    """Return what a look says under the bounds of its step.

    Parameters
    ----------
    bounds, suspect_bounds
        (wins, S): bound of z among all wins, and for the win alone; infinite when there is no look.
    """
    outside = ~subsets
    gained = ((seen.metric_z <= -rules.veto)[:, None, :] & outside).any(axis=2)
    lost = ((seen.metric_z >= rules.veto)[:, None, :] & outside).any(axis=2)
    down = (seen.drop >= rules.min_drop - SLACK) & (seen.raw_z >= rules.raw_z)
    up = (-seen.drop >= rules.min_drop - SLACK) & (-seen.raw_z >= rules.raw_z)
    alone = down & (seen.z >= suspect_bounds)
    return Verdicts(
        down & ~gained & (seen.z >= bounds), up & ~lost & (-seen.z >= bounds), alone & ~gained, alone & gained
    )


def centres(control: Floats, directions: Directions) -> Floats:
    """Return the median score of each win's control runs, (wins, S)."""
    scores = control @ directions.weights.T
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a win without a bank has no centre
        return np.asarray(np.nanmedian(scores, axis=1), dtype=float)


def bayes_factor(z: Floats, drift: Floats, share: Floats) -> Floats:
    """Return the sum over directions of share times the mean over drops of exp(z theta - theta^2 / 2).

    `drift` is theta per unit of drop; the likelihood ratio of a normal mean theta against 0.
    """
    theta = drift[..., None] * np.array(GRID)
    power = np.minimum(z[..., None] * theta - theta**2 / 2, 700.0)
    return np.asarray((np.exp(power).mean(axis=-1) * share).sum(axis=-1), dtype=float)


def t_to_z(t: Floats, df: Floats) -> Floats:
    """Return the normal deviate with the tail of t."""
    tail = np.clip(special.stdtr(df, -np.abs(t)), 1e-300, 0.5)
    return np.asarray(-np.sign(t) * special.ndtri(tail), dtype=float)


def single_variances(directions: Directions) -> Floats:
    """Return the variance of each metric in one run, from the single directions (the full one of a single metric)."""
    alone = np.flatnonzero(directions.subsets.sum(axis=1) == 1)
    found = np.empty(directions.subsets.shape[1])
    found[directions.subsets[alone].argmax(axis=1)] = directions.raw_s2[alone]
    return found


def _prior(runs: Runs, directions: Directions, own: Floats, n: Ints, m: Ints) -> tuple[Floats, Floats]:
    """Return the prior df and variance of each direction, told by the win's other metrics where they tell it better."""
    told = directions.case.df > 0
    if not told.any():
        return directions.df, directions.s2
    squares = _squares(runs.candidate, directions.case.whiten, n) + _squares(runs.control, directions.case.whiten, m)
    by_case = predicted(directions.case, squares, own, (n + m - 2).astype(float))
    return np.where(told, directions.case.df, directions.df), np.where(told, by_case, directions.s2)


def _squares(runs: Floats, whiten: Floats, count: Ints) -> Floats:
    """Return the sum of squares within each win of all whitened components."""
    parts = runs @ whiten.T
    there = ~np.isnan(parts)
    mean = np.where(there, parts, 0.0).sum(axis=1) / count[:, None]
    return np.asarray(np.where(there, (parts - mean[:, None, :]) ** 2, 0.0).sum(axis=(1, 2)), dtype=float)


def _counts(runs: Floats) -> Ints:
    return np.asarray((~np.isnan(runs[:, :, 0])).sum(axis=1), dtype=np.int64)


def _means(runs: Floats, count: Ints) -> Floats:
    return np.asarray(np.where(np.isnan(runs), 0.0, runs).sum(axis=1) / count[:, None], dtype=float)


def _scores(runs: Floats, centre: Floats, directions: Directions, count: Ints) -> tuple[Floats, Floats]:
    """Return the mean and the sum of squares of the clipped scores, (wins, S)."""
    scores = runs @ directions.weights.T
    there = ~np.isnan(scores)
    middle = centre[:, None, :]
    limited = np.where(there, np.clip(scores, middle - directions.reach, middle + directions.reach), 0.0)
    mean = limited.sum(axis=1) / count[:, None]
    return mean, np.where(there, (limited - mean[:, None, :]) ** 2, 0.0).sum(axis=1)
