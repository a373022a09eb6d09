"""What is known of the protected wins before a candidate is replayed on them: their control means, and the noise.

A win has a bank (two or more control runs of its own), or the run it was captured with, or nothing. A capture was
kept because it scored well, on another day: it counts as one control run shifted by an amount that is not known, and
that control runs made now tell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from harnesskit.stats.noise import ASSUMED_SD, COLD_DF, MIN_SD
from harnesskit.stats.win_scatter import Scatter, assumed_correlation, win_scatter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    Bools = NDArray[np.bool_]

LEAST_SPREAD_BANK = 0.02
LEAST_SPREAD_CAPTURE = 0.06
"""Least standard deviation of the wins' control means; captures are too alike for having been selected."""
SPREAD_DF = 6.0
"""Degrees of freedom that the mean noise counts for in the noise of one win."""
ONE_RUN = 1e3
"""Largest factor by which one run may raise the evidence of harm to its win."""
ONE_RUN_CAPTURE = 8.0
"""The same without a bank: nothing tells then whether runs collapse by themselves, so it takes two bad ones."""
COLLAPSE = 0.16
"""The same times the share of low runs, where runs collapse."""
CAPTURE_DF = 8.0
"""Degrees of freedom of a win's evidence when there is no bank."""
SINGLE = 0.5
SINGLE_CAPTURE = 0.1
"""Weight of harms to one metric alone, with a bank and without."""
STALE_SD = 0.05
SELECTED = 0.5
"""Standard deviation of the shift of captures: sqrt(stale^2 + (selected * sd of a run)^2)."""
UNKNOWN_MEAN = 0.5
UNKNOWN_LEVEL = 10.0
"""Standard deviation of the level when there is neither a capture nor a bank to tell it."""
UNKNOWN_BETWEEN = 0.20
"""Standard deviation of the wins' control means where nothing tells it."""
SHARED_VARIANCE = 0.25
"""Correlation of the sample variances of two metrics of a win: the square of that of the runs."""


class HarmPrior(NamedTuple):
    """W wins, K metrics on the common scale; fixed before the first replay."""

    control: Floats
    """(W, R, K): control runs so far, clipped; NaN where there is none. A capture is the only run of its win."""
    centre: Floats
    """(W, K): about which runs of the win are clipped; NaN: not clipped."""
    reach: Floats
    """(K,): farthest a run may lie from it."""
    sd: Floats
    """(K,): standard deviation of one run."""
    clipped_sd: Floats
    """(K,): the same of clipped runs."""
    correlation: Floats
    """(K, K): of the metrics within a run."""
    level: Floats
    """(K,): mean of the wins' control means, captures as they are."""
    between: Floats
    """(K,): variance of the wins' control means."""
    level_between: float
    """Variance of their means over the metrics."""
    spread: Floats
    """(W,): variance of a run of the win, over the mean of all."""
    df: Floats
    """(W,): degrees of freedom of the win's evidence."""
    single: float
    """Weight of harms to one metric alone."""
    one_run: float
    """Largest factor by which one run may raise the evidence of harm to its win."""
    shift: Floats
    """(K,): expected shift of the captures."""
    level_s2: Floats
    """(K,): variance of the level before any replay: of the captures' shift, or of the mean of the bank."""
    captured: Bools
    """(W,): the only control run is a capture."""
    banked: Bools
    """(W,): two or more control runs."""

    @property
    def wins(self) -> int:
        """Number of wins."""
        return len(self.control)

    @property
    def fresh(self) -> bool:
        """Whether control runs have to be made along with the candidate's: some win has no bank."""
        return not bool(self.banked.all())


