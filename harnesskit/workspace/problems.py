"""What was wrong on the way in: one record per thing, so that nothing refused disappears."""

from __future__ import annotations

from typing import Literal, NamedTuple

Severity = Literal["problem", "note"]


class Problem(NamedTuple):
    """One row of the table ``problems`` (see `harnesskit.model.frames.PROBLEMS`)."""

    source: str
    file: str
    line: int | None
    field: str
    severity: Severity
    kind: str
    message: str


class Finding(NamedTuple):
    """A problem before it is known which file it belongs to."""

    field: str
    severity: Severity
    kind: str
    message: str

    def at(self, source: str, file: str, line: int | None = None) -> Problem:
        """Return the problem of this finding in `file` (and `line`)."""
        return Problem(source, file, line, *self)


class UnreadableError(Exception):
    """A file or a record that cannot be used at all; carries the finding that says why."""

    def __init__(self, kind: str, message: str, field: str = "") -> None:
        super().__init__(message)
        self.finding = Finding(field, "problem", kind, message)


def shown(value: object, limit: int = 60) -> str:
    r"""Return `value` as short, printable ASCII text for a message.

    Examples
    --------
    >>> shown("naïve"), shown("x" * 100, limit=8)
    ("'na\\xefve'", "'xxxxxxx... (102 characters)")
    """
    text = ascii(value)
    return text if len(text) <= limit else f"{text[:limit]}... ({len(text)} characters)"
