"""May a check start to enforce? The verdict on a grader with a bar that watched in shadow."""

from __future__ import annotations

from typing import Any

import pandas as pd

from harnesskit.decisions.guard_rule import Settled, decision, notes, read_evidence, settle
from harnesskit.decisions.wording import counted, shown
from harnesskit.model.decision import Decision
from harnesskit.model.promotion_policy import PromotionPolicy

MAIN = ("precision", "recall")
_BY = "decide_promotion()"
_WORDS = {"precision": "precision", "recall": "recall", "alarm_rate": "share of sessions that it would stop"}


def decide_check(
    evidence: pd.DataFrame, *, policy: str | PromotionPolicy = "budgeted", subject: str = "check"
) -> Decision:
    """Judge a check by its shadow run: ``promote`` (it may enforce), ``retire`` or ``pending``.

    Examples
    --------
    >>> rows = [{"check": name, "state": "met", "low": 0.82, "bar": 0.8} for name in ("precision", "recall")]
    >>> decide_check(pd.DataFrame(rows), subject="tone").verdict
    'promote'
    """
    rules = PromotionPolicy.parse(policy)
    rows = read_evidence(evidence, rules, MAIN, by=_BY)
    settled = settle(rows, MAIN)
    return decision(rows, settled, _reasons(rows, settled), subject=subject, guard_kind="check", policy=rules)


def _reasons(rows: pd.DataFrame, settled: Settled) -> list[str]:
    by_name: dict[str, Any] = {str(one.check): one for one in rows.itertuples(index=False)}
    first = str(settled.deciding["check"])
    said = []
    if settled.verdict == "promote":
        said.append("Precision and recall reach their bars at the lower end of their intervals.")
    elif first == "drift":
        said.append("Sessions changed since the newest label: what the labels say may not hold any more.")
    else:
        verb = "is beyond its bar" if settled.verdict == "retire" else "is not settled yet"
        said.append(f"The {_WORDS.get(first, first)} {verb}{_needed(settled)}.")
    said += [_numbers(by_name[name]) for name in (*MAIN, "alarm_rate") if name in by_name]
    return [*said, *notes(rows, "drift", "false_stops", "labels")]


def _needed(settled: Settled) -> str:
    what = "session" if settled.reason == "insufficient_evidence" else "label"
    return f"; about {counted(settled.runs_needed, f'more {what}')} would settle it" if settled.runs_needed else ""


def _numbers(one: Any) -> str:
    word = _WORDS[one.check]
    if pd.isna(one.estimate) or pd.isna(one.low) or pd.isna(one.high) or pd.isna(one.bar):
        return f"{word.capitalize()}: {one.note}." if isinstance(one.note, str) else ""
    value, low, high, bar = shown(float(one.estimate), float(one.low), float(one.high), float(one.bar))
    return f"{word.capitalize()} {value} ({low} to {high}), bar {bar}: {one.note}."
