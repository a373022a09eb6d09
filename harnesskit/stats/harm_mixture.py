"""Evidence of harm to protected wins: a mixture likelihood ratio over all wins, replayed one at a time.

Each replayed win compares its candidate runs with what is known of its control mean: no change, against a harm of .10,
.20 or .30 on all metrics or on one. Over the wins, each is harmed with probability q, for q = .05, .10 and .30. A win
that was not replayed counts 1, one that came out clean counts below 1: how many were covered is inside the statistic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from scipy import special

from harnesskit.stats.collapse import one_run_factor
from harnesskit.stats.harm_classic import classic_wins
from harnesskit.stats.harm_ratio import HARMS, Level, common_scale, harm_ratios, posterior_level, win_changes
from harnesskit.stats.level_drop import captured_change
from harnesskit.stats.win_runs import WinRuns

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from harnesskit.stats.harm_prior import HarmPrior

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]


AT_REST = 0.5
"""Likelihood ratio below which a win is not in doubt."""


class GuardRules(NamedTuple):
    """Bars of the guard, fixed before the first replay."""

    ni_margin: float = 0.10
    ni_level: float = 0.95
    harm_bar: float = 12.0
    clean_bar: float = 0.25
    end_bar: float = 2.0
    harms: tuple[float, ...] = HARMS
    shares: tuple[float, ...] = (0.05, 0.10, 0.30)
    design: Literal["lean", "classic"] = "lean"
    """``classic``: a z test of every win instead of the mixture, see `harm_classic`."""
    full: int = 40
    """Wins replayed at most: that many count as all."""
    most_per_win: int = 6
    """Candidate runs of a win after which doubt about it draws no more."""


DEFAULT = GuardRules()


class GuardLook(NamedTuple):
    """Where the guard stands after some replays; arrays have one entry per win."""

    replays: int
    n_candidate: Ints
    """Scored candidate runs."""
    n_control: Ints
    """Scored control runs; the bank counts, and a capture where it is all there is."""
    n_fresh: Ints
    """Scored control runs made along with the candidate's."""
    delta: Floats
    """Mean change over the metrics, positive is better; NaN where not replayed."""
    low: Floats
    high: Floats
    """Two-sided 95 % interval of it, for one look at one win."""
    harm: Floats
    """Likelihood ratio of harm against no change; 1 where not replayed. Classic: largest z of a drop, 0 there."""
    evidence: float
    """Of harm over all wins (lambda). Classic: largest z over its bound, of the wins."""
    estimate: float
    """Mean change over the replayed wins; NaN without any."""
    highest_drop: float
    """Upper bound of the mean drop over the replayed wins at `ni_level`; infinite without any."""
    closed: Bools
    """The win is replayed and not in doubt."""


def guard_look(
    known: HarmPrior, win: ArrayLike, candidate: ArrayLike, values: ArrayLike, *, rules: GuardRules = DEFAULT
) -> GuardLook:
    """Return where the guard stands after these replays.

    Parameters
    ----------
    known
        Control runs and noise of the wins.
    win, candidate, values
        Per replay, in order: place of the win, whether it was the candidate's arm, (replays, K) scores (NaN: missing;
        a replay with none is unscored).

    Examples
    --------
    >>> from harnesskit.stats.harm_prior import harm_prior
    >>> known = harm_prior(np.full((3, 3, 1), 0.8) + np.array([-0.1, 0, 0.1])[None, :, None])
    >>> look = guard_look(known, [0, 1, 1], [True] * 3, [[0.8], [0.5], [0.55]])
    >>> look.harm.round(2).tolist(), look.n_candidate.tolist(), round(look.evidence, 2)
    ([0.27, 51.78, 1.0], [1, 2, 0], 7.24)
    """
    return look_at(known, replayed(known, win, candidate, values), rules)


