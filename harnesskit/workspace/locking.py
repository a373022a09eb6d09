"""One writer at a time: a lock file that the system frees when its holder ends, however it ends."""

from __future__ import annotations

import contextlib
import json
import os
import random
import socket
import sys
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from harnesskit.model.errors import LockedError, WorkspaceError
from harnesskit.workspace.clock import utc_now

if sys.platform == "win32":
    import msvcrt

    _PLACE = 1 << 30  # beyond the text, which others must be able to read

    def _try_lock(fd: int) -> bool:
        os.lseek(fd, _PLACE, os.SEEK_SET)
        try:
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _unlock(fd: int) -> None:
        os.lseek(fd, _PLACE, os.SEEK_SET)
        msvcrt.locking(fd, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _try_lock(fd: int) -> bool:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _unlock(fd: int) -> None:
        # not by closing alone: a process forked meanwhile holds the same lock
        fcntl.flock(fd, fcntl.LOCK_UN)


SHORTEST_WAIT, LONGEST_WAIT = 0.0005, 0.01
_OPEN = os.O_RDWR | os.O_CREAT | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


@contextlib.contextmanager
def hold(path: Path, purpose: str, *, timeout_s: float = 10.0) -> Iterator[None]:
    """Hold the lock file at `path` for the time of a ``with`` block; `purpose` is what others read about it.

    The lock is one of the system's: it excludes threads and processes alike, and ends with its holder. What a dead
    process left in the file is no obstacle.

    Raises
    ------
    LockedError
        Somebody else held it for `timeout_s` seconds; the message names them.
    WorkspaceError
        The file cannot be made, or the file system knows no locks.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        fd = os.open(path, _OPEN, 0o666)
    except OSError as error:
        raise WorkspaceError(_refusal(path, error)) from error
    try:
        _wait(fd, path, timeout_s)
        try:
            _sign(fd, purpose)
            yield
        finally:
            _unlock(fd)
    finally:
        os.close(fd)


def _wait(fd: int, path: Path, timeout_s: float) -> None:
    until = time.monotonic() + timeout_s
    try:
        while not _try_lock(fd):
            left = until - time.monotonic()
            if left <= 0:
                raise LockedError(_locked(fd, path, timeout_s))
            time.sleep(min(left, random.uniform(SHORTEST_WAIT, LONGEST_WAIT)))
    except OSError as error:
        raise WorkspaceError(_refusal(path, error)) from error


def _sign(fd: int, purpose: str) -> None:
    holder = {"host": socket.gethostname(), "pid": os.getpid(), "purpose": purpose, "since": utc_now().isoformat()}
    with contextlib.suppress(OSError):  # a full disk: the lock holds without its text
        os.ftruncate(fd, 0)
        os.lseek(fd, 0, os.SEEK_SET)
        os.write(fd, json.dumps(holder).encode("ascii"))


def _locked(fd: int, path: Path, timeout_s: float) -> str:
    return (
        f"cannot write to this workspace: {path} has been locked for the {timeout_s:g} s that were waited, "
        f"{_holder(fd)}. Let it finish, or end it, and try again; deleting the file does not free the lock."
    )


def _holder(fd: int) -> str:
    try:
        os.lseek(fd, 0, os.SEEK_SET)
        found: Any = json.loads(os.read(fd, 4096))
        pid, host, purpose = int(found["pid"]), str(found["host"]), str(found["purpose"])
        since = datetime.fromisoformat(found["since"])
    except (OSError, ValueError, KeyError, TypeError):
        return "by a process that has not said who it is"
    held = (utc_now() - since).total_seconds()
    who = f"by process {pid} on {host} since {since:%Y-%m-%d %H:%M:%S} UTC (for {held:.0f} s) to {purpose}"
    return f"{who} (this process, perhaps another thread of it)" if pid == os.getpid() else who


def _refusal(path: Path, error: OSError) -> str:
    return f"cannot lock {path}: {error.strerror or error}; check the folder, its permissions and the file system."
