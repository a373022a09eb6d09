"""One notice: from the JSON object of its file or of its journal record to a `NoticeRecord`, by stated rules."""

from __future__ import annotations

from typing import Any

from harnesskit.model.records import NoticeRecord, ResolutionKind, Severity
from harnesskit.workspace.documents import kind_of
from harnesskit.workspace.fields import Fields, read_score
from harnesskit.workspace.problems import UnreadableError
from harnesskit.workspace.reading import to_json
from harnesskit.workspace.rules import APPLICABILITIES

SEVERITIES: tuple[Severity, ...] = ("breach", "trend", "needs_human")
STATUSES = ("pending", "acknowledged")
RESOLUTIONS: tuple[ResolutionKind, ...] = ("candidate", "duplicate", "already_covered", "no_proposal", "unactionable")


def read_notice(
    record: dict[str, Any], *, file: str | None, fallback_id: str | None = None
) -> tuple[NoticeRecord, Fields]:
    """Return the notice in `record`, and its fields with what had to be said about them.

    Rules of reading: a severity or status the harness does not know is ``unknown``, never breach or pending; the
    severity ``relative`` of versions before 0.8 is trend; a field that 0.6 or 0.7 did not write is missing.

    Parameters
    ----------
    record
        The object.
    file
        Path of its file relative to the workspace; None for a journal record.
    fallback_id
        Id to use, with a finding, when the object gives none.

    Raises
    ------
    UnreadableError
        There is no id, and no `fallback_id` either.
    """
    fields = Fields(record)
    notice_id = fields.text("id") or fallback_id
    if not notice_id:
        raise UnreadableError("no_id", "A notice needs an id that is text and not empty. It was left out.", "id")
    if not record.get("id"):
        fields.say("id", "no_id", "The notice gives no id; the name of its file is taken.")
    resolution = _resolution(fields)
    notice = NoticeRecord(
        notice_id=notice_id,
        session_id=fields.text("session_id", required=True),
        created_at=fields.time("created_at" if file or "created_at" in record else "ts"),
        turn_index=fields.integer("turn_index", required=file is not None),
        severity=_severity(fields),
        signatures=fields.labels("signatures"),
        status=fields.choice("status", STATUSES) if file or "status" in record else "unknown",
        summary=fields.text("summary"),
        metrics=to_json(_metrics(fields)),
        flagged_traces=fields.labels("flagged_traces"),
        recommended_scope=_scope(fields),
        applicability_hint=fields.option("applicability_hint", APPLICABILITIES),
        observe_only=record.get("observe_only") is True,
        file=file,
        **resolution,
    )
    return notice, fields


def _severity(fields: Fields) -> str:
    if fields.record.get("severity") == "relative":
        message = "severity 'relative', which versions before 0.8 wrote, is read as trend."
        fields.say("severity", "old_severity", message, "note")
        return "trend"
    return fields.choice("severity", SEVERITIES)


def _scope(fields: Fields) -> str | None:
    scope = fields.text("recommended_scope")
    if scope is not None and not scope.strip():
        fields.say("recommended_scope", "blank", "recommended_scope is blank; it is kept as missing.", "note")
        return None
    return scope


def _resolution(fields: Fields) -> dict[str, Any]:
    raw = fields.record.get("resolution")
    if raw is None:
        return {}
    if not isinstance(raw, dict):
        message = f"resolution must be an object or null; found {kind_of(raw)}. It is kept as missing."
        fields.say("resolution", "wrong_type", message)
        return {}
    inner = Fields(raw, "resolution.")
    found = {
        "resolution": to_json(raw),
        "resolution_kind": inner.option("kind", RESOLUTIONS),
        "resolution_rule_id": inner.text("rule_id"),
    }
    inner.time("acked_at")
    fields.findings.extend(inner.findings)
    return found


def _metrics(fields: Fields) -> list[dict[str, Any]]:
    raw = fields.record.get("metrics")
    if not isinstance(raw, list):
        found = kind_of(raw) if "metrics" in fields.record else "nothing"
        fields.say("metrics", "not_a_list", f"metrics must be a list; found {found}. It is read as empty.")
        return []
    kept = []
    for index, item in enumerate(raw):
        if isinstance(item, dict):
            inner = Fields(item, f"metrics[{index}].")
            kept.append(_metric(inner))
            fields.findings.extend(inner.findings)
        else:
            message = f"An alerting score must be an object; found {kind_of(item)}. It was left out."
            fields.say(f"metrics[{index}]", "not_an_object", message)
    return kept


def _metric(fields: Fields) -> dict[str, Any]:
    """Return one alerting score: usable numbers and lists, null or empty where there was something else."""
    found = dict(fields.record)
    found["name"] = fields.text("name", required=True)
    value, reason = read_score(found.get("value"))
    if value is None:
        found["value"] = None
        fields.say("value", "not_a_number", f"value: {reason}; it is unscored.")
    if found.get("threshold") is not None:
        found["threshold"] = fields.number("threshold")
    found["conditions"] = list(fields.labels("conditions"))
    if "tier" in found:  # written since 0.7
        found["tier"] = fields.integer("tier")
    return found
