"""One journal record: from its JSON object to a row of the table events, every type kept.

The fields checked are those of the reference harness 0.6 to 0.9; other fields and other types are kept unchecked.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from harnesskit.workspace.documents import kind_of
from harnesskit.workspace.fields import Fields
from harnesskit.workspace.problems import Finding
from harnesskit.workspace.reading import clean_text, to_json
from harnesskit.workspace.rows import EventRow

_ABSENT = object()
_COUNTS = "total int, replayed int, improved int, unchanged int, regressed int, skipped int"
_REPAIR = "repair_episode_id text, notice_id text, notice_ids list, task_session_id text"
_RESULT = f"{_REPAIR}, status text, candidate_rule_ids list, considered_rule_ids list"
_RULE = "id text, status text, tags list, failure_signatures list"
_SPECS = {
    "notice": "id text, session_id text, metrics list, signatures list, severity text, observe_only bool",
    "recovery": "session_id text",
    "skip": "reason text, session_id text",
    "health": "ok bool, reason text?",
    "evalset_capture": "case_id text, session_id text, kind text, signatures list, replayable bool, skipped text",
    "regression": f"{_COUNTS}, clean bool, results list",
    "rule_add": _RULE,
    "rule_promote": f"{_RULE}, reason text?, validator text?",
    "rule_retire": "id text, reason text?, validator text?, evidence object?",
    "scope_index_regenerated": "path text, scopes list",
    "validation": "mode text, reason text",
    "validation_round_started": "queued_rule_ids list, budget_s number?, has_replay bool",
    "validation_candidate_started": "rule_id text, validator text, replay_attempts int, observed_sessions int",
    "validation_replay_case": "rule_id text, case_id text, kind text, session_id text, candidate_surfaced bool, "
    "deltas object, outcome text",
    "validation_verdict": "rule_id text, outcome text, validator text, reason text, details object",
    "validation_round_finished": "decided int, pending int, promoted int, retired int, budget_exhausted bool, "
    "elapsed_s number?",
    "repair_started": _REPAIR,
    "repair_model_turn": f"{_REPAIR}, turn int, tool_calls int, usage object?",
    "repair_tool_call": f"{_REPAIR}, turn int, tool text, ok bool",
    "repair_candidate_added": f"{_REPAIR}, rule_id text?, created bool",
    "repair_notice_resolved": "repair_episode_id text, notice_id text, session_id text, resolution text",
    "repair_completed": _RESULT,
    "repair_duplicate": _RESULT,
    "repair_already_covered": _RESULT,
    "repair_no_proposal": _RESULT,
    "repair_unactionable": _RESULT,
    "repair_timed_out": _RESULT,
    "repair_failed": _RESULT,
    "ack": "notice_id text, session_id text, rule_id text?, note text?",
    "reflect": "notice_count int, active_rule_count int, candidate_rule_count int",
    # ours: the reference harness skips them
    "turn_unscored": "session_id text, turn_index int, metrics list, reason text",
    "capture_failed": "session_id text, notice_id text, reason text",
}
_CHOICES = {
    ("validation_verdict", "outcome"): ("promote", "retire", "pending"),
    ("validation_replay_case", "outcome"): ("scored", "inconclusive", "env_wait_timeout", "candidate_not_exercised"),
}
_WORDS: dict[str, tuple[str, tuple[type, ...]]] = {
    "text": ("text", (str,)),
    "list": ("a list", (list,)),
    "object": ("an object", (dict,)),
    "bool": ("true or false", (bool,)),
    "int": ("a whole number", (int,)),
    "number": ("a number", (int, float)),
}


class FieldRule(NamedTuple):
    """What one field of one event type must hold when present; JSON null is ``NoneType`` in `types`."""

    field: str
    types: frozenset[type]
    words: str
    choices: tuple[str, ...]


def _rules(name: str, spec: str) -> tuple[FieldRule, ...]:
    rules = []
    for pair in spec.split(", "):
        field, kind = pair.split(" ")
        words, types = _WORDS[kind.rstrip("?")]
        null = (type(None),) if kind.endswith("?") else ()
        rules.append(FieldRule(field, frozenset((*types, *null)), words, _CHOICES.get((name, field), ())))
    return tuple(rules)


EVENT_FIELDS: dict[str, tuple[FieldRule, ...]] = {name: _rules(name, spec) for name, spec in _SPECS.items()}
"""Event types of the reference harness, and what their fields must hold when present."""


def read_event(record: dict[str, Any], offset: int, line: int | None) -> tuple[EventRow, list[Finding]]:
    """Return the row of one journal record and what had to be said about it; nothing is refused.

    ``rule_id`` is the field of that name, or ``id`` for the events whose type begins with ``rule_``; ``session_id``
    falls back on ``task_session_id``, which the repair events use.

    Examples
    --------
    >>> row, _ = read_event({"type": "rule_retire", "id": "r-1", "ts": "2026-06-01T00:00:00Z"}, 0, 1)
    >>> row.type, row.rule_id
    ('rule_retire', 'r-1')
    """
    fields = Fields(record)
    kind = _type(record, fields)
    ts = fields.time("ts")
    rule = "id" if kind.startswith("rule_") and "rule_id" not in record else "rule_id"
    session = "session_id" if "session_id" in record else "task_session_id"
    for known in EVENT_FIELDS.get(kind, ()):
        value = record.get(known.field, _ABSENT)
        if value is not _ABSENT and (type(value) not in known.types or known.choices):
            _check(kind, known, value, fields)
    row = EventRow(
        offset=offset,
        line=line,
        type=kind,
        ts=ts,
        rule_id=_identity(record.get(rule)),
        case_id=_identity(record.get("case_id")),
        session_id=_identity(record.get(session)),
        payload=to_json(record),
    )
    return row, fields.findings


def _type(record: dict[str, Any], fields: Fields) -> str:
    raw = record.get("type")
    if isinstance(raw, str) and raw:
        return raw if raw.isascii() else clean_text(raw)
    if raw is None or raw == "":
        found = kind_of(raw) if "type" in record else "missing"
        fields.say("type", "no_type", f"type is {found}; the record is kept as type unknown.")
        return "unknown"
    fields.say("type", "not_text", f"type is {kind_of(raw)}, not text; its text is taken as the type.")
    return clean_text(to_json(raw))


def _check(kind: str, known: FieldRule, value: Any, fields: Fields) -> None:
    what = f"{known.field} of a {kind} record must be"
    if type(value) not in known.types:
        message = f"{what} {known.words}; found {kind_of(value)}. The record is kept as it is."
        fields.say(known.field, "wrong_type", message)
    elif known.choices and value not in known.choices:
        message = f"{what} one of {', '.join(known.choices)}; found {kind_of(value)}. The record is kept as it is."
        fields.say(known.field, "unknown_value", message)


def _identity(raw: Any) -> str | None:
    if isinstance(raw, str):
        return (raw if raw.isascii() else clean_text(raw)) or None
    return None if raw is None else clean_text(to_json(raw))
