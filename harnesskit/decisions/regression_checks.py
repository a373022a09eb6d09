"""The checks that a regression run is held against: wins protected, wins scored, mean drops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd

from harnesskit.decisions.wording import counted, name, shown
from harnesskit.model.decision import judge
from harnesskit.model.results import CHECKS, PLANNED

if TYPE_CHECKING:
    from collections.abc import Hashable

    from harnesskit.model.policy import RegressionPolicy

PROTECTED = "wins protected"
COVERAGE = "wins scored"
GLOBAL = "drop of the mean of all wins"
CASES = "cases unharmed"
KEPT = "results kept"
GLOBAL_CASES = 10
"""Wins below which the test of the mean over all wins is not made."""
GLOBAL_SHARE = 0.1
"""Share of the tolerance that a mean drop must reach before the test over all wins may fail a run."""


def mean_check(metric: str) -> str:
    """Return the name of the check of a metric's mean drop.

    Examples
    --------
    >>> mean_check("q")
    'mean drop in q'
    """
    return f"mean drop in {metric}"


Check: TypeAlias = dict[str, Any]
"""A row of the contract ``checks``; what is not named is missing."""


class Asked(NamedTuple):
    """How many cases a run was asked to replay, and how many of their results are not known."""

    n_asked: int
    n_unknown: int


NOTHING_LOST = Asked(0, 0)


def trial_checks(wins: pd.DataFrame, means: pd.DataFrame, policy: RegressionPolicy, asked: Asked) -> list[Check]:
    """Return the checks of a run that is judged by statistics."""
    rows = [_protected(wins, "win"), _coverage(wins, wins["delta"].notna() & wins["judged"], policy, asked)]
    if policy.trials is not None:
        rows.append(_plan(wins, policy, policy.trials))
    means = means[means["kind"] == "win"]
    known = {str(row["metric"]): row for row in means.to_dict("records")}
    drops = [_mean_drop(row, known.get(row.metric, {}), policy) for row in _with_baseline(wins)]
    rows += drops or [{"check": "mean drop", "state": "unknown", "n": 0, "note": "no win has a change to average"}]
    if policy.alpha_global:
        off_plan = any(row["check"] == PLANNED and row["state"] != "met" for row in rows)
        rows.append(_not_tested("the plan is not met") if off_plan else _global(means, policy))
    return rows


def floor_checks(wins: pd.DataFrame, policy: RegressionPolicy, asked: Asked) -> list[Check]:
    """Return the checks of a run that is held against a floor."""
    scored = wins["candidate"].notna() & wins["status"].isin(["regressed", "unchanged"])
    return [_protected(wins, "win", "fell below the floor"), _coverage(wins, scored, policy, asked)]


def margin_checks(deltas: pd.DataFrame, asked: Asked) -> list[Check]:
    """Return the check of the reference's rule, no case of either kind fell by the margin, and what is not known."""
    rows = [_protected(deltas, "case") | {"check": CASES}]
    if asked.n_unknown:
        n, lost = asked
        share = (n - lost) / n
        rows.append({"check": KEPT, "state": "unknown", "estimate": share, "bar": 1.0, "n": n, "note": _lost(asked)})
    return rows


def _protected(rows: pd.DataFrame, noun: str, worse_is: str = "got worse") -> Check:
    """Return the check that nothing got worse: unknown when most of what was compared could not be decided."""
    compared = rows["judged"] & rows["compared"]
    worse = set(rows.loc[rows["status"] == "regressed", "case_id"])
    undecided = len(set(rows.loc[compared & (rows["status"] == "inconclusive"), "case_id"].unique()) - worse)
    n = rows.loc[compared, "case_id"].nunique()
    state = "unmet" if worse else "unknown" if not n or 2 * undecided > n else "met"
    note = f"{len(worse)} of {counted(n, noun)} compared {worse_is}" if n else f"no {noun} could be compared"
    if undecided:
        note += f"; {undecided} could not be decided"
    return {"check": PROTECTED, "state": state, "estimate": float(len(worse)), "bar": 0.0, "n": n, "note": note}


def _coverage(
    wins: pd.DataFrame, scored: pd.Series[Any], policy: RegressionPolicy, asked: Asked = NOTHING_LOST
) -> Check:
    """Return the check that the wins are scored; a result that is not known may be a win's, so it counts as one."""
    known, got = wins["case_id"].nunique(), wins.loc[scored, "case_id"].nunique()
    n = known + asked.n_unknown
    share = got / n if n else float("nan")
    state = "met" if known and share >= policy.min_coverage - 1e-9 else "unknown"
    what = "known win" if asked.n_unknown else "win"
    sides = "" if policy.floor_score is not None else " on both sides"
    note = f"{got} of {counted(known, what)} scored{sides}" if known else f"no protected {what}"
    if asked.n_unknown:
        note += f"; {_lost(asked)}"
    return {"check": COVERAGE, "state": state, "estimate": share, "bar": policy.min_coverage, "n": n, "note": note}


def _lost(asked: Asked) -> str:
    """Return how many results are not known, in words."""
    return f"{asked.n_unknown} of {counted(asked.n_asked, 'result')} were not kept"


