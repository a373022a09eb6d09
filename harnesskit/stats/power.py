"""Planning: how many runs a question needs, and what a number of runs can show."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import optimize, stats

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]


def t_power(n: float, *, delta: float, sd: float, alpha: float = 0.05) -> float:
    """Return the power of the one-sided one-sample t test with `n` values (R's ``power.t.test``).

    Examples
    --------
    >>> round(t_power(6, delta=0.1, sd=0.02**0.5), 4)
    0.4408
    """
    df = n - 1
    return float(stats.nct.sf(stats.t.isf(alpha, df), df, n**0.5 * delta / sd))


def t_sample_size(*, delta: float, sd: float, alpha: float = 0.05, power: float = 0.9) -> float:
    """Return the number of values the one-sided one-sample t test needs (not rounded up).

    Examples
    --------
    >>> round(t_sample_size(delta=0.1, sd=0.02**0.5), 3)
    18.567
    """
    normal = ((stats.norm.isf(alpha) + stats.norm.ppf(power)) * sd / delta) ** 2
    return float(
        optimize.brentq(
            lambda n: t_power(n, delta=delta, sd=sd, alpha=alpha) - power, 1.5, 10 * normal + 100, xtol=1e-10
        )
    )


def replays_per_arm(*, sd: ArrayLike, effect: float, cases: int = 1, alpha: float = 0.05, power: float = 0.9) -> Floats:
    """Return the replays per arm and case that show a mean effect over `cases`: 2 (z_a + z_b)^2 s^2 / (F effect^2).

    Normal approximation, both arms fresh, one-sided; not rounded up.

    Examples
    --------
    >>> replays_per_arm(sd=[0.1], effect=0.1, cases=3).round(2).tolist()
    [5.71]
    """
    reach = float(stats.norm.isf(alpha) + stats.norm.ppf(power))
    return np.asarray(2 * reach**2 * np.asarray(sd, dtype=float) ** 2 / (cases * effect**2), dtype=float)


def judge_repeats(*, judge_sd: float, agent_sd: float, replay_cost: float, judge_cost: float) -> float:
    """Return the best number of judge calls per replay: sqrt(s_j^2 / s_a^2 * replay cost / judge cost).

    The optimum of two-stage sampling (Cochran 1977); round it and keep it within 1 to 5.

    Examples
    --------
    >>> round(judge_repeats(judge_sd=0.12, agent_sd=0.06, replay_cost=20, judge_cost=1), 2)
    8.94
    """
    return float(judge_sd / agent_sd * (replay_cost / judge_cost) ** 0.5)


def smallest_drop(*, sd: ArrayLike, n: ArrayLike, m: ArrayLike, alpha: float = 0.05, power: float = 0.8) -> Floats:
    """Return the smallest drop of one case that is found with chance `power`: (z_a + z_b) s sqrt(1/n + 1/m).

    Parameters
    ----------
    sd
        Standard deviation of one run.
    n, m
        Candidate and baseline runs of the case.
    alpha
        One-sided level of the case, after sharing the error among cases and metrics.

    Examples
    --------
    >>> smallest_drop(sd=0.1, n=5, m=5).round(3).tolist()
    0.157
    """
    reach = float(stats.norm.isf(alpha) + stats.norm.ppf(power))
    spread = 1 / np.asarray(n, dtype=float) + 1 / np.asarray(m, dtype=float)
    return np.asarray(reach * np.asarray(sd, dtype=float) * np.sqrt(spread), dtype=float)


def further_runs(
    *, sd: ArrayLike, gap: ArrayLike, quantile: ArrayLike, n: ArrayLike, m: ArrayLike, most: int = 1000
) -> Floats:
    """Return the further candidate runs after which `quantile` standard errors fit into `gap`.

    The smallest N > n with quantile * sd * sqrt(1/N + 1/m) <= gap, minus n; the change is taken to stay as seen.
    NaN when no number of candidate runs does it (the baseline runs are too few) or more than `most` are needed.

    Examples
    --------
    >>> further_runs(sd=0.1, gap=0.1, quantile=0.85, n=1, m=5).tolist()
    1.0
    >>> further_runs(sd=0.1, gap=0.1, quantile=1.7, n=1, m=1).tolist()
    nan
    """
    width = np.asarray(quantile, dtype=float) * np.asarray(sd, dtype=float)
    room = np.asarray(gap, dtype=float)
    with np.errstate(divide="ignore", invalid="ignore"):
        spare = (room / width) ** 2 - 1 / np.asarray(m, dtype=float)
        needed = np.ceil(1 / spare - 1e-9)
    further = np.maximum(needed - np.asarray(n, dtype=float), 1.0)
    possible = (room > 0) & (spare > 0) & (further <= most)
    return np.asarray(np.where(possible, further, np.nan), dtype=float)


class MarginRule(NamedTuple):
    """How often a bare margin fires when nothing changed."""

    metric: float
    case: float
    any_of: float


def margin_false_alarms(*, sd: float, margin: float = 0.05, metrics: int = 4, cases: int = 3) -> MarginRule:
    """Return the chances that a change of `margin` turns up by chance, one run on each side, Gaussian noise.

    In one metric, in at least one of `metrics` independent ones, and in one metric of at least one of `cases`.

    Examples
    --------
    >>> round(margin_false_alarms(sd=0.1).metric, 3)
    0.362
    """
    one = float(stats.norm.sf(margin / (sd * 2**0.5)))
    return MarginRule(one, 1 - (1 - one) ** metrics, 1 - (1 - one) ** cases)


def breach_rule_promotions(rate: ArrayLike, *, sessions: int = 5, margin: float = 0.05) -> Floats:
    """Return how often "no breach, or a rate of at most `rate` - `margin`" promotes a rule that changes nothing.

    Binomial, the breach rate before the trial known exactly.

    Examples
    --------
    >>> breach_rule_promotions([0.1, 0.3, 0.5]).round(3).tolist()
    [0.59, 0.528, 0.5]
    """
    before = np.asarray(rate, dtype=float)
    most = np.maximum(np.floor((before - margin) * sessions + 1e-9), 0.0)
    return np.asarray(stats.binom.cdf(most, sessions, before), dtype=float)