def harm_prior(
    bank: ArrayLike | None = None,
    captures: ArrayLike | None = None,
    *,
    sd: ArrayLike | None = None,
    correlation: ArrayLike | None = None,
    shift: float = -0.25,
    wins: int | None = None,
) -> HarmPrior:
    """Return what is known of each win from its bank, else from its capture.

    Parameters
    ----------
    bank
        (W, R, K) control runs of each win; NaN where a run or score is missing. None: there is no bank.
    captures
        (W, K) scores of the captured runs; used for wins without any banked run. None: there are none.
    sd
        (K,) standard deviation of one run where some win has no bank, see `benefit_noise`; .10 when not given.
    correlation
        (K, K) of the metrics within a run; when not given the bank's, drawn towards .5 between any two.
    shift
        Expected shift of captures, in standard deviations of a run; below 0: they were selected high. 0 is strict.
    wins
        Number of wins, when there is neither bank nor capture.

    Raises
    ------
    ValueError
        If the shapes do not agree, or nothing says how many wins and metrics there are.

    Examples
    --------
    >>> bank = np.full((2, 3, 1), 0.8) + np.array([-0.1, 0, 0.1])[None, :, None]
    >>> known = harm_prior(bank)
    >>> known.sd.round(3).tolist(), known.level.round(3).tolist(), known.fresh
    ([0.1], [0.8], False)
    >>> known = harm_prior(captures=[[0.9, 0.8], [0.7, 0.9]], sd=[0.1, 0.1])
    >>> known.level.round(3).tolist(), (known.level + known.shift).round(3).tolist(), known.fresh
    ([0.8, 0.85], [0.775, 0.825], True)
    """
    runs, captured = _control_runs(bank, captures, wins, sd)
    k = runs.shape[2]
    m = np.isfinite(runs).any(axis=2).sum(axis=1)
    banked = m > 1
    told = bool(banked.all())
    scatter = win_scatter(np.where(banked[:, None, None], runs, np.nan))
    noise = _noise(scatter, sd, told, k)
    control = np.where(banked[:, None, None], scatter.clipped, runs)
    mean, count = _win_means(control)
    least = LEAST_SPREAD_BANK if told else LEAST_SPREAD_CAPTURE
    between = _between(mean, count, noise, least)
    spread, df = _win_spread(scatter, told, k)
    level = _column_mean(mean, captured if captured.any() else m > 0)
    known = scatter.correlation if told else assumed_correlation(k)
    return HarmPrior(
        control=control, centre=scatter.centre, reach=scatter.reach,
        sd=noise, clipped_sd=np.minimum(scatter.clipped_sd, noise) if told else noise,
        correlation=known if correlation is None else np.asarray(correlation, dtype=float),
        level=level, between=between, spread=spread, df=df,
        level_between=_level_between(control - level, noise, known, least),
        single=_single(scatter.low_share) if told else SINGLE_CAPTURE,
        one_run=_one_run(scatter) if told else ONE_RUN_CAPTURE,
        shift=shift * noise if captured.any() else np.zeros(k),
        level_s2=_level_s2(between, noise, m, banked, captured), captured=captured, banked=banked,
    )  # fmt: skip


def benefit_noise(cells: Sequence[ArrayLike], *, prior_sd: ArrayLike = ASSUMED_SD, prior_df: float = 3.0) -> Floats:
    """Return the standard deviation of one run of each metric from the failing cases' runs, all metrics.

    (sum of squares + prior_df prior_sd^2) / (sum of df + prior_df), at least .02.

    Parameters
    ----------
    cells
        (runs, K) of each case and arm; NaN where a score is missing.

    Examples
    --------
    >>> benefit_noise([[[0.4], [0.6]], [[0.5], [0.7]]]).round(4).tolist()
    [0.1183]
    """
    squares, df = np.asarray(prior_df * np.square(prior_sd), dtype=float), np.asarray(prior_df, dtype=float)
    for cell in cells:
        runs = np.asarray(cell, dtype=float)
        seen = np.isfinite(runs)
        count = seen.sum(axis=0)
        mean = np.where(seen, runs, 0.0).sum(axis=0) / np.maximum(count, 1)
        squares = squares + np.where(seen, (runs - mean) ** 2, 0.0).sum(axis=0)
        df = df + np.maximum(count - 1, 0)
    return np.asarray(np.maximum(np.sqrt(squares / df), MIN_SD), dtype=float)


def _control_runs(
    bank: ArrayLike | None, captures: ArrayLike | None, wins: int | None, sd: ArrayLike | None
) -> tuple[Floats, Bools]:
    """Return the control runs of each win, the capture where there is nothing else, and where that is so."""
    runs = None if bank is None else np.asarray(bank, dtype=float)
    first = None if captures is None else np.asarray(captures, dtype=float)
    if runs is None and first is None:
        if wins is None:
            raise ValueError("harm_prior() needs a bank, captures, or the number of wins")
        runs = np.full((wins, 1, np.size(ASSUMED_SD if sd is None else sd)), np.nan)
    if runs is None and first is not None:
        runs = np.full((len(first), 1, first.shape[1]), np.nan)
    assert runs is not None
    if first is None:
        return runs, np.zeros(len(runs), dtype=bool)
    if first.shape != (len(runs), runs.shape[2]):
        raise ValueError(f"captures of {first.shape} (wins, metrics) do not fit a bank of {runs.shape}")
    captured = ~np.isfinite(runs).any(axis=(1, 2)) & np.isfinite(first).any(axis=1)
    if not runs.shape[1]:
        runs = np.full((len(first), 1, first.shape[1]), np.nan)
    filled = runs.copy()
    filled[captured, 0] = first[captured]
    return filled, captured