def _plan(wins: pd.DataFrame, policy: RegressionPolicy, planned: int) -> Check:
    """Return the check that the trials of a fixed plan are there, scored or not, of each win in every metric."""
    have = wins["n_candidate"].fillna(0).astype(int) + wins["n_unscored"].fillna(0).astype(int)
    least = have[wins["status"] != "skipped"].groupby(wins["case_id"], observed=True).min()
    n, got = len(least), int((least >= planned).sum())
    share = got / n if n else float("nan")
    state = "met" if n and share >= policy.min_coverage - 1e-9 else "unknown"
    spread = f" (have {int(least.min())}..{int(least.max())})" if n else ""
    note = f"{got} of {counted(n, 'win')} with the planned {counted(planned, 'trial')}{spread}"
    return {"check": PLANNED, "state": state, "estimate": share, "bar": policy.min_coverage, "n": n, "note": note}


class _Asked(NamedTuple):
    """The wins that have a baseline in a metric and were not skipped, and those with a score on both sides."""

    metric: str
    asked: int
    got: int
    captured: bool


def _with_baseline(wins: pd.DataFrame) -> list[_Asked]:
    """Return a row per metric that some win has a baseline in, and that a verdict is possible on."""
    metric, metrics = pd.factorize(wins["metric"], sort=True)
    rows = (wins["n_baseline"].fillna(0) > 0).to_numpy(dtype=bool) & (wins["status"] != "skipped").to_numpy(dtype=bool)
    captured = (wins["baseline_source"] == "captured").to_numpy(dtype=bool)
    flags = (wins["judged"].to_numpy(), np.ones(len(wins), dtype=bool), wins["delta"].notna().to_numpy(), captured)
    judged, asked, got, of_captured = (np.bincount(metric[rows & flag], minlength=len(metrics)) for flag in flags)
    return [
        _Asked(str(name), int(asked[at]), int(got[at]), bool(of_captured[at]))
        for at, name in enumerate(metrics)
        if judged[at]
    ]


def _mean_drop(here: _Asked, row: dict[Hashable, Any], policy: RegressionPolicy) -> Check:
    """Return the check of one metric; `row` is its mean drop, or nothing when none was compared."""
    metric, asked, got, captured = here
    bar = _number(row.get("tolerance"), policy.tolerance)
    drop, high = _number(row.get("drop")), _number(row.get("drop_bound"))
    state = judge(None, high, bar, at_most=True)
    if np.isnan(high):
        note = f"{counted(got, 'win')} with a score on both sides: too few for an interval"
    else:
        texts = shown(drop, high, bar)
        note = f"mean drop {texts[0]}, at most {texts[1]} with 95 % confidence; {texts[2]} would be too much"
    if state != "met" and captured and drop > bar:
        size = shown(drop, bar)[0]
        note = f"{size} mean drop against captured scores, which alone never fails a run; replay a control run"
    if got < policy.min_coverage * asked - 1e-9:
        state, note = "unknown", f"only {got} of {counted(asked, 'win')} scored in {name(metric)}; {note}"
    found = {"estimate": drop, "high": high, "bar": bar, "n": got, "note": note}
    return {"check": mean_check(metric), "state": "met" if state == "met" else "unknown", **found}


def _not_tested(why: str) -> Check:
    return {"check": GLOBAL, "state": "unknown", "bar": 0.0, "n": 0, "note": f"not tested: {why}"}


def _global(means: pd.DataFrame, policy: RegressionPolicy) -> Check:
    """Return the test of a small loss everywhere: half of alpha_global for all metrics together, half for each (Holm).

    It decides only on control baselines (captured wins fall by selection alone), from 10 wins on, and for a drop of at
    least a tenth of the tolerance.
    """
    half = policy.alpha_global / 2
    usable = means[(means["n_paired"] >= GLOBAL_CASES) & means["drop_p"].notna()] if "drop_p" in means else means[:0]
    row = {"check": GLOBAL, "state": "unknown", "bar": 0.0, "n": 0, "note": f"needs {GLOBAL_CASES} wins compared"}
    if not len(usable):
        return row
    estimate = float(usable["drop_all"].iloc[0])
    row |= {"estimate": estimate, "n": int(usable["n_paired"].max())}
    if (usable["baseline_source"] != "control").any():
        return row | {"note": "not tested: captured baselines of wins are biased by selection, they fall by themselves"}
    large = usable["drop"] >= GLOBAL_SHARE * usable["tolerance"]
    single = usable[large & (usable["drop_p"] * len(usable) <= half)].sort_values(["drop_p", "metric"])
    together = float(usable["drop_all_p"].iloc[0]) <= half and estimate >= GLOBAL_SHARE * float(
        usable["tolerance"].max()
    )
    if together or len(single):
        where = "all metrics together" if together else name(single["metric"].iloc[0])
        size = shown(estimate if together else float(single["drop"].iloc[0]), 0.0)[0]
        return row | {"state": "unmet", "note": f"the wins fell by {size} on average in {where}: more than chance"}
    return row | {"state": "met", "note": "no drop of the mean beyond chance"}


def _number(value: Any, missing: float = float("nan")) -> float:
    return missing if value is None or pd.isna(value) else float(value)


def checks_frame(rows: list[Check]) -> pd.DataFrame:
    """Return checks as a frame by the contract ``checks``."""
    frame = pd.DataFrame(rows, columns=list(CHECKS.columns))
    return frame.astype({"estimate": float, "low": float, "high": float, "bar": float, "n": "Int64"})
