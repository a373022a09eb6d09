"""What the writers of a folder tell one another: which files each change touched, from which state to which.

A reader that knows the folder in one state follows the log to the present one and reads only the files named on the
way. Where the chain breaks (somebody wrote without a word, the log was deleted), the reader looks at the whole folder.
So the log may be lost, cut or deleted at any time.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import msgspec

from harnesskit.workspace.atomic import json_line_bytes
from harnesskit.workspace.layout import OURS

CACHE = f"{OURS}/cache"
MAX_BYTES = 256 * 1024
"""Size at which the log begins anew; every reader then looks once."""

FolderStamp = tuple[int, int, int]
"""What tells that a file was added to a folder, renamed in it or removed: its modification time, change time, inode."""

NO_FOLDER: FolderStamp = (-1, -1, -1)


class Place(NamedTuple):
    """How far a reader has read: the inode of the log (0: there was none) and a byte."""

    inode: int
    offset: int


class Change(msgspec.Struct, forbid_unknown_fields=True):
    """One line of the log."""

    before: FolderStamp
    after: FolderStamp
    files: list[str]


_decode = msgspec.json.Decoder(Change).decode


def folder_stamp(folder: Path) -> FolderStamp:
    """Return the stamp of a folder; `NO_FOLDER` when it cannot be asked for."""
    try:
        info = folder.stat()
    except OSError:
        return NO_FOLDER
    return info.st_mtime_ns, info.st_ctime_ns, info.st_ino


class ChangeLog:
    """The log of one folder, at `path`."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def end(self) -> Place:
        """Return the place up to which the log is written now."""
        try:
            info = self.path.stat()
        except OSError:
            return Place(0, 0)
        return Place(info.st_ino, info.st_size)

    def since(self, place: Place) -> tuple[list[Change], Place] | None:
        """Return the changes written after `place` and where they end; None when the log is not the one read before."""
        end = self.end()
        if end == place:
            return [], place
        if end.offset < place.offset or place.inode not in (0, end.inode):
            return None
        try:
            with self.path.open("rb") as file:
                if os.fstat(file.fileno()).st_ino != end.inode:
                    return None
                file.seek(place.offset)
                data = file.read()
            whole = data[: data.rfind(b"\n") + 1]  # the rest is being written, or torn
            changes = [_decode(line) for line in whole.split(b"\n") if line]
        except (OSError, msgspec.MsgspecError):
            return None
        return changes, Place(end.inode, place.offset + len(whole))

    def add(self, change: Change) -> Place:
        """Append a change (the caller holds the lock) and return where the log ends; never raises.

        A log that cannot be written is removed, so that nobody takes its silence for no change.
        """
        try:
            line = json_line_bytes(msgspec.to_builtins(change)) + b"\n"
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if self.end().offset + len(line) > MAX_BYTES:
                self.path.unlink()
            with self.path.open("ab") as file:  # not synced: after a crash of the machine readers look at the folder
                file.write(line)
        except OSError:
            with contextlib.suppress(OSError):
                self.path.unlink()
        return self.end()


def follow(stamp: FolderStamp, changes: Iterable[Change]) -> FolderStamp:
    """Return the state of the folder that the changes lead to from `stamp`; one that begins elsewhere is passed over.

    Examples
    --------
    >>> follow((1, 1, 9), [Change((0, 0, 9), (1, 1, 9), []), Change((1, 1, 9), (2, 2, 9), ["c-1.json"])])
    (2, 2, 9)
    """
    for change in changes:
        if change.before == stamp:
            stamp = change.after
    return stamp
