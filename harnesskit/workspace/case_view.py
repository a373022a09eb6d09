"""The cases of a workspace in memory, kept in step with the folder at the least cost that is safe.

A *look* asks for the stamp of every file and reads those that changed: exact, and linear in the size of the set. A
*glance* asks for the stamp of the folder and follows the log of the writers: constant, and sees every file that was
added, replaced or removed, by whomever. What only a look sees is a file that somebody changed in place.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path

from harnesskit.model.errors import WorkspaceError
from harnesskit.workspace.case_index import CaseIndex
from harnesskit.workspace.change_log import CACHE, NO_FOLDER, Change, ChangeLog, Place, folder_stamp, follow
from harnesskit.workspace.evalset import Known, look
from harnesskit.workspace.layout import EVALSET
from harnesskit.workspace.problems import UnreadableError
from harnesskit.workspace.reading import UNREAD, stamp_of
from harnesskit.workspace.stored_case import StoredCase, read_stored

SMALL = 256
"""Up to this many files every glance is a look: it costs less than what is synced for one capture."""

LOOK_EVERY_S = 10.0
"""Age of the last look at which a reader of a larger set looks again."""


class CaseView:
    """The index of a folder of cases and what is known about the state that it shows.

    Parameters
    ----------
    root
        The workspace.
    monotonic
        Seconds that never go back, for the age of the last look.
    """

    def __init__(self, root: Path, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self.index = CaseIndex()
        self._root = root
        self._folder = root / EVALSET
        self._log = ChangeLog(root / CACHE / "evalset.log")
        self._monotonic = monotonic
        self._known: Known = {}
        self._stamp = NO_FOLDER
        self._place = Place(0, 0)
        self._looked: float | None = None

    def look(self) -> CaseIndex:
        """Bring the index up to date with every file and return it.

        Raises
        ------
        WorkspaceError
            The folder of cases cannot be read; an empty set would be a lie.
        """
        # the state is noted before the files are read: what changes meanwhile is found by the next glance
        place, stamp, now = self._log.end(), folder_stamp(self._folder), self._monotonic()
        self._looked = None
        changes = look(self._root, self._known)
        for problem in changes.notes:
            if problem.kind == "unreadable":
                raise WorkspaceError(f"The folder {self._folder} cannot be read: {problem.message}")
        for name in changes.gone:
            self._forget(name)
        for name in changes.names:
            self._read(name)
        self._place, self._stamp, self._looked = place, stamp, now
        return self.index

    def glance(self, *, oldest_look_s: float | None = None) -> CaseIndex:
        """Bring the index up to date with every file that was added, replaced or removed, and return it.

        With `oldest_look_s`, a last look older than that is made again.
        """
        if self._looked is None or len(self._known) <= SMALL:
            return self.look()
        if oldest_look_s is not None and self._monotonic() - self._looked > oldest_look_s:
            return self.look()
        stamp = folder_stamp(self._folder)
        written = self._log.since(self._place)
        if written is None or follow(self._stamp, written[0]) != stamp:
            return self.look()
        self._refresh(file for change in written[0] for file in change.files)
        self._stamp, self._place = stamp, written[1]
        return self.index

    def current(self, file: str) -> StoredCase | None:
        """Return the case in a file as it is now, None when there is none (any more)."""
        self._refresh([file])
        return self.index.cases.get(file)

    def wrote(self, files: list[str]) -> None:
        """Take in the files that this process changed since the last glance, and tell the others (under the lock)."""
        after = folder_stamp(self._folder)
        self._place = self._log.add(Change(self._stamp, after, files))
        self._stamp = after
        self._refresh(files)

    def _refresh(self, files: Iterable[str]) -> None:
        for name in dict.fromkeys(files):
            try:
                stamp = stamp_of(Path(self._path(name)).stat())
            except OSError:
                self._forget(name)
                continue
            if self._known.get(name) != stamp:
                self._read(name)

    def _read(self, name: str) -> None:
        self.index.drop(name)
        self._known[name] = UNREAD
        try:
            stored, self._known[name] = read_stored(self._path(name), name)
        except UnreadableError:
            return
        self.index.put(stored)

    def _forget(self, name: str) -> None:
        self.index.drop(name)
        self._known.pop(name, None)

    def _path(self, name: str) -> str:
        return f"{self._folder}/{name}"
