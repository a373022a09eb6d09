"""Signed reviews: ``harnesskit/decisions.jsonl``, one per line, only ever appended to."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from harnesskit.workspace.decision_chain import TORN, chain_findings, read_chain, torn_lines
from harnesskit.workspace.fields import Fields
from harnesskit.workspace.jsonlines import JsonLines
from harnesskit.workspace.layout import DECISIONS
from harnesskit.workspace.problems import Problem
from harnesskit.workspace.reading import clean_text, to_json

SOURCE = "decisions"
ACTIONS = ("sign", "promote", "retire", "revoke")
_TIMES = ("at", "review_by")
_JSON = ("policy", "fingerprint")


class DecisionRow(NamedTuple):
    """One row of the table ``decisions``; policy and fingerprint are JSON text."""

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
    action: str = "sign"
    guard_hash: str | None = None
    fingerprint: str | None = None


def read_decisions(root: Path) -> tuple[list[DecisionRow], list[Problem]]:
    """Return the decisions in file order, and a problem for each that was refused; no file means no decisions.

    Of two records with one id the first is kept: a signed review is never replaced, only superseded. A record that was
    changed, or does not follow the one before it, is kept and named.
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
    return list(rows.values()), [*_chain(root, lines.problems), *problems]


def _chain(root: Path, said: list[Problem]) -> list[Problem]:
    """Return what was said of the lines and what the chain shows; a line torn by a crash is no problem any more."""
    links = read_chain(root / DECISIONS)
    torn = torn_lines(links)
    kept = [TORN.at(SOURCE, DECISIONS, one.line) if one.line in torn else one for one in said]
    return [*dict.fromkeys(kept), *(finding.at(SOURCE, DECISIONS, line) for line, finding in chain_findings(links))]


def _decision(fields: Fields) -> DecisionRow | None:
    decision_id = fields.text("decision_id")
    if not decision_id:
        fields.say("decision_id", "no_id", "decision_id is missing or empty; the record was left out.")
        return None
    apart = (*_TIMES, *_JSON, "action")
    values = {name: fields.text(name) for name in DecisionRow._fields[1:] if name not in apart}
    at = fields.time("at")
    review_by = None if fields.record.get("review_by") is None else fields.time("review_by")
    texts = {name: _json(fields.record.get(name)) for name in _JSON}
    action = fields.choice("action", ACTIONS) if "action" in fields.record else "sign"
    return DecisionRow(decision_id=decision_id, at=at, review_by=review_by, action=action, **texts, **values)


def _json(value: object) -> str | None:
    return None if value is None else clean_text(to_json(value))
