"""The rules: the latest record of each in rules.jsonl, oldest rule first."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple

from harnesskit.model.records import Applicability, RuleRecord
from harnesskit.workspace.documents import kind_of
from harnesskit.workspace.fields import Fields
from harnesskit.workspace.jsonlines import JsonLines, Record
from harnesskit.workspace.layout import RULES
from harnesskit.workspace.problems import Finding, Problem, UnreadableError, shown
from harnesskit.workspace.reading import clean_text, to_json
from harnesskit.workspace.times import read_time

SOURCE = "rules"
STATUSES = ("candidate", "active", "retired")
APPLICABILITIES: tuple[Applicability, ...] = ("global", "topical", "task")
_COUNTS = ("baseline_sessions", "baseline_breached_sessions", "baseline_window", "replay_attempts")
_LATEST_TIME = datetime.max.replace(tzinfo=UTC)


class Rules(NamedTuple):
    """One record per rule, oldest rule first, and what had to be said."""

    rules: list[RuleRecord]
    problems: list[Problem]


class _History(NamedTuple):
    """The records of one rule, in file order."""

    rule_id: str
    records: list[Record]


def read_rules(path: str | Path, *, file: str = RULES) -> Rules:
    """Return the latest record of every rule, one per rule id, ordered by time of creation, then id.

    Rules of reading: the last line of an id holds; ``created_at`` is that of its first line with a readable time; a
    rule without one comes last. A status other than candidate, active or retired is ``unknown``, never active. A
    rule without a scope (0.6) is global.

    Examples
    --------
    >>> read_rules("no/such/rules.jsonl")
    Rules(rules=[], problems=[])
    """
    lines = JsonLines(path, SOURCE, file)
    histories: dict[str, _History] = {}
    for record in lines:
        findings: list[Finding] = []
        try:
            rule_id = _rule_id(record.value, findings)
            histories.setdefault(rule_id, _History(rule_id, [])).records.append(record)
        except UnreadableError as error:
            findings.append(error.finding)
        lines.problems.extend(finding.at(SOURCE, file, record.line) for finding in findings)
    rules = []
    for history in histories.values():
        rule, findings = _latest(history)
        rules.append(rule)
        lines.problems.extend(finding.at(SOURCE, file, history.records[-1].line) for finding in findings)
    rules.sort(key=lambda rule: (rule.created_at or _LATEST_TIME, rule.rule_id))
    lines.problems.sort(key=lambda problem: problem.line or 0)
    return Rules(rules, lines.problems)


def _rule_id(record: dict[str, Any], findings: list[Finding]) -> str:
    raw = record.get("id")
    if isinstance(raw, str) and raw:
        return clean_text(raw)
    if isinstance(raw, (int, float)) and not isinstance(raw, bool):
        message = f"id is the number {shown(raw)}; its text is taken as the id. Write it in quotes."
        findings.append(Finding("id", "problem", "not_text", message))
        return to_json(raw)
    found = f"found {kind_of(raw)}" if "id" in record else "it is missing"
    raise UnreadableError("no_id", f"A rule needs an id that is text and not empty; {found}. It was left out.", "id")


def _latest(history: _History) -> tuple[RuleRecord, list[Finding]]:
    """Return the rule by its last record; findings about superseded records, which are not used, are not made."""
    latest = history.records[-1].value
    fields = Fields(latest)
    status = fields.choice("status", STATUSES)
    earlier = [record.value.get("status") for record in history.records[:-1]]
    if "retired" in earlier and status in ("candidate", "active"):
        message = f"The rule was retired by an earlier record; its last record says {status} again, and holds."
        fields.say("status", "retired_then_reopened", message, "note")
    scope = _scope(fields)
    rule = RuleRecord(
        rule_id=history.rule_id,
        status=status,
        metric=fields.text("metric"),
        scope=scope,
        applicability=_applicability(fields, scope),
        tags=fields.labels("tags"),
        failure_signatures=fields.labels("failure_signatures"),
        rule=fields.text("rule", required=True),
        rationale=fields.text("rationale"),
        source_notice_id=fields.text("source_notice_id"),
        created_at=_created_at(history, fields),
        records=len(history.records),
        **_trial(latest, fields),
    )
    return rule, fields.findings


def _created_at(history: _History, fields: Fields) -> datetime | None:
    for record in history.records:
        moment = read_time(record.value.get("created_at"), "created_at")
        if moment.at is not None:
            fields.findings.extend([moment.finding] if moment.finding else [])
            return moment.at
    return fields.time("created_at")


def slug(text: str) -> str:
    """Return a scope as the reference harness writes it: lower case, other signs as ``-``, at most 48 characters.

    Examples
    --------
    >>> slug("Payments & Refunds!!"), slug("../../etc/passwd"), slug("  ")
    ('payments-refunds', 'etc-passwd', '')
    """
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:48].strip("-")


def _scope(fields: Fields) -> str:
    if "scope" not in fields.record:  # 0.6 had no scopes
        return "global"
    raw = fields.text("scope", required=True) or ""
    scope = slug(raw)
    if not scope:
        fields.say("scope", "bad_scope", f"scope is {kind_of(fields.record['scope'])}; the rule is filed as global.")
    elif scope != raw:
        fields.say("scope", "scope_rewritten", f"scope {shown(raw)} is read as {shown(scope)}.", "note")
    return scope or "global"


def _applicability(fields: Fields, scope: str) -> Applicability:
    derived: Literal["global", "topical"] = "global" if scope == "global" else "topical"
    found = fields.option("applicability", APPLICABILITIES)
    return next((known for known in APPLICABILITIES if known == found), derived)


def _trial(record: dict[str, Any], fields: Fields) -> dict[str, Any]:
    raw = record.get("trial")
    if raw is None:
        return {}
    if not isinstance(raw, dict):
        fields.say("trial", "wrong_type", f"trial must be an object or null; found {kind_of(raw)}. Read as no trial.")
        return {}
    trial = Fields(raw, "trial.")
    found: dict[str, Any] = {name: trial.integer(name, required=False) for name in _COUNTS}
    found["observed_sessions"] = trial.labels("observed_sessions")
    found["breached_sessions"] = trial.labels("breached_sessions")
    found["trial_started_at"] = trial.time("trial_started_at") if raw.get("trial_started_at") else None
    found["trial_verdict"] = trial.text("verdict") or None
    absent = [name for name in (*_COUNTS, "observed_sessions", "breached_sessions") if name not in raw]
    if absent:
        trial.say("", "missing_fields", f"The trial does not give {', '.join(absent)}.", "note")
    _doubt_trial(trial, found)
    fields.findings.extend(trial.findings)
    return {**found, "trial": raw}


def _doubt_trial(trial: Fields, found: dict[str, Any]) -> None:
    """Say what cannot be true of a trial; the values are kept as recorded."""
    base, breached = found["baseline_sessions"], found["baseline_breached_sessions"]
    if base is not None and breached is not None and breached > base:
        message = f"{breached} of {base} baseline sessions were breached: more than there were. Kept as recorded."
        trial.say("baseline_breached_sessions", "contradiction", message)
    outside = set(found["breached_sessions"]) - set(found["observed_sessions"])
    if outside:
        message = f"{len(outside)} breached sessions are not among the observed ones. Kept as recorded."
        trial.say("breached_sessions", "contradiction", message)
    repeats = len(found["breached_sessions"]) - len(set(found["breached_sessions"]))
    if repeats:
        trial.say("breached_sessions", "repeats", f"{repeats} repeated sessions; kept as recorded.", "note")
