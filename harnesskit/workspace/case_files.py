"""The changes to the folder of cases: each one whole or not at all, and on record in the journal.

The caller holds the lock. What happens to a file goes by its name, never by an id that was read from inside one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harnesskit.model.case import CaseKind
from harnesskit.model.errors import WorkspaceError, listed
from harnesskit.workspace.atomic import drafted, sync_folder, write_atomic
from harnesskit.workspace.case_view import CaseView
from harnesskit.workspace.case_writing import is_case_id, with_fields
from harnesskit.workspace.clock import Clock
from harnesskit.workspace.documents import is_absent, printable
from harnesskit.workspace.journal_writer import Event, append_events
from harnesskit.workspace.layout import EVALSET
from harnesskit.workspace.problems import UnreadableError, shown
from harnesskit.workspace.reading import read_file
from harnesskit.workspace.stored_case import StoredCase


class CaseFiles:
    """The files behind a view; a case is always read again from its file before anything depends on it."""

    def __init__(self, root: Path, view: CaseView, clock: Clock) -> None:
        self._root, self._view, self._clock = root, view, clock
        self._folder = root / EVALSET

    def count(self) -> int:
        """Return the number of readable cases at the last glance."""
        return len(self._view.index)

    def find(self, case_id: str) -> StoredCase | None:
        """Return the case with an id; of two files that hold it, the one named after it.

        Raises
        ------
        WorkspaceError
            Two files hold it, and neither is named after it.
        """
        if not is_case_id(case_id):
            return None
        for file in self._view.index.with_id(case_id):
            self._view.current(file)
        files = self._view.index.with_id(case_id)
        named = f"{case_id}.json"
        if len(files) > 1 and named not in files:
            where = listed([printable(file) for file in files])
            raise WorkspaceError(
                f"The id {shown(case_id)} stands in two files or more of {self._folder}: {where}. Which case is meant "
                "is not known; give each file an id of its own."
            )
        return self._view.index.cases[named if named in files else files[0]] if files else None

    def same_as(self, new: StoredCase) -> StoredCase | None:
        """Return the stored case that `new` would repeat."""
        while (found := self._view.index.with_key(new.key)) is not None:
            now = self._view.current(found.file)
            if now is not None and now.key == new.key:
                return now
        return None

    def oldest_failure(self) -> StoredCase | None:
        """Return the failure that was captured first, None when there are only wins."""
        while (found := self._view.index.oldest_failure()) is not None:
            now = self._view.current(found.file)
            if now is not None and now.order == found.order and now.key.kind == "failure":
                return now
        return None

    def add(self, new: StoredCase, data: bytes, oldest: StoredCase | None) -> StoredCase:
        """Write a new case, then remove the failure that makes room for it.

        In this order a crash in between leaves one case too many, never one too few. A failure on the way takes the
        new file back.
        """
        path = self._folder / new.file
        if not is_absent(path):
            raise WorkspaceError(f"{path} is in the way of a new case; capture again, which draws another id.")
        try:
            write_atomic(path, data)
            self._tell(*([] if oldest is None else [_evicted(oldest, new)]), _captured(new))
            if oldest is not None:
                self._unlink(oldest)
        except BaseException:
            if oldest is None or not is_absent(self._folder / oldest.file):
                with contextlib.suppress(OSError):  # never made
                    path.unlink()
            raise
        self._view.wrote([new.file] if oldest is None else [new.file, oldest.file])
        return new

    def refuse(self, new: StoredCase) -> None:
        """Note in the journal that a full set had no room, in the words of the reference harness."""
        self._tell(Event("evalset_capture", {"session_id": new.key.session_id, "skipped": "cap"}))

    def attach(self, stored: StoredCase, payload: Any) -> StoredCase:
        """Put a checked payload into the file of a case, and return the case as it is then."""
        reason = "input attached" if payload is not None else "input removed"
        about = {"reason": reason, "replayable": payload is not None}
        return self._rewrite(stored, {"replay_input": payload}, Event("evalset_attach", {**_about(stored), **about}))

    def turn_into(
        self, stored: StoredCase, kind: CaseKind, baseline_scores: Mapping[str, float] | None, reason: str
    ) -> StoredCase:
        """Make a case one of another kind, with other baseline scores when given, and return it as it is then."""
        changes: dict[str, Any] = {"kind": kind}
        if baseline_scores is not None:
            changes["baseline_scores"] = dict(baseline_scores)
        return self._rewrite(stored, changes, Event("evalset_kind", {**_about(stored), "kind": kind, "reason": reason}))

    def _rewrite(self, stored: StoredCase, changes: Mapping[str, Any], event: Event) -> StoredCase:
        """Change fields of a case in its file; the journal comes first, so that without it the file stays as it was."""
        path = self._folder / stored.file
        try:
            data = with_fields(read_file(str(path))[0], **changes)
        except (UnreadableError, ValueError) as error:
            raise WorkspaceError(f"cannot read {path}: {error}") from error
        with drafted(path, data) as put:
            self._tell(event)
            put()
        self._view.wrote([stored.file])
        now = self._view.current(stored.file)
        if now is None:
            raise WorkspaceError(f"{path} was removed by another program while it was changed.")
        return now

    def remove(self, stored: StoredCase, reason: str) -> None:
        """Delete the file of a case; the journal has it first, so that no file is ever missing without a word."""
        self._tell(Event("evalset_remove", {**_about(stored), "reason": reason}))
        self._unlink(stored)
        sync_folder(self._folder)
        self._view.wrote([stored.file])

    def _unlink(self, stored: StoredCase) -> None:
        path = self._folder / stored.file
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            why = error.strerror or error
            raise WorkspaceError(f"cannot remove {path}: {why}; check the permissions of the folder.") from error

    def _tell(self, *events: Event) -> None:
        append_events(self._root, events, clock=self._clock)


def _about(stored: StoredCase) -> dict[str, Any]:
    return {"case_id": stored.case_id, "file": f"{EVALSET}/{printable(stored.file)}"}


def _captured(new: StoredCase) -> Event:
    fields = {
        "case_id": new.case_id,
        "session_id": new.key.session_id,
        "kind": new.key.kind,
        "signatures": list(new.fields["signature"]),
        "replayable": new.payload is not None,
    }
    return Event("evalset_capture", fields)


def _evicted(oldest: StoredCase, new: StoredCase) -> Event:
    return Event("evalset_evict", {**_about(oldest), "reason": f"the set was full: room for {new.case_id}"})
