"""Protected win, provisional, reject, or go on: the verdict on a fixed case."""

from __future__ import annotations

from typing import Any

import pandas as pd

from harnesskit.decisions.guard_rule import Settled, decision, notes, read_evidence, settle
from harnesskit.decisions.wording import counted
from harnesskit.model.decision import Decision
from harnesskit.model.promotion_policy import PromotionPolicy

MAIN = ("pass_rate",)
_BY = "decide_promotion()"


def decide_win(
    evidence: pd.DataFrame, *, policy: str | PromotionPolicy = "budgeted", subject: str = "case"
) -> Decision:
    """Judge a case by its fresh runs: ``promote`` (protected win), ``retire`` (reject, demoted) or ``pending``.

    A pending case whose runs all passed, well above the thresholds, is ``provisional``: guarded, but what it shows in
    a regression run is only suspect.

    Examples
    --------
    >>> rows = [{"check": "pass_rate", "state": "met", "estimate": 1.0, "n": 7, "bar": 0.8, "evidence": 0.914}]
    >>> decide_win(pd.DataFrame(rows), subject="c-1").detail
    'protected_win'
    """
    rules = PromotionPolicy.parse(policy)
    rows = read_evidence(evidence, rules, MAIN, by=_BY)
    settled = settle(rows, MAIN)
    return decision(
        rows, settled, _reasons(rows, settled, rules), subject=subject, guard_kind="case", policy=rules,
        detail=_detail(rows, settled),
    )  # fmt: skip


def _detail(rows: pd.DataFrame, settled: Settled) -> str:
    if settled.verdict == "promote":
        return "protected_win"
    if settled.verdict == "retire":
        return settled.detail if settled.detail in ("reject", "demoted") else "reject"
    sure = rows.loc[rows["check"] == "predicted_pass", "state"].eq("met").any()
    return "provisional" if sure and settled.reason == "insufficient_evidence" else settled.detail


def _reasons(rows: pd.DataFrame, settled: Settled, rules: PromotionPolicy) -> list[str]:
    found: Any = rows[rows["check"] == "pass_rate"].iloc[0]
    n = int(found["n"]) if pd.notna(found["n"]) else 0
    passes = round(float(found["estimate"]) * n) if pd.notna(found["estimate"]) else 0
    chance = f"{float(found['evidence']):.3f}" if pd.notna(found["evidence"]) else "not known"
    said = f"{passes} of {counted(n, 'fresh run')} passed; the chance of a pass rate of {rules.pass_bar:g} is {chance}"
    more = settled.runs_needed
    passes_left = "1 more pass" if more == 1 else f"{more} more passes in a row"
    ends = {
        "promote": f"{said}: it is a win to protect.",
        "retire": f"{said}: it is {'no longer' if settled.detail == 'demoted' else 'not'} a win to protect.",
        "pending": f"{said}; {passes_left} would settle it." if more else f"{said}.",
    }
    first = str(settled.deciding["check"])
    reasons = [ends[settled.verdict]]
    if first != "pass_rate":
        reasons = [*notes(rows, first), *reasons]
    if _detail(rows, settled) == "provisional":
        reasons.append(
            "It is provisional: every run passed with room, so it is guarded, and its regressions are suspect."
        )
    also = ("missing_data", *(("fresh_runs",) if first != "fresh_runs" else ()))
    return [*reasons, *notes(rows, *also, "near_duplicates", "coverage", "control_bank")]
