r"""Files with one JSON object per line: one bad line costs itself, never its neighbours.

Lines end at the byte ``\n`` and nowhere else, so that a U+2028 or U+0085 inside a text splits nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from harnesskit.workspace.documents import is_absent, kind_of
from harnesskit.workspace.problems import Finding, Problem, UnreadableError
from harnesskit.workspace.reading import MAX_FILE_BYTES, UNSURE, open_regular, parse_carefully, parse_fast

CHUNK = 4 * 1024 * 1024
MAX_LINE_BYTES = MAX_FILE_BYTES
"""Longest line that is read; the rest of the file is read all the same."""

_BOM = b"\xef\xbb\xbf"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


class RawLine(NamedTuple):
    """One line as it stands in the file, without its line end; `whole` is False for a last line that has none."""

    offset: int
    data: bytes
    end: int
    whole: bool


class Record(NamedTuple):
    """One object, the byte at which its line begins, and the number of that line (None when not counted)."""

    offset: int
    line: int | None
    value: dict[str, Any]


class JsonLines:
    """One pass over the objects of a file; afterwards `problems`, `end` and `next_line` hold for what was read.

    A missing file has no lines and no problem. Reading goes up to the size the file had when it was opened.

    Parameters
    ----------
    path
        The file.
    source, file
        What problems say about where they come from.
    start
        Byte to begin at: 0, or the `end` of an earlier pass. When it is not the beginning of a line (the file was
        replaced or cut), reading begins at 0 and `start` says so.
    start_line
        Number of the line at `start`; lines are not counted when it is not known.

    Attributes
    ----------
    problems : list of Problem
        What was refused or read by a rule, in file order.
    end : int
        Byte up to which whole lines were read. A last line without a line end is handed out when it is a whole
        object, but lies beyond `end`: the next pass meets it again, at the same offset.
    next_line : int or None
        Number of the line at `end`.
    """

    def __init__(
        self, path: str | Path, source: str, file: str, *, start: int = 0, start_line: int | None = None
    ) -> None:
        self.path, self.source, self.file = str(path), source, file
        self.start = self.end = start
        self.next_line = 1 if start == 0 else start_line
        self.problems: list[Problem] = []

    def __iter__(self) -> Iterator[Record]:
        """Yield the objects in file order."""
        if is_absent(self.path):
            self._restart()
            return
        try:
            fd, info = open_regular(self.path)
        except UnreadableError as error:
            self.problems.append(error.finding.at(self.source, self.file))
            return
        try:
            if not _begins_line(fd, self.start, info.st_size):
                self._restart()
            yield from self._records(fd, info.st_size)
        except OSError as error:
            message = f"Reading stopped at byte {self.end} ({error.strerror or error}); what came before was kept."
            self._say(Finding("", "problem", "unreadable", message), None)
        finally:
            os.close(fd)

    def _records(self, fd: int, size: int) -> Iterator[Record]:
        for raw in raw_lines(fd, self.start, size):
            line = self.next_line
            if raw.offset == 0 and raw.data.startswith(_UTF16):
                message = "The file begins like UTF-16; save it as UTF-8. It was left out."
                self._say(Finding("", "problem", "encoding", message), None)
                return
            if raw.whole:
                self.end = raw.end
                self.next_line = None if line is None else line + 1
            value, findings = parse_line(raw)
            for finding in findings:
                self._say(finding, line)
            if value is not None:
                yield Record(raw.offset, line, value)

    def _restart(self) -> None:
        if self.start:
            self.start = self.end = 0
            self.next_line = 1

    def _say(self, finding: Finding, line: int | None) -> None:
        self.problems.append(finding.at(self.source, self.file, line))


def raw_lines(fd: int, start: int, size: int) -> Iterator[RawLine]:
    """Yield the lines between byte `start` and `size`, a chunk of the file at a time.

    Of a line longer than `MAX_LINE_BYTES` only the place is right, its bytes are not kept: its reader refuses it.
    """
    os.lseek(fd, start, os.SEEK_SET)
    offset, left, length = start, size - start, 0
    held: list[bytes] = []
    while left > 0 and (chunk := os.read(fd, min(CHUNK, left))):
        left -= len(chunk)
        *whole, rest = chunk.split(b"\n")
        for piece in whole:
            data = b"".join([*held, piece]) if held else piece
            end = offset + length + len(piece) + 1
            yield RawLine(offset, data, end, True)
            offset, held, length = end, [], 0
        if rest:
            length += len(rest)
            held = [*held, rest] if length <= MAX_LINE_BYTES else []
    if length:
        yield RawLine(offset, b"".join(held), offset + length, False)


def parse_line(raw: RawLine) -> tuple[dict[str, Any] | None, list[Finding]]:
    """Return the object on a line, None when there is none, and what had to be said; a blank line is nothing."""
    data = raw.data
    if raw.end - raw.offset - raw.whole > MAX_LINE_BYTES:
        message = f"The line has over {MAX_LINE_BYTES:,} bytes; it was left out."
        return None, [Finding("", "problem", "too_large", message)]
    value = parse_fast(data)
    findings: list[Finding] = []
    if value is UNSURE:
        if raw.offset == 0 and data.startswith(_BOM):
            data = data[3:]
        if not data.strip():
            return None, []
        try:
            value, findings = parse_carefully(data)
        except UnreadableError as error:
            return None, [error.finding if raw.whole else _torn(error.finding.message)]
    if not isinstance(value, dict):
        found = f"The line must hold a JSON object; found {kind_of(value)}."
        if not raw.whole:
            return None, [*findings, _torn(found)]
        return None, [*findings, Finding("", "problem", "not_an_object", f"{found} It was left out.")]
    if not raw.whole:
        message = "The last line has no line end; it holds a whole object and was read."
        findings = [*findings, Finding("", "note", "no_line_end", message)]
    return value, findings


def _torn(found: str) -> Finding:
    message = (
        "The last line has no line end and holds no whole object: it was cut off, or is still being written. "
        f"It was left out, and is read again at the next look. ({found.partition('; it was left out')[0]})"
    )
    return Finding("", "problem", "torn", message)


def _begins_line(fd: int, start: int, size: int) -> bool:
    if start == 0:
        return True
    os.lseek(fd, min(start, size) - 1 if size else 0, os.SEEK_SET)
    return start <= size and os.read(fd, 1) == b"\n"
