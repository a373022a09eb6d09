"""What the reference read from its workspaces, and what harnesskit reads, in one form: id -> field -> value.

Three differences are of notation only and end here: a time is written as its UTC instant where it has a zone; half a
surrogate pair is its ``\\udXXX`` escape; NaN, which no JSON can carry, is null (and a row of `problems`, which a test
of its own holds). A payload that the answers leave out for its size stands for its hash.
"""

from __future__ import annotations

import hashlib
import json
import math
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from harnesskit.harness import Harness

PLACES = {
    "small": "small/closed_loop_self_heal/workspace",
    "small_offline": "small/offline_self_heal/workspace",
    "small_0.6.3": "small_0.6.3/closed_loop_self_heal/harness",
    "mid": "mid",
    "messy": "messy",
}
"""Name of a set of answers to the folder of its workspace."""

ABSENT = "absent"
"""Value of the field ``record`` where a record is not there at all."""

Form = dict[str, dict[str, Any]]


class Difference(NamedTuple):
    """One field of one record that harnesskit and the reference read differently."""

    key: str
    field: str
    ours: Any
    theirs: Any


def differences(ours: Form, theirs: Form) -> list[Difference]:
    """Return every field that is not the same on both sides; a record on one side only is the field ``record``."""
    found = [Difference(key, "record", ABSENT, "read") for key in theirs.keys() - ours.keys()]
    found += [Difference(key, "record", "read", ABSENT) for key in ours.keys() - theirs.keys()]
    for key in ours.keys() & theirs.keys():
        for field in ours[key].keys() | theirs[key].keys():
            mine, other = ours[key].get(field), theirs[key].get(field)
            if _text(mine) != _text(other):  # as text, so that 1, 1.0 and true stay apart
                found.append(Difference(key, field, mine, other))
    return sorted(found, key=lambda difference: difference[:2])


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)


def answers(shared: Path, name: str, what: str) -> Any:
    """Return the reference's answers, NaN and surrogates in our notation."""
    text = (shared / "reference" / "expected" / name / f"{what}.json").read_text(encoding="utf-8")
    return _in_our_notation(json.loads(text))


def _in_our_notation(value: Any) -> Any:
    if isinstance(value, float) and math.isnan(value):
        return None
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, dict):
        return {_in_our_notation(key): _in_our_notation(item) for key, item in value.items()}
    return [_in_our_notation(item) for item in value] if isinstance(value, list) else value


def instant(text: Any) -> Any:
    """Return a time with a zone as its UTC instant, anything else as it is."""
    try:
        at = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return text
    return at.astimezone(UTC).isoformat() if at.tzinfo else text


def _plain(value: Any) -> Any:
    """Return a cell of a frame as plain Python; missing is None."""
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if value is None or pd.isna(value):
        return None
    if isinstance(value, pd.Timestamp):
        return value.isoformat()
    return value.item() if hasattr(value, "item") else value


def _rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    return [{name: _plain(value) for name, value in row.items()} for row in frame.to_dict("records")]


def our_cases(harness: Harness) -> Form:
    """Return the cases by id."""
    found = {}
    for row in _rows(harness.table("cases")):
        case = {name: row[name] for name in ("kind", "session_id", "created_at", "signature", "replayable", "notes")}
        case["baseline_scores"] = json.loads(row["baseline_scores"])
        payload = row["replay_input"]
        case["replay_input"] = None if payload is None else _short(json.loads(payload))
        found[row["case_id"]] = case
    return found


def _short(payload: Any) -> Any:
    """Return a payload of megabytes as the answers give it."""
    text = json.dumps(payload)
    if len(text) < 1_000_000:
        return payload
    return {"__omitted_bytes__": len(text), "sha256": hashlib.sha256(text.encode()).hexdigest()}


