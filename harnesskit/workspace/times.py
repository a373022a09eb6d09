"""Times as they stand in files, read value by value to UTC, by stated rules and never by the machine's zone."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import NamedTuple

from harnesskit.workspace.problems import Finding, shown


class Moment(NamedTuple):
    """A time and what had to be said about how it was read."""

    at: datetime | None
    finding: Finding | None


def read_time(value: object, field: str) -> Moment:
    """Return the UTC time that `value` stands for, and a finding when a rule had to be used.

    Rules: an ISO 8601 text with zone is taken as it is; one without zone, or without a time of day, is read as UTC
    (midnight) and noted; a JSON number is seconds since 1970 and noted; anything else is no time and a problem.

    Examples
    --------
    >>> read_time("2026-06-20T12:30:00+05:30", "ts").at.isoformat()
    '2026-06-20T07:00:00+00:00'
    >>> read_time("2026-06-20", "ts").finding.kind, read_time("yesterday", "ts").at
    ('time_without_zone', None)
    """
    if isinstance(value, str):
        return _from_text(value, field)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return _from_number(value, field)
    what = "missing" if value is None else f"{shown(value)} is not a time"
    return Moment(None, Finding(field, "problem", "bad_time", f"{field} {what}; the row is kept without a time."))


def _from_text(text: str, field: str) -> Moment:
    digits = text.strip()
    try:
        if not digits or digits.isdigit():
            raise ValueError(text)
        at = datetime.fromisoformat(digits)
        zoned = at.tzinfo is not None
        at = (at if zoned else at.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        message = f"{field} is {shown(text)}, which is not an ISO 8601 time; the row is kept without a time."
        return Moment(None, Finding(field, "problem", "bad_time", message))
    if zoned:
        return Moment(at, None)
    message = f"{field} is {shown(text)}, without a time zone; it is read as UTC."
    return Moment(at, Finding(field, "note", "time_without_zone", message))


def _from_number(number: float, field: str) -> Moment:
    try:
        if not math.isfinite(number):
            raise ValueError(number)
        at = datetime.fromtimestamp(number, UTC)
    except (ValueError, OverflowError, OSError):
        message = f"{field} is the number {shown(number)}, no time in seconds since 1970; kept without a time."
        return Moment(None, Finding(field, "problem", "bad_time", message))
    message = f"{field} is the number {shown(number)}; it is read as seconds since 1970, UTC."
    return Moment(at, Finding(field, "note", "time_as_number", message))
