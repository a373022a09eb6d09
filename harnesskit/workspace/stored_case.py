"""One case file in memory: what listings sort and search by, and the case itself, made anew for everyone who asks."""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple, cast

import msgspec

from harnesskit.model.case import CaseKind, EvalCase
from harnesskit.workspace.cases import CaseRow, interpret
from harnesskit.workspace.reading import Stamp, clean_text, parse_json, read_file, to_json

_FIELDS = frozenset(EvalCase.model_fields)
_START = datetime(1970, 1, 1)  # noqa: DTZ001 - the times of rows are UTC and carry no zone
_MICROSECOND = timedelta(microseconds=1)
_UNDATED = sys.maxsize
_decode = msgspec.json.decode


class Order(NamedTuple):
    """Where a case stands in a listing: by time (in microseconds since 1970), then id, then file; undated last."""

    at: int
    case_id: str
    file: str


class Key(NamedTuple):
    """What makes two captures the same case: the labels are sorted, repeats kept."""

    session_id: str
    labels: tuple[str, ...]
    kind: CaseKind


def key_of(session_id: str, signature: tuple[str, ...], kind: CaseKind) -> Key:
    """Return the key under which a capture is looked for.

    Examples
    --------
    >>> key_of("s-1", ("b", "a", "b"), "failure").labels
    ('a', 'b', 'b')
    """
    return Key(session_id, tuple(sorted(signature)), kind)


@dataclass(frozen=True, slots=True)
class StoredCase:
    """A case as its file has it; `fields` are those of `EvalCase` but for the two that callers could change."""

    order: Order
    key: Key
    fields: dict[str, Any]
    scores: dict[str, float]
    payload: str | None

    @property
    def file(self) -> str:
        """Name of the file in evalset/, whatever id stands in it."""
        return self.order.file

    @property
    def case_id(self) -> str:
        """Identity, from inside the file."""
        return self.order.case_id

    def case(self) -> EvalCase:
        """Return the case, with a payload and scores of its own: changing them changes no other reader's."""
        case = EvalCase.__new__(EvalCase)  # the way of pickle: the fields were checked when the file was read
        case.__setstate__(self.state())
        return case

    def state(self) -> dict[str, Any]:
        """Return what pickle would keep of the case, made anew."""
        payload = None if self.payload is None else _payload(self.payload)
        return {
            "__dict__": {**self.fields, "baseline_scores": self.scores.copy(), "replay_input": payload},
            "__pydantic_extra__": None,
            "__pydantic_fields_set__": set(_FIELDS),
            "__pydantic_private__": None,
        }


def cases_of(stored: Iterable[StoredCase]) -> list[EvalCase]:
    """Return the cases of several files, each the caller's own, in the order given."""
    collecting = gc.isenabled()
    gc.disable()  # thousands of objects that all stay: looking for garbage among them takes a third of the time
    try:
        return [each.case() for each in stored]
    finally:
        if collecting:
            gc.enable()


def _payload(text: str) -> Any:
    try:
        return _decode(text)
    except msgspec.MsgspecError:  # half a surrogate pair
        return json.loads(text)


def read_stored(path: str, file: str) -> tuple[StoredCase, Stamp]:
    """Return the case in the file at `path` and the stamp of what was read; `file` is its name in evalset/.

    Raises
    ------
    UnreadableError
        The file cannot be used as a case (the table ``problems`` of the workspace says why).
    """
    data, stamp = read_file(path)
    return stored_case(data, file), stamp


def stored_case(data: bytes, file: str) -> StoredCase:
    """Return the case in the bytes of a file, read by the rules of the table ``cases``.

    A score that is no finite number is left out; a kind other than win is a failure.

    Raises
    ------
    UnreadableError
        The bytes are no case.
    """
    value, _ = parse_json(data)
    row, _ = interpret(value, file, "")
    session, labels = row.session_id or "", tuple(row.signature)
    fields = {
        "id": row.case_id,
        "created_at": _created_text(value.get("created_at")),
        "session_id": session,
        "kind": row.kind,
        "signature": labels,
        "notes": row.notes or "",
    }
    order = Order((row.created_at - _START) // _MICROSECOND if row.created_at else _UNDATED, row.case_id, file)
    key = key_of(session, labels, cast(CaseKind, row.kind))
    return StoredCase(order, key, fields, _scores(row), row.replay_input)


def _created_text(raw: Any) -> str:
    if raw is None:
        return ""
    return clean_text(raw) if isinstance(raw, str) else to_json(raw)


def _scores(row: CaseRow) -> dict[str, float]:
    found: dict[str, float | int | None] = _decode(row.baseline_scores)
    return {metric: float(score) for metric, score in found.items() if score is not None}
