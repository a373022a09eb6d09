"""How many more trials would settle the mean of the wins when that is what is open."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import stats

from harnesskit.decisions.mean_drop import mean_drop
from harnesskit.decisions.regression_checks import GLOBAL_CASES, GLOBAL_SHARE, mean_check
from harnesskit.decisions.wording import counted

if TYPE_CHECKING:
    import pandas as pd

    from harnesskit.model.policy import RegressionPolicy

_MEASURED = "moderated t"
_MOST = 100.0
"""Times the trials made, beyond which more trials are no plan."""


class MeanPlan(NamedTuple):
    """What would settle the mean drops that are open."""

    each: int | None
    """Further trials of every win, on both sides; None when no number of them would do."""
    total: int | None
    """The candidate's part of these, over all wins."""


def is_mean_check(check: str) -> bool:
    """Whether a check is that of a metric's mean drop.

    Examples
    --------
    >>> is_mean_check("mean drop in q"), is_mean_check("wins scored")
    (True, False)
    """
    return check.startswith(mean_check(""))


def plan_mean(wins: pd.DataFrame, checks: pd.DataFrame, policy: RegressionPolicy) -> MeanPlan | None:
    """Return how many more trials of every win settle the open mean drops; None when none is open with an interval.

    A mean is settled when its one-sided 95 % bound is below the tolerance or its drop is beyond chance, the change
    staying as seen. Its squared standard error is taken as se^2 (q / f + 1 - q) with f times the trials on both sides,
    q the part of it that is noise of runs: sum s^2 (1/n + 1/m) / N^2 / se^2 where the noise was measured, else 1.

    Parameters
    ----------
    wins
        Case deltas of wins with ``drop`` and ``unit``, as the decision reads them.
    checks
        The checks of the decision.
    """
    open_checks = set(checks.loc[checks["state"] == "unknown", "check"])
    rows = wins[wins["drop"].notna()]
    groups = [g for m, g in rows.groupby("metric", sort=True, observed=True) if mean_check(str(m)) in open_checks]
    if any(_fell_from_capture(group) for group in groups):
        return None  # a control run settles that, not more trials
    plans = [_factor(group, policy) for group in groups]
    factors = [factor for factor in plans if factor is not None]
    if not factors:
        return None
    factor = max(factors)
    if factor > _MOST:
        return MeanPlan(None, None)
    trials = rows.groupby("case_id", observed=True)["n_candidate"].max().astype(float)
    each = max(ceil(float(trials.mean()) * (factor - 1) - 1e-9), 1)
    return MeanPlan(each, each * len(trials))


def plan_sentence(plan: MeanPlan) -> str:
    """Return the plan in words.

    Examples
    --------
    >>> plan_sentence(MeanPlan(2, 240))
    'About 2 more trials of every win on both sides (240 of the candidate) would settle the mean, the change as seen.'
    """
    if plan.each is None:
        return "More trials of the same wins would hardly settle the mean: the wins differ too much; more wins would."
    what = counted(plan.each, "more trial")
    both = f"of every win on both sides ({plan.total} of the candidate)"
    return f"About {what} {both} would settle the mean, the change as seen."


def _fell_from_capture(rows: pd.DataFrame) -> bool:
    """Whether a metric fell by more than the tolerance from captured scores, which alone never fail a run."""
    bar = float((rows["tolerance"] / rows["unit"]).iloc[0])
    return bool((rows["baseline_source"] == "captured").any() and float(rows["drop"].mean()) > bar)


def _factor(rows: pd.DataFrame, policy: RegressionPolicy) -> float | None:
    """Return by which factor the trials have to grow; infinite when no factor is enough."""
    mean = mean_drop(
        *(rows.sort_values("case_id")[c].to_numpy(kind) for c, kind in (("drop", float), ("cluster", object)))
    )
    if np.isnan(mean.se) or mean.se <= 0:
        return None
    bar = float((rows["tolerance"] / rows["unit"]).iloc[0])
    targets = [(bar - mean.mean) / float(stats.t.isf(0.05, mean.df))]
    tested = policy.alpha_global > 0 and len(rows) >= GLOBAL_CASES and (rows["baseline_source"] == "control").all()
    if tested and mean.mean >= GLOBAL_SHARE * bar:
        level = policy.alpha_global / 2 / max(rows["metric"].nunique(), 1)
        targets.append(mean.mean / float(stats.t.isf(level, mean.df)))
    noise = _noise_share(rows, mean.se)
    spare = (max(targets) / mean.se) ** 2 - (1 - noise) if max(targets) > 0 else -1.0
    return max(noise / spare, 1.0) if spare > 0 else float("inf")


def _noise_share(rows: pd.DataFrame, se: float) -> float:
    """Return the part of the squared standard error that more trials take away; 1 where the noise is not measured."""
    if "interval_kind" not in rows or "sd" not in rows or not (rows["interval_kind"] == _MEASURED).all():
        return 1.0
    n, m, sd, unit = (rows[c].to_numpy(dtype=float) for c in ("n_candidate", "n_baseline", "sd", "unit"))
    noise = float((((sd / unit) ** 2) * (1 / n + 1 / m)).sum()) / len(rows) ** 2
    return float(np.clip(noise / se**2, 0.0, 1.0))