def their_cases(found: Any) -> Form:
    """Return the reference's cases by id; of two with one id, both, the second under ``<id> again``."""
    form: Form = {}
    for case in found["cases"]["ok"]:
        key = case.pop("id")
        case["created_at"] = instant(case["created_at"])
        form[f"{key} again" if key in form else key] = case
    return form


RULE_FIELDS = (
    "status", "metric", "scope", "applicability", "tags", "failure_signatures", "rule", "rationale",
    "source_notice_id", "created_at",
)  # fmt: skip
TRIAL_FIELDS = (
    "baseline_sessions", "baseline_breached_sessions", "baseline_window", "observed_sessions", "breached_sessions",
    "replay_attempts", "trial_started_at",
)  # fmt: skip


def our_rules(harness: Harness) -> Form:
    """Return the rules by id, the trial's columns among them."""
    names = (*RULE_FIELDS, *TRIAL_FIELDS, "trial_verdict")
    return {row["rule_id"]: {name: row[name] for name in names} for row in _rows(harness.table("rules"))}


def their_rules(found: Any) -> Form:
    """Return the reference's rules by id; a rule without a trial has no sessions and nothing else of one."""
    form: Form = {}
    for rule in found["all"]["ok"]:
        trial = rule["trial"] or {"observed_sessions": [], "breached_sessions": []}
        row = {name: rule[name] for name in RULE_FIELDS}
        row |= {name: trial.get(name) for name in TRIAL_FIELDS} | {"trial_verdict": trial.get("verdict")}
        form[rule["id"]] = row | {name: instant(row[name]) for name in ("created_at", "trial_started_at")}
    return form


NOTICE_FIELDS = (
    "session_id", "created_at", "turn_index", "severity", "signatures", "status", "summary", "flagged_traces",
    "recommended_scope", "applicability_hint",
)  # fmt: skip


def our_notices(harness: Harness) -> Form:
    """Return the notices that lie in the mailbox by id, ``folder`` and the fields of their scores among them."""
    found = {}
    for row in _rows(harness.table("notices")):
        if row["file"] is None:
            continue
        notice = {name: row[name] for name in NOTICE_FIELDS} | {"folder": row["file"].split("/")[1]}
        resolution = None if row["resolution"] is None else json.loads(row["resolution"])
        found[row["notice_id"]] = notice | _flat(json.loads(row["metrics"]), resolution)
    return found


def their_notices(found: Any, processed: Any) -> Form:
    """Return the reference's notices by id; `processed` are its answers for that folder."""
    form: Form = {}
    for folder, notices in (("processed", processed.values()), ("pending", found["pending"]["ok"])):
        for notice in notices:
            row = {name: notice[name] for name in NOTICE_FIELDS} | {"folder": folder}
            row["created_at"] = instant(row["created_at"])
            form[notice["id"]] = row | _flat(notice["metrics"], notice["resolution"])
    return form


def _flat(metrics: list[dict[str, Any]], resolution: dict[str, Any] | None) -> dict[str, Any]:
    fields = {f"metrics[{i}].{name}": value for i, score in enumerate(metrics) for name, value in score.items()}
    fields |= {f"resolution.{name}": value for name, value in (resolution or {}).items()}
    return fields | {"scores": len(metrics), "resolved": resolution is not None}


def our_history(harness: Harness) -> Form:
    """Return the values of each series by its key, oldest first, None where a value is unscored."""
    rows = harness.sql(
        """
        SELECT session_id || '::' || metric AS key, value
        FROM online_samples WHERE source = 'score history'
        ORDER BY key, split_part(sample_id, ':', -1)::INTEGER
        """
    )
    form: Form = {}
    for row in _rows(rows):
        form.setdefault(row["key"], {"values": []})["values"].append(row["value"])
    return form


def their_history(found: Any) -> Form:
    """Return the reference's series by key; one that it cannot read has the error as its values."""
    return {key: {"values": answer.get("ok", answer.get("raises", "").split(":")[0])} for key, answer in found.items()}
