"""One eval case: from the JSON object of its file to a row, by stated rules, with a finding for every departure."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any, NamedTuple

from harnesskit.model.errors import nearest
from harnesskit.workspace.problems import Finding, UnreadableError, shown
from harnesskit.workspace.reading import clean_text, to_json
from harnesskit.workspace.times import read_time

FIELDS = (
    "baseline_scores", "created_at", "id", "kind", "notes", "replay_input", "session_id", "signature",
)  # fmt: skip
_FIELDS = frozenset(FIELDS)
_KINDS = {"failure": "failure", "win": "win"}
_keys: dict[tuple[str, ...], str] = {}


class CaseRow(NamedTuple):
    """One row of the table ``cases`` (see `harnesskit.model.frames.CASES`); JSON columns as text."""

    case_id: str
    kind: str
    session_id: str | None
    created_at: datetime | None
    signature: list[str]
    signature_key: str
    baseline_scores: str
    replay_input: str | None
    replayable: bool
    notes: str | None
    file: str
    content_hash: str


def signature_key(signature: list[str]) -> str:
    """Return the JSON of the sorted labels, repeats and letter case kept: one text per distinct signature.

    Examples
    --------
    >>> signature_key(["b", "a", "b"])
    '["a","b","b"]'
    """
    labels = tuple(signature)
    key = _keys.get(labels)
    if key is None:
        key = to_json(sorted(labels))
        if len(_keys) < 10_000:  # a set has few distinct signatures; a hostile one must not grow this for ever
            _keys[labels] = key
    return key


def plain_row(value: Any, file: str, digest: str) -> CaseRow | None:
    """Return the row of a case that needs no rule at all, or None: the quick way for the usual file."""
    try:
        if not _FIELDS.issuperset(value):
            return None
        case_id, session, notes = value["id"], value["session_id"], value["notes"]
        labels, scores = value["signature"], value["baseline_scores"]
        kind, at = _KINDS[value["kind"]], datetime.fromisoformat(value["created_at"])
        payload = value.get("replay_input")
        text = "".join(labels)  # a TypeError here is a label that is not text
        total = sum(scores.values())
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
    if not (type(case_id) is type(session) is type(notes) is str and type(labels) is list and case_id):
        return None
    if type(scores) is not dict or "" in scores or not math.isfinite(total) or at.tzinfo is not UTC:
        return None
    for score in scores.values():
        if type(score) is not float and type(score) is not int:
            return None
    del text
    return CaseRow(
        case_id, kind, session, at.replace(tzinfo=None), labels, _keys.get(tuple(labels)) or signature_key(labels),
        to_json(scores), None if payload is None else to_json(payload), payload is not None, notes, file, digest,
    )  # fmt: skip


def interpret(value: Any, file: str, digest: str) -> tuple[CaseRow, list[Finding]]:
    """Return the row of a case and what had to be said about it.

    Raises
    ------
    UnreadableError
        Not an object, or without a usable id.
    """
    if not isinstance(value, dict):
        what = type(value).__name__.replace("str", "text").replace("dict", "object")
        raise UnreadableError("not_an_object", f"A case is a JSON object; found {what}. It was left out.")
    said: list[Finding] = []
    case_id = _identity(value, said)
    _unknown_fields(value, said)
    labels = _signature(value, said)
    payload = value.get("replay_input")
    moment = read_time(value.get("created_at"), "created_at")
    said.extend([moment.finding] if moment.finding else [])
    row = CaseRow(
        case_id=case_id,
        kind=_kind(value, said),
        session_id=_text(value, "session_id", said),
        created_at=moment.at.replace(tzinfo=None) if moment.at else None,
        signature=labels,
        signature_key=signature_key(labels),
        baseline_scores=to_json(_scores(value, said)),
        replay_input=None if payload is None else to_json(payload),
        replayable=payload is not None,
        notes=_text(value, "notes", said, optional=True),
        file=file,
        content_hash=digest,
    )
    return row, said


def _identity(value: dict[str, Any], said: list[Finding]) -> str:
    raw = value.get("id")
    if isinstance(raw, str) and raw:
        return _clean(raw, "id", said)
    if isinstance(raw, (int, float)) and not isinstance(raw, bool):
        message = f"id is the number {shown(raw)}; its text is taken as the id. Write it in quotes."
        said.append(Finding("id", "problem", "not_text", message))
        return to_json(raw)
    found = "it is missing" if "id" not in value else f"found {shown(raw)}"
    raise UnreadableError("no_id", f"A case needs an id that is text and not empty; {found}. It was left out.", "id")


def _clean(text: str, field: str, said: list[Finding]) -> str:
    clean = clean_text(text)
    if clean != text:
        message = f"{field} holds half of a surrogate pair; it is shown as a \\u escape."
        said.append(Finding(field, "problem", "lone_surrogate", message))
    return clean


def _text(value: dict[str, Any], field: str, said: list[Finding], *, optional: bool = False) -> str | None:
    raw = value.get(field)
    if isinstance(raw, str):
        return _clean(raw, field, said)
    if raw is None:
        if field in value or not optional:
            found = "null" if field in value else "missing"
            said.append(Finding(field, "problem", "no_text", f"{field} is {found}; it is kept as missing."))
        return None
    message = f"{field} is {shown(raw)}, not text; it is read as the text {shown(str(raw))}."
    said.append(Finding(field, "problem", "not_text", message))
    return clean_text(to_json(raw) if not isinstance(raw, bool) else str(raw))


def _kind(value: dict[str, Any], said: list[Finding]) -> str:
    raw = value.get("kind")
    if raw in ("failure", "win"):
        return str(raw)
    found = shown(raw) if "kind" in value else "nothing"
    message = f"kind must be 'failure' or 'win'; found {found}. It is read as failure, as the harness does."
    said.append(Finding("kind", "problem", "bad_kind", message))
    return "failure"


def _signature(value: dict[str, Any], said: list[Finding]) -> list[str]:
    raw = value.get("signature")
    if not isinstance(raw, list):
        found = shown(raw) if "signature" in value else "nothing"
        message = f"signature must be a list of labels; found {found}. It is read as no label."
        said.append(Finding("signature", "problem", "bad_signature", message))
        return []
    odd = [label for label in raw if not isinstance(label, str)]
    if odd:
        message = f"signature holds {shown(odd[0])}, which is not text; it is read as its text, as the harness does."
        said.append(Finding("signature", "note", "label_not_text", message))
    return [_clean(label if isinstance(label, str) else str(label), "signature", said) for label in raw]


def _scores(value: dict[str, Any], said: list[Finding]) -> dict[str, float | None]:
    raw = value.get("baseline_scores")
    if not isinstance(raw, dict):
        found = shown(raw) if "baseline_scores" in value else "nothing"
        message = f"baseline_scores must be an object of metric to number; found {found}. The case has no baseline."
        said.append(Finding("baseline_scores", "problem", "no_baseline", message))
        return {}
    scores: dict[str, float | None] = {}
    for metric, score in raw.items():
        field = f"baseline_scores.{clean_text(metric)}"
        if not metric:
            message = f"A score has the empty text as its metric (value {shown(score)}); the score was left out."
            said.append(Finding("baseline_scores", "problem", "empty_metric", message))
            continue
        scores[_clean(metric, field, said)] = _number(score, field, said)
    return scores


def _number(score: Any, field: str, said: list[Finding]) -> float | None:
    if isinstance(score, (int, float)) and not isinstance(score, bool):
        try:
            if math.isfinite(float(score)):
                return score
        except OverflowError:
            pass
        said.append(Finding(field, "problem", "too_large", f"{field} is too large for a score; it is unscored."))
    elif score is not None:
        message = f"{field} is {shown(score)}, not a number; it is unscored. Write a JSON number or null."
        said.append(Finding(field, "problem", "not_a_number", message))
    return None


def _unknown_fields(value: dict[str, Any], said: list[Finding]) -> None:
    for name in value:
        if name in _FIELDS:
            continue
        guess = nearest(name, FIELDS)
        if guess:
            message = f"{shown(name)} is not a field of a case{guess}; it was not read."
            said.append(Finding(clean_text(name), "problem", "misspelt_field", message))
        else:
            message = f"{shown(name)} is not a field of a case; it stays in the file and is not read."
            said.append(Finding(clean_text(name), "note", "unknown_field", message))
