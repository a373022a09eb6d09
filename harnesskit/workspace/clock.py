"""The time of what is written: a parameter of every writer, so that tests and replays can set it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], datetime]
"""Returns the present, with its zone."""


def utc_now() -> datetime:
    """Return the present in UTC: the clock of a workspace when none is given."""
    return datetime.now(UTC)


def written_time(clock: Clock) -> str:
    """Return the present as the reference harness writes it: ISO 8601 in UTC, no fraction when it is zero.

    Raises
    ------
    ValueError
        The clock's times have no zone; the zone of the machine is never assumed.

    Examples
    --------
    >>> written_time(lambda: datetime(2026, 6, 1, 12, 0, tzinfo=UTC))
    '2026-06-01T12:00:00+00:00'
    """
    at = clock()
    if at.tzinfo is None:
        raise ValueError(f"The clock returned {at.isoformat()} without a time zone; return datetime.now(UTC).")
    return at.astimezone(UTC).isoformat()
