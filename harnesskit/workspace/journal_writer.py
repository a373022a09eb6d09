"""Append events to the journal, in the form that the reference harness writes and reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from harnesskit.workspace.atomic import append_lines, json_line_bytes
from harnesskit.workspace.clock import Clock, utc_now, written_time
from harnesskit.workspace.layout import JOURNAL


class Event(NamedTuple):
    """One event before it has its time: its type and its fields."""

    type: str
    fields: Mapping[str, Any]


def append_event(root: Path, event_type: str, /, *, clock: Clock = utc_now, **fields: Any) -> None:
    r"""Append one event to ``journal.jsonl`` of the workspace at `root`, and return when it is on disk.

    One write, sorted keys, ASCII, ``ts`` from `clock`; a last line torn by a crash is closed first, so that it costs
    nothing but itself.

    Raises
    ------
    WorkspaceError
        The journal cannot be written.
    ValueError, TypeError
        A field cannot be written as JSON (NaN included); nothing was appended.

    Examples
    --------
    >>> import tempfile
    >>> from datetime import UTC, datetime
    >>> root = Path(tempfile.mkdtemp())
    >>> append_event(root, "recovery", clock=lambda: datetime(2026, 6, 1, tzinfo=UTC), session_id="s-1")
    >>> (root / "journal.jsonl").read_text()
    '{"session_id": "s-1", "ts": "2026-06-01T00:00:00+00:00", "type": "recovery"}\n'
    """
    append_events(root, [Event(event_type, fields)], clock=clock)


def append_events(root: Path, events: Sequence[Event], *, clock: Clock = utc_now) -> None:
    """Append several events in one write, with one time, as `append_event` appends one.

    Raises
    ------
    WorkspaceError
        The journal cannot be written.
    ValueError, TypeError
        A field cannot be written as JSON; nothing was appended.
    """
    now = written_time(clock)
    lines = [json_line_bytes({"ts": now, **event.fields, "type": event.type}) for event in events]
    append_lines(root / JOURNAL, lines)
