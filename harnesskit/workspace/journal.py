"""The journal: every record as a row of the table events, from the beginning, from where one stopped, or the last N."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from harnesskit.workspace.documents import is_absent
from harnesskit.workspace.events import EVENT_FIELDS, read_event
from harnesskit.workspace.jsonlines import JsonLines, RawLine, parse_line
from harnesskit.workspace.layout import JOURNAL
from harnesskit.workspace.problems import Finding, Problem, UnreadableError
from harnesskit.workspace.reading import open_regular
from harnesskit.workspace.rows import EventRow

SOURCE = "journal"
BLOCK = 64 * 1024


class Journal(NamedTuple):
    """Journal records and what had to be said about them.

    Attributes
    ----------
    events
        In file order.
    problems
        In file order.
    start
        Byte at which reading began; 0 although more was asked for when the file was replaced or cut since.
    end
        Byte up to which whole lines were read: the `start` of the next look. A last line without a line end lies
        beyond it, so its record is met again with the same offset.
    next_line
        Number of the line at `end`; None when lines were not counted.
    """

    events: list[EventRow]
    problems: list[Problem]
    start: int
    end: int
    next_line: int | None


def read_journal(path: str | Path, *, start: int = 0, start_line: int | None = None, file: str = JOURNAL) -> Journal:
    """Return the journal's records from byte `start` on, one event per record.

    A missing journal is empty. A line that holds no object costs itself; everything else is an event, whatever its
    type. One note is made for each type that the reference harness does not write.

    Parameters
    ----------
    path
        The file.
    start, start_line
        `Journal.end` and `Journal.next_line` of an earlier look; lines are counted from 1 when `start` is 0.
    file
        Name that problems give to the file.

    Examples
    --------
    >>> read_journal("no/such/journal.jsonl")
    Journal(events=[], problems=[], start=0, end=0, next_line=1)
    """
    lines = JsonLines(path, SOURCE, file, start=start, start_line=start_line)
    events: list[EventRow] = []
    strange: set[str] = set()
    for record in lines:
        row, findings = read_event(record.value, record.offset, record.line)
        events.append(row)
        if row.type not in EVENT_FIELDS and row.type not in strange and record.value.get("type") == row.type:
            strange.add(row.type)
            message = "This type of record is not one of the harness's; such records are kept."
            findings.append(Finding("type", "note", "unknown_type", message))
        lines.problems.extend(finding.at(SOURCE, file, record.line) for finding in findings)
    return Journal(events, lines.problems, lines.start, lines.end, lines.next_line)


def read_tail(path: str | Path, last: int, types: Collection[str] | None = None, *, file: str = JOURNAL) -> Journal:
    """Return the last `last` records (of the given types), oldest first, without reading what lies before them.

    Lines are not counted: ``line`` is None in events and problems. Problems are those of the part that was read.

    Examples
    --------
    >>> read_tail("no/such/journal.jsonl", 5).events
    []
    """
    if last <= 0 or is_absent(path):
        return Journal([], [], 0, 0, None)
    try:
        fd, info = open_regular(str(path))
    except UnreadableError as error:
        return Journal([], [error.finding.at(SOURCE, file)], 0, 0, None)
    events: list[EventRow] = []
    problems: list[list[Problem]] = []
    begin = end = info.st_size
    try:
        for raw in lines_backwards(fd, info.st_size):
            begin = raw.offset
            end = end if raw.whole else raw.offset
            row, said = _event_of(raw)
            problems.append([finding.at(SOURCE, file) for finding in said])
            if row is not None and (types is None or row.type in types):
                events.append(row)
                if len(events) == last:
                    break
    except OSError as error:
        message = f"Reading stopped ({error.strerror or error}); the records after that place were kept."
        problems.append([Problem(SOURCE, file, None, "", "problem", "unreadable", message)])
    finally:
        os.close(fd)
    said_in_order = [problem for group in reversed(problems) for problem in group]
    return Journal(events[::-1], said_in_order, begin, end, None)


def _event_of(raw: RawLine) -> tuple[EventRow | None, list[Finding]]:
    value: dict[str, Any] | None
    value, said = parse_line(raw)
    if value is None:
        return None, said
    row, more = read_event(value, raw.offset, None)
    return row, [*said, *more]


def lines_backwards(fd: int, size: int) -> Iterator[RawLine]:
    """Yield the lines of an open file from the last to the first; only a last line can be not whole."""
    held: list[bytes] = []  # parts of the line being put together, the last part first
    at, line_end, whole = size, size, False
    while at > 0:
        begin = max(0, at - BLOCK)
        os.lseek(fd, begin, os.SEEK_SET)
        pieces = os.read(fd, at - begin).split(b"\n")
        for place in range(len(pieces) - 1, 0, -1):
            held.append(pieces[place])
            data = b"".join(reversed(held))
            offset = line_end - len(data)
            if whole or data:
                yield RawLine(offset, data, line_end + whole, whole)
            held, line_end, whole = [], offset - 1, True
        held.append(pieces[0])
        at = begin
    data = b"".join(reversed(held))
    if whole or data:
        yield RawLine(0, data, line_end + whole, whole)
