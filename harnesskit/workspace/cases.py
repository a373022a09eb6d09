"""One eval case: from the JSON object of its file to a row, by stated rules, with a finding for every departure."""

from __future__ import annotations

import math
from datetime import datetime
from sys import float_info
from typing import Any, Literal, NamedTuple

import msgspec

from harnesskit.model.errors import nearest
from harnesskit.model.text import visible
from harnesskit.workspace.documents import kind_of
from harnesskit.workspace.problems import Finding, UnreadableError, shown
from harnesskit.workspace.reading import MAX_DEPTH, clean_text, depth, encode, to_json
from harnesskit.workspace.times import read_time

FIELDS = (
    "baseline_scores", "created_at", "id", "kind", "notes", "replay_input", "session_id", "signature",
)  # fmt: skip
_FIELDS = frozenset(FIELDS)
_LARGEST = float_info.max
_DIGITS = float_info.max_10_exp
"""A text no longer than this holds no integer that is too large for a score."""
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


class _PlainCase(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A case as the reference writes it; anything else is refused by the parser and read with `interpret`."""

    id: str
    session_id: str
    created_at: str
    kind: Literal["failure", "win"]
    signature: list[str]
    baseline_scores: dict[str, int | float]
    notes: str
    replay_input: Any = msgspec.UNSET


_row = tuple.__new__  # what `CaseRow(...)` ends in, without a call in between
_decode_plain = msgspec.json.Decoder(_PlainCase).decode


def plain_row(data: bytes, file: str, digest: str) -> CaseRow | None:
    """Return the row of a case file that needs no rule at all, or None: the quick way for the usual file.

    Keys given twice are found as in `harnesskit.workspace.reading.parse_fast`, by a colon that is missing from what
    was kept, but without writing more out again than the row needs.
    """
    try:
        case = _decode_plain(data)
        created, scores, value = case.created_at, encode(case.baseline_scores), case.replay_input
        at = datetime.fromisoformat(created[:-6])
        payload = b"" if value is None or value is msgspec.UNSET else encode(value)
    except (msgspec.MsgspecError, RecursionError, ValueError):
        return None
    # with or without a fraction, a T and seconds before the zone: only these lengths are what the reference writes
    if at.tzinfo is not None or len(created) not in (25, 32) or created[-6:] != "+00:00" or not case.id:
        return None
    labels = case.signature
    key = _keys.get(tuple(labels)) or signature_key(labels)
    texts = "".join((case.id, case.session_id, created, case.notes, key))
    colons = (7 if value is msgspec.UNSET else 8) + scores.count(b":") + payload.count(b":") + texts.count(":")
    if data.count(b":") != colons or (b"\\" in data and b"\\u003" in data):
        return None
    levels = MAX_DEPTH - 1  # the case itself is one
    if payload.count(b"{") + payload.count(b"[") > levels and depth(value) > levels:
        return None
    numbers = case.baseline_scores
    if "" in numbers or (len(scores) > _DIGITS and not all(-_LARGEST <= n <= _LARGEST for n in numbers.values())):
        return None
    return _row(CaseRow, (
        case.id, case.kind, case.session_id, at, labels, key, scores.decode(),
        payload.decode() if payload else None, bool(payload), case.notes, file, digest,
    ))  # fmt: skip


def interpret(value: Any, file: str, digest: str) -> tuple[CaseRow, list[Finding]]:
    """Return the row of a case and what had to be said about it.

    Raises
    ------
    UnreadableError
        Not an object, or without a usable id.
    """
    if not isinstance(value, dict):
        raise UnreadableError("not_an_object", f"A case is a JSON object; found {kind_of(value)}. It was left out.")
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
        message = f"{visible(field)} holds half of a surrogate pair; it is shown as a \\u escape."
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
        message = f"{visible(field)} is too large for a score; it is unscored."
        said.append(Finding(field, "problem", "too_large", message))
    elif score is not None:
        message = f"{visible(field)} is {shown(score)}, not a number; it is unscored. Write a JSON number or null."
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
