"""Whose noise it is: the agent's, which another replay averages out, or the judge's, which another call does."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import stats

from harnesskit.stats.power import judge_repeats

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

MOST_CALLS = 5


class JudgeNoise(NamedTuple):
    """The variance of a run that is judged once, split; NaN where it cannot be."""

    judge_s2: float
    agent_s2: float
    df: float
    """Degrees of freedom behind the judge's part."""
    share: float
    """The judge's part of the variance."""


class Spread(NamedTuple):
    """An interval of a standard deviation."""

    low: float
    high: float


def sd_interval(s2: float, df: float, *, confidence: float = 0.9) -> Spread:
    """Return the chi-square interval of a standard deviation: s sqrt(df / chi2 quantiles); NaN without df.

    Examples
    --------
    >>> [round(end, 4) for end in sd_interval(0.01, 20)]
    [0.0798, 0.1358]
    """
    if df <= 0:
        return Spread(float("nan"), float("nan"))
    tail = (1 - confidence) / 2
    low, high = df * s2 / stats.chi2.isf([tail, 1 - tail], df)
    return Spread(float(low**0.5), float(high**0.5))


def split_judge(values: Floats, run: Ints, run_s2: float) -> JudgeNoise:
    """Return the judge's and the agent's part of the noise, by one-way ANOVA within runs.

    sigma_j^2 is the variance of a score within runs that were judged at least twice. The variance between the means of
    runs, `run_s2`, is sigma_a^2 + sigma_j^2 mean(1/r), r the calls of each run; sigma_a^2 is at least 0.

    Parameters
    ----------
    values, run
        One entry per judgement: its score, and the number of its run (from 0).
    run_s2
        Variance of the mean score of a run, within cases.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> agent, judge = rng.normal(0, 0.05, 4000), rng.normal(0, 0.1, (4000, 2))
    >>> scores = agent[:, None] + judge
    >>> found = split_judge(scores.ravel(), np.repeat(np.arange(4000), 2), float(scores.mean(axis=1).var()))
    >>> round(found.judge_s2, 3), round(found.agent_s2, 4), round(found.share, 1)
    (0.01, 0.0023, 0.8)
    """
    missing = float("nan")
    calls = np.bincount(run) if len(run) else np.zeros(0, dtype=np.int64)
    df = float(np.maximum(calls - 1, 0).sum())
    if not df:
        return JudgeNoise(missing, missing, 0.0, missing)
    mean = np.bincount(run, values) / np.maximum(calls, 1)
    judge = float(((values - mean[run]) ** 2).sum()) / df
    agent = max(float(run_s2) - judge * float((1 / calls[calls > 0]).mean()), 0.0)
    both = judge + agent
    return JudgeNoise(judge, agent, df, judge / both if both > 0 else missing)


def best_calls(noise: JudgeNoise, *, replay_cost: float) -> int | None:
    """Return the best number of judge calls per replay, 1 to 5; None where the noise was not split.

    Parameters
    ----------
    replay_cost
        Cost of one replay, in judge calls.

    Examples
    --------
    >>> best_calls(JudgeNoise(0.15**2, 0.05**2, 50.0, 0.9), replay_cost=1.0)
    3
    """
    if np.isnan(noise.judge_s2):
        return None
    if noise.agent_s2 <= 0:
        return MOST_CALLS if noise.judge_s2 > 0 else 1
    best = judge_repeats(
        judge_sd=noise.judge_s2**0.5, agent_sd=noise.agent_s2**0.5, replay_cost=replay_cost, judge_cost=1.0
    )
    return int(np.clip(round(best), 1, MOST_CALLS))
