"""Sentences of a regression report: what was compared, the policy, what a chart shows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
from pydantic import ValidationError

from harnesskit.model.policy import RegressionPolicy
from harnesskit.model.text import shorten, visible
from harnesskit.reports.cells import cell, number

CAPTURED = (
    "Captured scores are biased by selection: a win was kept because it scored well once, so it tends to score lower "
    "when it is measured again, even when nothing has changed. A drop against a captured score is therefore weaker "
    "evidence than a drop against a control run, which measures the same case again without the change."
)


def compared(
    deltas: pd.DataFrame, comparison: pd.DataFrame, runs: pd.DataFrame | None = None, subject: str = ""
) -> list[str]:
    """Return the sentences that say what was compared; `runs` holds the run judged (`subject`) and its baseline."""
    cases = deltas["case_id"].nunique(dropna=False)
    metrics = deltas["metric"].nunique(dropna=False)
    said = [f"{count(cases, 'case')} on {count(metrics, 'metric')}: candidate minus baseline, one comparison per case."]
    if "n_baseline" in deltas and "n_candidate" in deltas:
        said.append(f"Trials per case and metric: {_spread(deltas['n_baseline'])} in the baseline, "
                    f"{_spread(deltas['n_candidate'])} in the candidate.")  # fmt: skip
    sources = _sources(deltas, comparison)
    if sources == {"control"}:
        said.append(_measured(runs, subject))
    elif sources == {"captured"}:
        said.append("The baseline is the captured scores: what each case scored when it was put into the set.")
    elif sources:
        said.append("The baseline is runs for some cases and captured scores for others.")
    return said


def _measured(runs: pd.DataFrame | None, subject: str) -> str:
    """Return what a baseline that was not captured is, by the roles of its runs."""
    others = None if runs is None or "run_id" not in runs else runs[runs["run_id"] != subject]
    if others is None or others.empty or "role" not in others:
        return "The baseline was measured in runs of its own; it is not the captured scores."
    names = ", ".join(f"{role} run {_name(run)}" for run, role in zip(others["run_id"], others["role"], strict=True))
    if (others["role"] == "control").all():
        return f"The baseline was measured again without the change: {names}."
    return f"The baseline is {names}: not a control run, so what changed between the two is for you to know."


def uses_captured(deltas: pd.DataFrame, comparison: pd.DataFrame) -> bool:
    """Whether any comparison rests on captured scores."""
    return bool(_sources(deltas, comparison) & {"captured", "mixed"})


def policy_words(policy: dict[str, Any]) -> list[str]:
    """Return the policy in sentences with its numbers."""
    try:
        known = RegressionPolicy.model_validate(policy)
    except ValidationError:
        return ["The decision was made under a policy of its own; its fields are in the table."]
    if known.floor_score is not None:
        return [f"Every protected win must score at least {known.floor_score:g}.", "This rule uses no statistics."]
    if known.margin is not None:
        rule = f"A change of {known.margin:g} or more in any metric decides a case, one replay each."
        return [rule, "This rule does not allow for noise: chance alone often fails it."]
    regressed = (
        f"A protected win counts as regressed when its drop is at least {known.min_drop:g} on the 0-to-1 scale and the "
        f"evidence passes a bound that keeps the chance of any false alarm over all wins at {known.alpha:g} or less."
    )
    unchanged = (
        f"It counts as unchanged when a drop of {known.tolerance:g} is excluded with {known.unchanged_level:.0%} "
        "confidence, one-sided. Anything between is inconclusive."
    )
    shared = f"Of the {known.alpha:g}, {known.alpha_global:g} is kept for a drop of the mean of all wins."
    needed = (
        f"A run passes when no win regressed, at least {known.min_coverage:.0%} of the wins are scored, and a drop of "
        "the mean by the tolerance is excluded in every metric; single wins may then stay inconclusive. "
        f"No win is called regressed on fewer than {count(known.min_trials, 'candidate trial')}."
    )
    words = [regressed, unchanged, shared, needed]
    if known.trials is not None:
        words.append(f"The plan is {count(known.trials, 'trial')} per case; a case with fewer is not judged.")
    return words


def policy_table(policy: dict[str, Any]) -> pd.DataFrame:
    """Return one row per field of the policy: its value and what it means."""
    fields = RegressionPolicy.model_fields
    rows = [(key, _setting(value), fields[key].description if key in fields else None) for key, value in policy.items()]
    return pd.DataFrame(rows, columns=["field", "value", "meaning"], dtype=object)


def _setting(value: Any) -> str:
    if value is None:
        return "not set"
    return f"{value:g}" if isinstance(value, int | float) and not isinstance(value, bool) else cell(value).text


def forest_finding(deltas: pd.DataFrame) -> str:
    """Return what a forest of case changes shows, in a sentence; `deltas` is sorted, worst first."""
    counts = deltas["status"].value_counts()
    said = f"{int(counts.get('regressed', 0))} of {count(len(deltas), 'change')} regressed, " + ", ".join(
        f"{int(counts.get(status, 0))} {status}" for status in ("inconclusive", "unchanged", "improved", "skipped")
    )
    compared_rows = deltas[deltas["delta"].notna()]
    if compared_rows.empty:
        return f"Changes of cases: {said}. Nothing could be compared."
    row = compared_rows.iloc[0]
    interval = cell(row["low"], "interval", high=row["high"]).text
    return (
        f"Changes of cases: {said}. First row: {_name(row['case_id'])} on {_name(row['metric'])}, "
        f"{row['status']}, change {number(float(row['delta']), signed=True)} (95 % interval {interval})."
    )


def comparison_finding(comparison: pd.DataFrame) -> str:
    """Return what the chart of mean changes shows, in a sentence per row, at most six."""
    said = []
    for row in comparison.head(6).to_dict("records"):
        change = cell(row["delta"], "change").text
        interval = cell(row["low"], "interval", high=row["high"]).text
        over = ""
        if clustered(row):
            over = f" over clusters, {cell(row['cases_low'], 'interval', high=row['cases_high']).text} over cases"
        said.append(f"{_name(row['kind'])} {_name(row['metric'])} {change} ({interval}{over})")
    more = len(comparison) - len(said)
    return "Mean change with its 95 % interval: " + "; ".join(said) + (f"; and {more} more." if more else ".")


def clustered(row: Mapping[Any, Any]) -> bool:
    """Whether a row of a comparison has an interval over clusters beside the one over cases."""
    return pd.notna(row.get("clusters_low")) and "cases_low" in row


def cluster_words(comparison: pd.DataFrame) -> list[str]:
    """Return what the two intervals of a comparison are; nothing when no case has a cluster."""
    if not any(clustered(row) for row in comparison.to_dict("records")):
        return []
    used = "Cases of one cluster may move together, so the interval over clusters is the one that the decision uses"
    return [f"{used}; the one over cases, which takes every case to stand alone, is shown beside it."]


def sequence_finding(looks: pd.DataFrame) -> str:
    """Return what the chart of an adaptive run shows, in a sentence."""
    cases = looks["case_id"].nunique()
    last = looks.groupby("case_id", sort=False).tail(1)
    crossed = last.loc[last["status"] == "regressed", "case_id"].tolist()
    first = looks[looks["case_id"] == looks["case_id"].iloc[0]].iloc[-1]
    end = "" if pd.isna(first["bound"]) else f" of {number(float(first['bound']))}"
    return (
        f"{count(cases, 'win')} looked at more than once; {len(crossed)} came beyond the boundary. First: "
        f"{_name(first['case_id'])}, {count(int(first['look']), 'look')}, evidence {number(float(first['z']))}{end}."
    )


def count(n: int, noun: str) -> str:
    """Return a count with its noun.

    Examples
    --------
    >>> count(1, "case"), count(1200, "case")
    ('1 case', '1,200 cases')
    """
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def _sources(deltas: pd.DataFrame, comparison: pd.DataFrame) -> set[str]:
    frames = [frame for frame in (deltas, comparison) if "baseline_source" in frame]
    return {str(value) for frame in frames for value in frame["baseline_source"].dropna().unique()}


def _spread(column: pd.Series[Any]) -> str:
    values = pd.to_numeric(column, errors="coerce").dropna()
    if values.empty:
        return "none"
    low, high = int(values.min()), int(values.max())
    return str(low) if low == high else f"{low} to {high}"


def _name(value: object) -> str:
    text = value if isinstance(value, str) else cell(value).text
    return shorten(visible(text), 60) or "(empty)"
