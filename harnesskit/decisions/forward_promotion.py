"""Promote, retire or pending from a forward trial."""

from __future__ import annotations

from typing import Any

import pandas as pd

from harnesskit.decisions.guard_rule import Settled, decision, notes, read_evidence, settle
from harnesskit.decisions.wording import shown
from harnesskit.model.decision import Decision
from harnesskit.model.promotion_policy import PromotionPolicy

MAIN = ("randomised", "benefit")
_BY = "decide_promotion()"


def is_forward(evidence: pd.DataFrame) -> bool:
    """Return whether evidence about a rule comes from a forward trial."""
    return "check" in evidence and bool((evidence["check"] == "randomised").any())


def decide_forward(
    evidence: pd.DataFrame, *, policy: str | PromotionPolicy = "open_ended", subject: str = "rule"
) -> Decision:
    """Judge a rule by its forward trial: ``promote``, ``retire`` or ``pending``.

    Examples
    --------
    >>> rows = [{"check": "randomised", "state": "met"}, {"check": "benefit", "state": "met", "estimate": 0.2}]
    >>> str(decide_forward(pd.DataFrame(rows)))
    'rule: PROMOTE: Sessions with the rule scored 0.20 better on average.'
    """
    rules = PromotionPolicy.parse(policy)
    rows = read_evidence(evidence, rules, ("benefit",), by=_BY)
    main = [name for name in MAIN if name in set(rows["check"])]
    settled = settle(rows, main)
    if settled.verdict == "promote":
        settled = settled._replace(reason="benefit")
    if settled.verdict == "pending" and settled.reason == "insufficient_evidence":
        running = _row(rows, "benefit")["state"] != "met" and _row(rows, "randomised").get("state") == "met"
        settled = settled._replace(reason="trial_in_progress" if running else settled.reason)
    return decision(rows, settled, _reasons(rows, settled), subject=subject, guard_kind="rule", policy=rules)


def _row(rows: pd.DataFrame, check: str) -> dict[str, Any]:
    found = rows[rows["check"] == check]
    return {} if found.empty else {str(k): None if pd.isna(v) else v for k, v in found.iloc[0].to_dict().items()}


def _reasons(rows: pd.DataFrame, settled: Settled) -> list[str]:
    benefit = _row(rows, "benefit")
    first = settled.deciding
    said = []
    if settled.verdict == "promote":
        said.append(f"Sessions with the rule scored {_effect(benefit)} better on average{_interval(benefit)}.")
    elif settled.verdict == "retire" and str(first["check"]).startswith("guardrail"):
        said.append(f"{first.get('metric')} got worse with the rule{_by(first)}: the trial stops for harm.")
    elif settled.verdict == "retire":
        said.append(
            f"An effect of {first.get('bar') or 0:g} or more on {benefit.get('metric') or 'the target'} is ruled out"
            f"{_by(benefit)}."
            if first["check"] == "futility"
            else f"Sessions with the rule scored worse{_by(benefit)}."
        )
    elif first["check"] == "benefit":
        said.append(f"The trial has not decided yet{_by(benefit)}{_needed(settled)}.")
    else:
        said += notes(rows, str(first["check"]))
    if first["check"] == "futility":
        said.append(_scale(first, f"an effect below {float(first.get('bar') or 0):g}"))
    elif first["check"] != "benefit" or settled.verdict == "promote":
        said.append(_scale(benefit, "a benefit"))
    said += notes(rows, "benefit", "missing_data", "breach_rate", "assignment")
    if first["check"] != "randomised":
        said += notes(rows, "randomised")
    return said


def _effect(row: dict[str, Any]) -> str:
    return shown(abs(float(row["estimate"])))[0] if row.get("estimate") is not None else "measurably"


def _interval(row: dict[str, Any]) -> str:
    if row.get("low") is None or row.get("high") is None:
        return ""
    low, high = shown(float(row["low"]), float(row["high"]))
    return f" (95 % on both sides, at every look: {low} to {high})"


def _by(row: dict[str, Any]) -> str:
    if row.get("estimate") is None:
        return ""
    return f" (change {float(row['estimate']):+.2f}, {int(row.get('n') or 0)} units)"


def _scale(row: dict[str, Any], of: str) -> str:
    if row.get("evidence") is None or row.get("bound") is None:
        return ""
    what = "E-value" if row.get("scale") == "e" else "Z"
    looks = int(row.get("looks") or 0)
    return f"{what} for {of}: {float(row['evidence']):.3g}, bound {float(row['bound']):.3g}, after {looks} looks."


def _needed(settled: Settled) -> str:
    return f"; about {settled.runs_needed} more sessions settle it" if settled.runs_needed else ""
