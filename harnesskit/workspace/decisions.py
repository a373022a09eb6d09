"""Signed reviews: ``harnesskit/decisions.jsonl``, one per line, only ever appended to."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from harnesskit.workspace.fields import Fields
from harnesskit.workspace.jsonlines import JsonLines
from harnesskit.workspace.layout import DECISIONS
from harnesskit.workspace.problems import Problem
from harnesskit.workspace.reading import clean_text, to_json

SOURCE = "decisions"
_TIMES = ("at", "review_by")


class DecisionRow(NamedTuple):
    """One row of the table ``decisions``; the policy is JSON text."""

    decision_id: str
    at: datetime | None
    subject: str | None
    guard_kind: str | None
    verdict: str | None
    reason: str | None
    detail: str | None
    author: str | None
    approver: str | None
    note: str | None
    override: str | None
    policy: str | None
    policy_hash: str | None
    evidence_hash: str | None
    report_hash: str | None
    package_version: str | None
    review_by: datetime | None
    supersedes: str | None
    previous_hash: str | None


def read_decisions(root: Path) -> tuple[list[DecisionRow], list[Problem]]:
    """Return the decisions in file order, and a problem for each that was refused; no file means no decisions.

    Of two records with one id the first is kept: a signed review is never replaced, only superseded.
    """
    lines = JsonLines(root / DECISIONS, SOURCE, DECISIONS)
    rows: dict[str, DecisionRow] = {}
    problems: list[Problem] = []
    for line in lines:
        fields = Fields(line.value)
        row = _decision(fields)
        if row is not None and row.decision_id in rows:
            message = f"The decision {row.decision_id!r} was there before; the first is kept, this one left out."
            fields.say("decision_id", "duplicate_decision", message)
        elif row is not None:
            rows[row.decision_id] = row
        problems.extend(finding.at(SOURCE, DECISIONS, line.line) for finding in fields.findings)
    return list(rows.values()), [*lines.problems, *problems]


def _decision(fields: Fields) -> DecisionRow | None:
    decision_id = fields.text("decision_id")
    if not decision_id:
        fields.say("decision_id", "no_id", "decision_id is missing or empty; the record was left out.")
        return None
    values = {name: fields.text(name) for name in DecisionRow._fields[1:] if name not in (*_TIMES, "policy")}
    at = fields.time("at")
    review_by = None if fields.record.get("review_by") is None else fields.time("review_by")
    policy = fields.record.get("policy")
    text = None if policy is None else clean_text(to_json(policy))
    return DecisionRow(decision_id=decision_id, at=at, review_by=review_by, policy=text, **values)