def replayed(known: HarmPrior, win: ArrayLike, candidate: ArrayLike, values: ArrayLike) -> WinRuns:
    """Return the running sums of the wins after these replays."""
    runs = WinRuns(known)
    for place, arm, row in zip(
        np.asarray(win, dtype=int).tolist(),
        np.asarray(candidate, dtype=bool).tolist(),
        np.asarray(values, dtype=float),
        strict=True,
    ):
        runs.add(place, arm, row)
    return runs


def look_at(known: HarmPrior, runs: WinRuns, rules: GuardRules = DEFAULT) -> GuardLook:
    """Return where the guard stands, from running sums that a caller keeps."""
    if rules.design == "classic":
        return _classic_look(known, runs, rules)
    wins = known.wins
    delta, half, harm, clipped = np.full(wins, np.nan), np.full(wins, np.nan), np.ones(wins), np.full(wins, np.nan)
    level = posterior_level(known, runs)
    groups = [win_changes(known, runs, sums, level) for sums in runs.groups()]
    scale = common_scale(groups) if known.fresh else 1.0
    one_run = one_run_factor(known, runs)
    for one in groups:
        at = one.sums.wins
        harm[at] = harm_ratios(known, runs, one, level, scale=scale, harms=rules.harms, one_run=one_run)
        delta[at], clipped[at] = one.change.mean(axis=1), one.clipped_s2
        half[at] = special.stdtrit(known.df[at], 0.975) * np.sqrt(scale * one.mean_s2)
    here = np.isfinite(delta)
    estimate, highest = _mean_drop(known, runs, delta[here], clipped[here], level, scale, rules)
    shares = np.asarray(rules.shares)[:, None]
    evidence = float(np.exp(np.log1p(shares * (harm - 1)).sum(axis=1)).mean())
    return GuardLook(
        runs.replays, runs.n_candidate.copy(), runs.n_control.copy(), runs.n_fresh.copy(),
        delta, delta - half, delta + half, harm, evidence, estimate, highest, here & (harm < AT_REST),
    )  # fmt: skip


def _classic_look(known: HarmPrior, runs: WinRuns, rules: GuardRules) -> GuardLook:
    wins = known.wins
    delta, s2, rank, reached = np.full(wins, np.nan), np.full(wins, np.nan), np.zeros(wins), np.zeros(wins)
    closed = np.zeros(wins, dtype=bool)
    for sums in runs.groups():
        at = sums.wins
        seen = classic_wins(known, runs, sums, planned=min(wins, rules.full), margin=rules.ni_margin)
        delta[at], s2[at], rank[at], reached[at], closed[at] = seen
    here = np.isfinite(delta)
    g = max(int(here.sum()), 1)
    estimate = float(delta[here].sum() / g) if here.any() else float("nan")
    reach = float(special.ndtri(rules.ni_level)) * float(s2[here].sum()) ** 0.5 / g
    half = special.stdtrit(known.df, 0.975) * np.sqrt(s2)
    return GuardLook(
        runs.replays, runs.n_candidate.copy(), runs.n_control.copy(), runs.n_fresh.copy(), delta, delta - half,
        delta + half, rank, float(reached.max(initial=0.0)), estimate,
        reach - estimate if here.any() else float("inf"), closed,
    )  # fmt: skip


def _mean_drop(
    known: HarmPrior, runs: WinRuns, delta: Floats, s2: Floats, level: Level, scale: float, rules: GuardRules
) -> tuple[float, float]:
    """Return the mean change over the replayed wins, and the upper bound of the mean drop."""
    if not len(delta):
        return float("nan"), float("inf")
    reach = float(special.ndtri(rules.ni_level))
    if known.fresh:
        change = captured_change(known, runs, scale)
        return change.mean, reach * change.se - change.mean
    doubt = np.sqrt(level.s2)
    common = float((np.outer(doubt, doubt) * known.correlation).mean())
    return float(delta.mean()), reach * float(s2.sum() / len(s2) ** 2 + common) ** 0.5 - float(delta.mean())
