"""Cases handed out by the thousand: each becomes the caller's own copy when the caller first reads its contents.

A label of a fifth of all cases finds thousands of them, and most callers read a few. To decode the payload of each
cost as much as the payloads are long; so what is handed out holds the `StoredCase` that was found, which never changes
whatever becomes of the file, and turns into an ordinary `EvalCase` at the first touch.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel

from harnesskit.model.case import EvalCase
from harnesskit.workspace.stored_case import StoredCase

_set = object.__setattr__  # past the model's own, which refuses: a case is frozen
_new = object.__new__
_own = BaseModel.__dict__["__dict__"].__get__
_place = BaseModel.__dict__["__pydantic_private__"]
"""Where an unread case holds what it will be made of; `EvalCase` has no private attributes and keeps None there."""
_hold, _held = _place.__set__, _place.__get__


class _UnreadCase(EvalCase):
    """An `EvalCase` that is not made yet: the first look at anything but the plain fields makes it one, class and all.

    The fields that nobody can change (id, labels, notes, ...) and `replayable` are answered from what is held, so that
    a caller who chooses among thousands of cases decodes only what was chosen. Nothing can go wrong later than now:
    what is held was read, checked and written out as JSON when the file was read.
    """

    __slots__ = ()  # the layout of EvalCase, or the class could not change

    def __getattribute__(self, name: str) -> Any:
        stored = _stored(self)
        if stored is not None and not _own(self):  # nothing was put there, by another thread or past the model
            if name in stored.fields:
                return stored.fields[name]
            if name == "replayable":
                return stored.payload is not None
        _make(self, stored)
        return getattr(self, name)


def unread_cases(stored: Iterable[StoredCase]) -> list[EvalCase]:
    """Return the cases of several files, each the caller's own, in the order given.

    They look and behave as `StoredCase.case` makes them; payload and scores are decoded when a case is first read.
    """
    return [_unread(each) for each in stored]


def _unread(stored: StoredCase) -> EvalCase:
    case = _new(_UnreadCase)
    _hold(case, stored)
    return case


def _stored(case: EvalCase) -> StoredCase | None:
    try:
        found: StoredCase | None = _held(case)
    except AttributeError:  # one that a caller makes with type(case)(...): pydantic fills it as any other
        return None
    return found


def _make(case: EvalCase, stored: StoredCase | None) -> None:
    """Turn an unread case into an ordinary one.

    Threads that share the case may all be here: each field keeps what was put first, so that all get the same objects,
    and what the case is made of is dropped only when everything is in place.
    """
    if stored is not None:
        state = stored.state()
        own = _own(case)
        for field, value in state.pop("__dict__").items():
            own.setdefault(field, value)
        for slot, value in state.items():
            _set(case, slot, value)  # __pydantic_private__, the last, no longer holds what was stored
    _set(case, "__class__", EvalCase)
