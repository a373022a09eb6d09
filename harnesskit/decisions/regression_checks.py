"""The checks that a regression run is held against: wins protected, wins scored, mean drops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from harnesskit.decisions.wording import counted, name, shown
from harnesskit.model.decision import judge
from harnesskit.model.results import CHECKS

if TYPE_CHECKING:
    from harnesskit.model.policy import RegressionPolicy

PROTECTED = "wins protected"
COVERAGE = "wins scored"
GLOBAL = "drop of the mean of all wins"
CASES = "cases unharmed"
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


def trial_checks(wins: pd.DataFrame, means: pd.DataFrame, policy: RegressionPolicy) -> pd.DataFrame:
    """Return the checks of a run that is judged by statistics."""
    rows = [_protected(wins, "win"), _coverage(wins, wins["delta"].notna() & wins["judged"], policy)]
    means = means[means["kind"] == "win"]
    drops = [_mean_drop(wins, row, policy) for row in _with_baseline(wins, means)]
    rows += drops or [{"check": "mean drop", "state": "unknown", "n": 0, "note": "no win has a change to average"}]
    if policy.alpha_global:
        rows.append(_global(means, policy))
    return _frame(rows)


def floor_checks(wins: pd.DataFrame, policy: RegressionPolicy) -> pd.DataFrame:
    """Return the checks of a run that is held against a floor."""
    scored = wins["candidate"].notna() & wins["status"].isin(["regressed", "unchanged"])
    return _frame([_protected(wins, "win", "fell below the floor"), _coverage(wins, scored, policy)])


def margin_checks(deltas: pd.DataFrame) -> pd.DataFrame:
    """Return the one check of the reference's rule: no case of either kind fell by the margin."""
    return _frame([_protected(deltas, "case") | {"check": CASES}])


def _protected(rows: pd.DataFrame, noun: str, worse_is: str = "got worse") -> dict[str, Any]:
    worse = rows.loc[rows["status"] == "regressed", "case_id"].nunique()
    decided = rows.loc[rows["judged"] & rows["compared"], "case_id"].nunique()
    state = "unmet" if worse else "met" if decided else "unknown"
    note = f"{worse} of {counted(decided, noun)} compared {worse_is}" if decided else f"no {noun} could be compared"
    return {"check": PROTECTED, "state": state, "estimate": float(worse), "bar": 0.0, "n": decided, "note": note}


def _coverage(wins: pd.DataFrame, scored: pd.Series[Any], policy: RegressionPolicy) -> dict[str, Any]:
    asked, got = wins["case_id"].nunique(), wins.loc[scored, "case_id"].nunique()
    share = got / asked if asked else float("nan")
    state = "met" if asked and share >= policy.min_coverage - 1e-9 else "unknown"
    note = f"{got} of {counted(asked, 'win')} scored on both sides" if asked else "no protected win"
    if policy.floor_score is not None and asked:
        note = f"{got} of {counted(asked, 'win')} scored"
    return {"check": COVERAGE, "state": state, "estimate": share, "bar": policy.min_coverage, "n": asked, "note": note}


def _with_baseline(wins: pd.DataFrame, means: pd.DataFrame) -> list[dict[str, Any]]:
    """Return a row per metric that some win has a baseline in: its mean drop, or nothing when none was compared."""
    asked = wins[(wins["n_baseline"] > 0) & wins["judged"] & (wins["status"] != "skipped")]
    known = {str(row["metric"]): {str(k): v for k, v in row.items()} for row in means.to_dict("records")}
    return [{**known.get(metric, {}), "metric": metric} for metric in sorted(set(asked["metric"]))]


def _mean_drop(wins: pd.DataFrame, row: dict[str, Any], policy: RegressionPolicy) -> dict[str, Any]:
    metric = row["metric"]
    here = wins[(wins["metric"] == metric) & (wins["n_baseline"] > 0) & (wins["status"] != "skipped")]
    asked, got = len(here), int(here["delta"].notna().sum())
    bar = _number(row.get("tolerance"), policy.tolerance)
    drop, high = _number(row.get("drop")), _number(row.get("drop_bound"))
    state = judge(None, high, bar, at_most=True)
    if np.isnan(high):
        note = f"{counted(got, 'win')} with a score on both sides: too few for an interval"
    else:
        texts = shown(drop, high, bar)
        note = f"mean drop {texts[0]}, at most {texts[1]} with 95 % confidence; {texts[2]} would be too much"
    if got < policy.min_coverage * asked - 1e-9:
        state, note = "unknown", f"only {got} of {counted(asked, 'win')} scored in {name(metric)}; {note}"
    found = {"estimate": drop, "high": high, "bar": bar, "n": got, "note": note}
    return {"check": mean_check(metric), "state": "met" if state == "met" else "unknown", **found}


def _global(means: pd.DataFrame, policy: RegressionPolicy) -> dict[str, Any]:
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


def _frame(rows: list[dict[str, Any]]) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=list(CHECKS.columns))
    return frame.astype({"estimate": float, "low": float, "high": float, "bar": float, "n": "Int64"})
