"""Write reviews: one line each, hash-chained, locked against other writers and on disk before anybody is told."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, Literal

from harnesskit import __version__
from harnesskit.workspace.atomic import append_line, json_line_bytes
from harnesskit.workspace.clock import Clock, utc_now, written_time
from harnesskit.workspace.decision_chain import Link, read_chain, seal, whole_from
from harnesskit.workspace.decisions import DecisionRow, read_decisions
from harnesskit.workspace.layout import DECISIONS, OURS
from harnesskit.workspace.locking import hold
from harnesskit.workspace.reading import clean_text

LOCK = f"{OURS}/decisions.lock"

Status = Literal["signed", "overdue", "superseded", "revoked", "done"]


class DecisionLog:
    """The reviews of a workspace for writing; open it with `writing`, which holds its lock.

    Parameters
    ----------
    root
        The workspace.
    clock
        Returns the present, with its zone.

    Examples
    --------
    >>> import tempfile
    >>> log = DecisionLog(Path(tempfile.mkdtemp()))
    >>> with log.writing("sign a review") as reviews:
    ...     decision_id = reviews.append({"action": "sign", "subject": "run-7", "verdict": "pass"})
    >>> log.rows()[0].subject, log.rows()[0].decision_id == decision_id
    ('run-7', True)
    """

    def __init__(self, root: Path, clock: Clock = utc_now) -> None:
        self.root = root
        self.clock = clock

    def rows(self) -> list[DecisionRow]:
        """Return the reviews, in the order in which they were written."""
        return read_decisions(self.root)[0]

    def altered(self) -> set[str]:
        """Return the ids of reviews that do not stand as they were written, or that an altered line comes after."""
        links = read_chain(self.root / DECISIONS)
        return {link.decision_id for link in links if link.decision_id and not whole_from(links, link.decision_id)}

    @contextlib.contextmanager
    def writing(self, purpose: str) -> Iterator[OpenLog]:
        """Hold the log for the time of a ``with`` block and hand it over.

        Raises
        ------
        LockedError
            Another process holds it; the message names it.
        WorkspaceError
            The folder cannot be written.
        """
        with hold(self.root / LOCK, purpose):
            yield OpenLog(self.root, self.clock)


class OpenLog:
    """The log while its lock is held.

    Attributes
    ----------
    root
        The workspace.
    rows
        The reviews, oldest first; what is appended joins them.
    today
        The day on which it was opened, UTC.
    """

    def __init__(self, root: Path, clock: Clock) -> None:
        self._path = root / DECISIONS
        self._clock = clock
        self._links: list[Link] = read_chain(self._path)
        self.root = root
        self.rows = read_decisions(root)[0]
        self.today = clock().astimezone(UTC).date()

    def sealed(self, record: Mapping[str, Any]) -> tuple[str, bytes]:
        """Return the id and the line of a review that is to come next, for a writer of several files at once.

        Time, package version, the hash of the line before it and the id are filled in here. Half a surrogate pair in a
        text, which no reader accepts, becomes its escape.

        Raises
        ------
        ValueError, TypeError
            A value cannot be written as JSON.
        """
        links = read_chain(self._path)
        more = {
            "at": written_time(self._clock),
            "package_version": __version__,
            "previous_hash": links[-1].digest if links else None,
        }
        whole = seal({**_clean(record), **more})
        return str(whole["decision_id"]), json_line_bytes(whole)

    def append(self, record: Mapping[str, Any]) -> str:
        """Write one review and return its id once it is on disk.

        A last line that a crash left torn is ended, and followed like any other: it loses nothing but itself.

        Raises
        ------
        WorkspaceError
            The file cannot be written.
        ValueError, TypeError
            A value cannot be written as JSON; nothing was written.
        """
        decision_id, line = self.sealed(record)
        append_line(self._path, line)
        self._links = read_chain(self._path)
        self.rows = read_decisions(self.root)[0]
        return decision_id

    def standing(self, subject: str, guard_kind: str | None) -> DecisionRow | None:
        """Return the last signature on a subject that was neither superseded nor revoked; None when there is none."""
        gone = superseded(self.rows)
        for row in reversed(self.rows):
            about = row.action == "sign" and row.subject == subject and row.guard_kind == guard_kind
            if about and row.decision_id not in gone:
                return row
        return None

    def is_whole(self, decision_id: str) -> bool:
        """Return whether a review stands as it was written, and so does all that came after it."""
        return whole_from(self._links, decision_id)


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, Mapping):
        return {_clean(name): _clean(one) for name, one in value.items()}
    return [_clean(one) for one in value] if isinstance(value, list | tuple) else value


def superseded(rows: list[DecisionRow]) -> dict[str, str]:
    """Return what each review that holds no longer was replaced by: ``revoked`` or ``superseded``, by id."""
    found: dict[str, str] = {}
    for row in rows:
        if row.supersedes:
            word = "revoked" if row.action == "revoke" else "superseded"
            found[row.supersedes] = "revoked" if found.get(row.supersedes) == "revoked" else word
    return found


def statuses(rows: list[DecisionRow], today: date) -> dict[str, Status]:
    """Return how each review stands: signed, overdue, superseded or revoked; what was done on one is ``done``.

    Examples
    --------
    >>> statuses([], date(2026, 6, 1))
    {}
    """
    gone = superseded(rows)
    found: dict[str, Status] = {}
    for row in rows:
        word = gone.get(row.decision_id)
        if word == "revoked":
            found[row.decision_id] = "revoked"
        elif word is not None:
            found[row.decision_id] = "superseded"
        elif row.action != "sign":
            found[row.decision_id] = "done"
        else:
            found[row.decision_id] = "overdue" if is_overdue(row.review_by, today) else "signed"
    return found


def is_overdue(review_by: datetime | None, today: date) -> bool:
    """Return whether the day on which a review was to be looked at again has passed; that day itself still counts.

    Examples
    --------
    >>> is_overdue(datetime(2026, 6, 1, tzinfo=UTC), date(2026, 6, 1)), is_overdue(None, date(2026, 6, 1))
    (False, False)
    """
    return review_by is not None and today > review_by.date()
