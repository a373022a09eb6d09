"""The reasons of a regression verdict, in plain sentences, the deciding ones first."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pandas as pd

from harnesskit.decisions.case_words import NAMED, got_worse, suspects
from harnesskit.decisions.evidence_notes import notes, one_sided_reasons, scale_note
from harnesskit.decisions.regression_checks import COVERAGE, GLOBAL, PROTECTED
from harnesskit.decisions.wording import and_more, counted, name, reasons_counted, shown
from harnesskit.model.case_status import ONE_SIDE, case_states
from harnesskit.model.results import GRADERS_DIFFER
from harnesskit.model.text import visible

if TYPE_CHECKING:
    from harnesskit.model.policy import RegressionPolicy

MOST_TRIALS = 50
"""Further trials of a case above which nobody is told to make them: the case cannot be settled this way."""
CAPTURED = (
    "is a captured score, which is biased by selection: wins were kept because they scored well, so part of any fall "
    "is to be expected"
)

NEXT = "Replay a control run, without the change, and compare with that."


def regressed_reasons(rows: pd.DataFrame, policy: RegressionPolicy) -> list[str]:
    """Return which cases got worse, then a sentence per case, the clearest first, at most five and a count."""
    return got_worse(rows, policy)


def verdict_reason(
    verdict: str, deciding: str, checks: pd.DataFrame, rows: pd.DataFrame, policy: RegressionPolicy
) -> list[str]:
    """Return what else decided: the checks not met, or why the run passes."""
    if verdict == "pass":
        return [_passed(checks, policy)]
    if not len(rows):
        return ["There is no protected win to compare, so nothing can be said."]
    if verdict == "fail":
        found = checks[(checks["check"] == GLOBAL) & (checks["state"] == "unmet")]
        return [f"{_start(note)}." for note in found["note"]]
    open_checks = checks[(checks["state"] == "unknown") & (checks["check"] != GLOBAL)]
    open_checks = open_checks.sort_values("check", key=lambda check: check != deciding, kind="stable")
    if not len(open_checks):
        return ["No metric allows a verdict, so nothing can be said."]
    first = [*_two_graders(rows), *_collapse(rows, policy)]
    return first + [
        _open_words(str(check), str(note), policy)
        for check, note in zip(open_checks["check"], open_checks["note"], strict=True)
    ]


def _open_words(check: str, note: str, policy: RegressionPolicy) -> str:
    """Return what a check that is not met leaves open, in plain words."""
    if check == COVERAGE and " scored" in note:
        only = "" if "not kept" in note else "Only "
        said = re.sub(r"(wins?) scored(?: on both sides)?", r"protected \1 were scored", note, count=1)
        said = said.replace("known protected", "protected").replace("win were", "win was")
        return f"{only}{said}; at least {100 * policy.min_coverage:g} % are needed."
    if check == PROTECTED and note.startswith("no "):
        return f"{_start(note)}."
    if check == PROTECTED:
        return f"Too few wins could be decided one by one: {note}."
    return f"Open: {check}: {note.removeprefix('mean drop ')}."


def _two_graders(rows: pd.DataFrame) -> list[str]:
    """Return a sentence per metric that two graders scored, at most five."""
    apart = rows[rows["reason"].astype(str).str.startswith(GRADERS_DIFFER)].drop_duplicates("metric")
    pairs = zip(apart["metric"].head(NAMED), apart["reason"].head(NAMED), strict=True)
    said = [f"No verdict in {name(m)}: {visible(str(why))}; score both sides with one grader" for m, why in pairs]
    return and_more(said, len(apart), "metric")


def _collapse(rows: pd.DataFrame, policy: RegressionPolicy) -> list[str]:
    """Return what the eye sees when wins fell far below their captured scores, and why that decides nothing."""
    of_wins = (rows["kind"] == "win") & (rows["baseline_source"] == "captured") & rows["drop"].notna()
    captured = rows.loc[of_wins, ["metric", "drop"]]
    if captured.empty or policy.floor_score is not None or policy.margin is not None:
        return []
    means = captured.groupby("metric", observed=True)["drop"].mean()
    metric = str(means.idxmax())
    fall, here = float(means.max()), captured[captured["metric"] == metric]
    if fall <= policy.tolerance:
        return []
    where = "" if len(means) == 1 else f" in {name(metric)}"
    lower = f"{int((here['drop'] > 0).sum())} of {counted(len(here), 'win')} scored lower than when captured{where}"
    why = "a captured baseline cannot decide: wins were kept because they scored well"
    return [f"{lower}, by {shown(fall, policy.tolerance)[0]} on average; {why}. {NEXT}"]


def _passed(checks: pd.DataFrame, policy: RegressionPolicy) -> str:
    first, n = checks.iloc[0], int(checks["n"].iloc[0])
    if policy.margin is not None:
        return f"None of the {counted(n, 'case')} compared got worse by {policy.margin:g} or more."
    if policy.floor_score is not None:
        return f"All of the {counted(int(first['n']), 'win')} scored stand at {policy.floor_score:g} or above."
    means = checks[checks["high"].notna()]
    worst = means.assign(room=means["bar"] - means["high"]).sort_values(["room", "check"]).iloc[0]
    high, bar = shown(float(worst["high"]), float(worst["bar"]))
    each = "" if first["state"] == "met" else " (most of them could not be decided one by one)"
    return (
        f"None of the {counted(n, 'win')} compared got worse beyond noise{each}, and the mean drop stays below the "
        f"tolerance in every metric (closest: {name(worst['check'])}, at most {high} with 95 % confidence, "
        f"tolerance {bar})."
    )


def open_points(rows: pd.DataFrame, judged: pd.DataFrame, checks: pd.DataFrame, policy: RegressionPolicy) -> list[str]:
    """Return what a reader has to know besides the verdict: suspects, bias, what was left out, what failures did."""
    return [
        *scale_note(policy),
        *suspects(judged),
        *_captured(judged, policy),
        *_left_out(judged),
        *one_sided_reasons(rows),
        *_no_verdict(rows),
        *notes(rows),
        *_more_runs(judged),
        *(_failures(rows) if policy.margin is None else []),
    ]


def _captured(rows: pd.DataFrame, policy: RegressionPolicy) -> list[str]:
    captured = rows.loc[(rows["baseline_source"] == "captured") & (rows["kind"] == "win") & rows["delta"].notna()]
    n = captured["case_id"].nunique()
    return [f"The baseline of {counted(n, 'win')} {CAPTURED}."] if n and policy.floor_score is None else []


def _left_out(rows: pd.DataFrame) -> list[str]:
    found = []
    noun = "case" if (rows["kind"] != "win").any() else "win"
    tried = rows.loc[rows["status"] != "skipped", "case_id"].unique()
    gone = rows.loc[~rows["case_id"].isin(tried), ["case_id", "reason"]].drop_duplicates("case_id")
    if len(gone):
        found.append(f"{counted(len(gone), noun)} skipped: {reasons_counted(gone['reason'], once=True)}.")
    apart = (rows["state"] == "inconclusive") & ~rows["compared"]
    lacking = rows.loc[apart, ["case_id", "reason"]].drop_duplicates()
    if len(lacking):
        found.append(f"Not compared: {reasons_counted(lacking['reason'])}.")
    return found


def _no_verdict(rows: pd.DataFrame) -> list[str]:
    blind = rows[~rows["judged"] & rows["delta"].notna()].drop_duplicates("metric").sort_values("metric")
    pairs = zip(blind["metric"].head(NAMED), blind["reason"].head(NAMED), strict=True)
    return and_more([f"No verdict on {name(metric)}: {reason}" for metric, reason in pairs], len(blind), "metric")


def runs_to_settle(rows: pd.DataFrame) -> pd.Series[Any]:
    """Return the candidate trials that would settle each open case (its neediest metric), where that is known."""
    open_rows = rows.loc[(rows["state"] == "inconclusive") & rows["judged"], ["case_id", "runs_needed"]]
    needed: pd.Series[Any] = open_rows.groupby("case_id", observed=True)["runs_needed"].max().dropna()
    return needed


def _more_runs(rows: pd.DataFrame) -> list[str]:
    open_rows = rows.loc[(rows["state"] == "inconclusive") & rows["judged"], "case_id"]
    if not len(open_rows):
        return []
    needed = runs_to_settle(rows)
    few = needed[needed <= MOST_TRIALS]
    text = f"{counted(open_rows.nunique(), 'case')} inconclusive in some metric"
    if len(few):
        text += f"; about {counted(int(few.sum()), 'more trial')} would settle {len(few)} of them"
    if len(few) < len(needed):
        text += f"; {len(needed) - len(few)} would take more than {MOST_TRIALS} trials each"
    return [f"{text}."]


def _failures(rows: pd.DataFrame) -> list[str]:
    failures = rows[rows["kind"] != "win"]
    if not len(failures):
        return []
    counts = case_states(failures).value_counts()
    said = {"inconclusive": "inconclusive in some metric", ONE_SIDE: "without a comparison"}
    told = ("improved", "unchanged", "regressed", "inconclusive", "skipped", ONE_SIDE)
    text = ", ".join(f"{counts[s]} {said.get(s, s)}" for s in told if s in counts.index)
    return [f"Failures are shown and never decide: of {counted(int(counts.sum()), 'failure')} {text}."]


def _start(text: str) -> str:
    return text[:1].upper() + text[1:]