def _noise(scatter: Scatter, sd: ArrayLike | None, told: bool, k: int) -> Floats:
    """Return the noise of one run: the bank's, that of clipped runs where runs collapse; else the given one."""
    if told:
        return scatter.clipped_sd if scatter.collapses else scatter.sd
    if sd is None and float(scatter.win_df.sum(axis=0).min(initial=np.inf)) >= COLD_DF:
        return scatter.sd
    given = np.asarray(ASSUMED_SD if sd is None else sd, dtype=float)
    return np.array(np.maximum(np.broadcast_to(given, (k,)), MIN_SD))


def _win_means(values: Floats) -> tuple[Floats, Floats]:
    """Return the control mean of each win and metric, and the runs behind it."""
    seen = np.isfinite(values)
    count = seen.sum(axis=1)
    mean = np.where(seen, values, 0.0).sum(axis=1) / np.maximum(count, 1)
    return np.where(count > 0, mean, np.nan), count.astype(float)


def _column_mean(mean: Floats, rows: Bools) -> Floats:
    chosen = mean[rows]
    seen = np.isfinite(chosen)
    count = seen.sum(axis=0)
    total = np.where(seen, chosen, 0.0).sum(axis=0)
    return np.where(count > 0, total / np.maximum(count, 1), UNKNOWN_MEAN)


def _between(mean: Floats, count: Floats, sd: Floats, least: float) -> Floats:
    """Return T^2 of each metric: the variance of the wins' means less what their noise makes, at least `least`^2."""
    found = np.full(len(sd), UNKNOWN_BETWEEN**2)
    for k in range(len(sd)):
        seen = np.isfinite(mean[:, k])
        if seen.sum() > 1:
            noise = float((sd[k] ** 2 / count[seen, k]).mean())
            found[k] = max(float(mean[seen, k].var(ddof=1)) - noise, least**2)
    return found


def _level_between(away: Floats, sd: Floats, correlation: Floats, least: float) -> float:
    """Return the variance of the wins' means over the metrics, less what their noise makes, at least `least`^2."""
    seen = np.isfinite(away)
    count = seen.sum(axis=(1, 2))
    if (count > 0).sum() < 2:
        return UNKNOWN_BETWEEN**2
    mean = (np.where(seen, away, 0.0).sum(axis=(1, 2)) / np.maximum(count, 1))[count > 0]
    runs = seen.any(axis=2).sum(axis=1)[count > 0]
    noise = float((correlation * np.outer(sd, sd)).mean()) * float((1 / runs).mean())
    return max(float(mean.var(ddof=1)) - noise, least**2)


def _win_spread(scatter: Scatter, told: bool, k: int) -> tuple[Floats, Floats]:
    """Return the variance of a run in each win over the mean of all, and the degrees of freedom of its evidence."""
    wins = len(scatter.win_df)
    if not told:
        return np.ones(wins), np.full(wins, CAPTURE_DF)
    used = scatter.win_df > 0
    ratio = np.where(used, scatter.win_s2 / scatter.clipped_sd**2, 0.0).sum(axis=1) / np.maximum(used.sum(axis=1), 1)
    e = scatter.win_df.max(axis=1, initial=0.0) * k / (1 + (k - 1) * SHARED_VARIANCE)
    return (e * ratio + SPREAD_DF) / (e + SPREAD_DF), e + SPREAD_DF


def _one_run(scatter: Scatter) -> float:
    """Return by how much one run may raise the evidence of harm: less, the more runs collapse by themselves."""
    return min(ONE_RUN, COLLAPSE / scatter.low_share) if scatter.collapses else ONE_RUN


def _single(low_share: float) -> float:
    """Return the weight of harms to one metric alone: none where runs collapse, which looks like such a harm."""
    return SINGLE * float(np.clip(1 - (low_share - 0.02) / 0.04, 0.0, 1.0))


def _level_s2(between: Floats, sd: Floats, m: NDArray[np.int64], banked: Bools, captured: Bools) -> Floats:
    if captured.any():
        return np.asarray(STALE_SD**2 + (SELECTED * sd) ** 2, dtype=float)
    if banked.any():
        return np.asarray((between + sd**2 / m[banked].mean()) / banked.sum(), dtype=float)
    return np.full(len(sd), (UNKNOWN_LEVEL if not m.any() else 0.0) ** 2)
