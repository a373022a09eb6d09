"""What a capture is made of: checked, sanitised, and written out before anything in the set changes."""

from __future__ import annotations

import json
import math
import re
import uuid
from collections.abc import Iterable, Mapping
from numbers import Real
from typing import Any

from harnesskit.model.case import CaseKind
from harnesskit.model.errors import nearest
from harnesskit.workspace.atomic import json_file_bytes
from harnesskit.workspace.clock import Clock, written_time
from harnesskit.workspace.problems import UnreadableError, shown
from harnesskit.workspace.reading import MAX_FILE_BYTES, encode, parse_json

KINDS: tuple[CaseKind, ...] = ("failure", "win")
_ID = re.compile(r"[A-Za-z0-9._-]{1,128}")
_CONTROL = re.compile(r"\s*[\x00-\x1f\x7f-\x9f\u2028\u2029][\s\x00-\x1f\x7f-\x9f]*")
_HALF = re.compile("[\ud800-\udfff]")


def is_case_id(text: object) -> bool:
    """Whether `text` may be an id that is asked for: 1 to 128 letters, digits, ``.``, ``_``, ``-``; not ``.``, ``..``.

    Examples
    --------
    >>> is_case_id("c-0123456789"), is_case_id("../x"), is_case_id(".."), is_case_id(None)
    (True, False, False, False)
    """
    return isinstance(text, str) and _ID.fullmatch(text) is not None and text not in {".", ".."}


def new_case_id() -> str:
    """Return a new id: ``c-`` and ten random hex digits."""
    return f"c-{uuid.uuid4().hex[:10]}"


def new_record(
    clock: Clock,
    *,
    session_id: str,
    kind: CaseKind,
    signature: Iterable[str],
    baseline_scores: Mapping[str, float] | None,
    replay_input: Any,
    notes: str,
    longest: int,
) -> dict[str, Any]:
    """Return the record of a new case, with an id and a time; `longest` is the most characters of its notes.

    Raises
    ------
    ValueError
        An argument cannot be used; the message says which and what was found.
    """
    if not isinstance(session_id, str):
        raise ValueError(f"session_id is text; found {shown(session_id)}.")
    return {
        "id": new_case_id(),
        "created_at": written_time(clock),
        "session_id": session_id,
        "kind": checked_kind(kind),
        "signature": list(checked_labels(signature)),
        "baseline_scores": checked_scores(baseline_scores),
        "replay_input": replay_input,
        "notes": sanitised(notes, longest),
    }


def checked_kind(kind: object) -> CaseKind:
    """Return `kind`, one of the two words.

    Raises
    ------
    ValueError
        It is another.
    """
    for word in KINDS:
        if kind == word:
            return word
    hint = nearest(kind.lower(), KINDS) if isinstance(kind, str) else ""
    raise ValueError(f"kind is 'failure' (to fix) or 'win' (to protect); found {shown(kind)}{hint}.")


def checked_labels(signature: Iterable[str]) -> tuple[str, ...]:
    """Return the condition labels of a signature, in the order given.

    Raises
    ------
    ValueError
        It is a single text, which would be read as its letters, or holds something else than texts.
    """
    if isinstance(signature, str):
        raise ValueError(f"signature is a collection of labels; found the text {shown(signature)}: give it in a tuple.")
    try:
        labels = tuple(signature)
    except TypeError as error:
        raise ValueError(f"signature is a collection of labels; found {shown(signature)}.") from error
    for label in labels:
        if not isinstance(label, str):
            raise ValueError(f"signature holds labels, which are texts; found {shown(label)}.")
    return labels


def checked_scores(scores: Mapping[str, float] | None) -> dict[str, float]:
    """Return baseline scores as plain floats, by metric.

    Raises
    ------
    ValueError
        A metric is no text or empty, or a score is no finite number (true and false are none).
    """
    checked: dict[str, float] = {}
    if scores is not None and not isinstance(scores, Mapping):
        raise ValueError(f"baseline_scores is a mapping of metric to number; found {shown(scores)}.")
    for metric, score in (scores or {}).items():
        if not isinstance(metric, str) or not metric:
            raise ValueError(f"baseline_scores names its metrics with text that is not empty; found {shown(metric)}.")
        if isinstance(score, bool) or not isinstance(score, Real):
            raise ValueError(
                f"the baseline score of {shown(metric)} is {shown(score)}, not a number; "
                "leave out a metric that has no score."
            )
        try:
            value = float(score)
        except OverflowError:
            value = math.inf
        if not math.isfinite(value):
            raise ValueError(f"the baseline score of {shown(metric)} is {value}, not finite; leave the metric out.")
        checked[metric] = value
    return checked


def sanitised(notes: str, longest: int) -> str:
    r"""Return notes as they are stored: on one line, without control characters, at most `longest` characters.

    A run of control characters and line breaks, and the blanks around it, becomes one space; half a surrogate pair
    becomes U+FFFD. With `longest` 0 or less nothing is cut.

    Raises
    ------
    ValueError
        The notes are no text.

    Examples
    --------
    >>> sanitised("two\r\n  lines\x00 and a\ttab ", 2000), sanitised("x" * 30, 10)
    ('two lines and a tab', 'xxxxxxxxxx')
    """
    if not isinstance(notes, str):
        raise ValueError(f"notes are text; found {shown(notes)}.")
    text = _HALF.sub("\ufffd", _CONTROL.sub(" ", notes)).strip()
    return text[:longest] if longest > 0 else text


def case_bytes(record: Mapping[str, Any]) -> bytes:
    """Return the bytes of a case file, which read back as what was given.

    Raises
    ------
    ValueError
        The record cannot be written as JSON that every reader of a workspace accepts: a value that JSON does not
        have, half a surrogate pair, two keys with one text, or more than 100 levels.
    """
    try:
        data = json_file_bytes(record)
    except RecursionError as error:
        raise ValueError(_unwritable("it is nested too deeply, or holds itself")) from error
    except (TypeError, ValueError) as error:
        raise ValueError(_unwritable(str(error))) from error
    if len(data) > MAX_FILE_BYTES:
        raise ValueError(_unwritable(f"it has {len(data):,} bytes, and at most {MAX_FILE_BYTES:,} are read"))
    try:
        value, findings = parse_json(data)
        encode(value)
    except UnicodeEncodeError as error:
        raise ValueError(_unwritable("it holds half of a surrogate pair")) from error
    except UnreadableError as error:
        raise ValueError(_unwritable(str(error).replace(" It was left out.", ""))) from error
    if findings:
        raise ValueError(_unwritable(findings[0].message))
    return data


def check_payload(payload: Any) -> None:
    """Raise the ValueError of `case_bytes` when a replay input cannot be written."""
    case_bytes({"replay_input": payload})


def with_fields(data: bytes, **fields: Any) -> bytes:
    """Return the bytes of a case file with other (checked) fields; all else in it stays, known or not."""
    raw = json.loads(data.decode("utf-8-sig"))
    # NaN that another writer left in the file stays as it was: this changes these fields and nothing else
    text = json.dumps({**raw, **fields}, indent=2, sort_keys=True, ensure_ascii=True)
    return text.encode("ascii")


def _unwritable(why: str) -> str:
    return f"The case cannot be written as JSON: {why}. Nothing was changed; give plain data."
