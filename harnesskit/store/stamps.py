"""What tells that files changed, without reading them through."""

from __future__ import annotations

import os
from pathlib import Path

from harnesskit.store.load import Touched
from harnesskit.workspace.evalset import printable
from harnesskit.workspace.problems import UnreadableError
from harnesskit.workspace.reading import NOWHERE, Stamp, open_regular, stamp_of

Stamps = dict[str, Stamp]
"""Path relative to the workspace, to the stamp of the file."""


def stamps_of(root: Path, paths: tuple[str, ...], suffix: str = ".json") -> Stamps:
    """Return the stamps of the named files, and of the files with `suffix` in the named folders (not below them)."""
    found: Stamps = {}
    for path in paths:
        place = root / path
        if place.is_dir():
            with os.scandir(place) as entries:
                inside = [f"{path}/{entry.name}" for entry in entries if entry.name.endswith(suffix)]
            for name in sorted(inside):
                _look(root, name, found)
        _look(root, path, found) if not place.is_dir() or path.endswith(suffix) else None
    return found


def _look(root: Path, name: str, found: Stamps) -> None:
    try:
        info = (root / name).stat()
    except OSError:
        if os.path.lexists(root / name):  # a link to nothing, or to itself: there, and worth a problem
            found[name] = NOWHERE
        return
    found[name] = stamp_of(info)


def changes(old: Stamps, new: Stamps) -> Touched:
    """Return the files added, changed and gone between two looks, by name."""
    return Touched(
        [printable(name) for name in new if name not in old],
        [printable(name) for name in new if name in old and old[name] != new[name]],
        [printable(name) for name in old if name not in new],
    )


def bytes_before(path: Path, end: int, length: int = 4096) -> bytes:
    """Return up to `length` bytes of a file that lie before byte `end`; none when it cannot be read."""
    try:
        fd, _ = open_regular(str(path))
    except UnreadableError:
        return b""
    try:
        begin = max(0, end - length)
        os.lseek(fd, begin, os.SEEK_SET)
        return os.read(fd, end - begin)
    except OSError:
        return b""
    finally:
        os.close(fd)
