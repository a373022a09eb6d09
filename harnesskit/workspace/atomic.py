"""Write files so that a crash leaves either the old content or the new, and a torn line costs only itself."""

from __future__ import annotations

import contextlib
import json
import os
import stat
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from harnesskit.model.errors import WorkspaceError

_sync_data = getattr(os, "fdatasync", os.fsync)  # macOS has no fdatasync
_APPEND = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def write_atomic(path: Path, data: bytes) -> None:
    """Replace the file at `path` by `data` in one step; readers see the old file or the new one, never a part.

    The bytes go to ``<name>.<pid>.<32 hex>.tmp`` in the same folder (the form that the reference harness writes and
    every reader of a workspace ignores), are synced, and are renamed over the target. A failure leaves no such file.

    Raises
    ------
    WorkspaceError
        The file cannot be written; the old content is untouched.
    """
    with drafted(path, data) as put:
        put()


@contextlib.contextmanager
def drafted(path: Path, data: bytes) -> Iterator[Callable[[], None]]:
    """Write and sync `data` beside `path`, then hand over the function that puts it in place.

    What must be on record before the file changes can be written in between, when the space is already taken.

    Raises
    ------
    WorkspaceError
        The file cannot be written or put in place; the old content is untouched.
    """
    draft = path.with_name(f"{path.name}.{os.getpid()}.{uuid.uuid4().hex}.tmp")

    def put() -> None:
        try:
            draft.replace(path)
        except OSError as error:
            raise WorkspaceError(_refusal(path, error)) from error
        sync_folder(path.parent)

    try:
        try:
            with draft.open("xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise WorkspaceError(_refusal(path, error)) from error
        yield put
    finally:
        with contextlib.suppress(OSError):  # already renamed, or never made
            draft.unlink()


def append_line(path: Path, line: bytes) -> None:
    r"""Append `line` and a newline to the file at `path` in one write, and return when it is on disk.

    When the file does not end in a newline, its last line was torn by a crash: `line` then begins on a line of its own,
    so that the torn one loses nothing but itself.

    Raises
    ------
    WorkspaceError
        The file cannot be written, or is no ordinary file.
    ValueError
        `line` holds a newline, so it would be read as two.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "log.jsonl"
    >>> _ = path.write_bytes(b'{"whole": 1}\n{"to')
    >>> append_line(path, b'{"next": 2}')
    >>> path.read_bytes()
    b'{"whole": 1}\n{"to\n{"next": 2}\n'
    """
    append_lines(path, [line])


def append_lines(path: Path, lines: Sequence[bytes]) -> None:
    """Append `lines` as `append_line` does, all of them in one write.

    Raises
    ------
    WorkspaceError
        The file cannot be written, or is no ordinary file.
    ValueError
        A line holds a newline, so it would be read as two.
    """
    if any(b"\n" in line for line in lines):
        raise ValueError(f"one line at a time: the record for {path.name} holds a newline")
    try:
        fd = os.open(path, _APPEND, 0o666)
        try:
            info = os.fstat(fd)
            if not stat.S_ISREG(info.st_mode):
                raise WorkspaceError(f"cannot append to {path}: it is not a file; move it away and try again.")
            torn = info.st_size > 0 and _last_byte(fd, info.st_size) != b"\n"
            _write_all(fd, b"\n" * torn + b"".join(line + b"\n" for line in lines))
            _sync_data(fd)
        finally:
            os.close(fd)
        if info.st_size == 0:
            sync_folder(path.parent)
    except OSError as error:
        raise WorkspaceError(_refusal(path, error)) from error


def _last_byte(fd: int, size: int) -> bytes:
    os.lseek(fd, size - 1, os.SEEK_SET)
    return os.read(fd, 1)


def _write_all(fd: int, data: bytes) -> None:
    while data:  # one call, except when the disk fills up in the middle
        data = data[os.write(fd, data) :]


def sync_folder(folder: Path) -> None:
    """Make the names in `folder` survive a power cut, where the system can do that."""
    with contextlib.suppress(OSError):  # Windows and some network mounts cannot open or sync a folder
        fd = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


def _refusal(path: Path, error: OSError) -> str:
    return f"cannot write {path}: {error.strerror or error}; check the folder, its permissions and the free space."


def json_file_bytes(value: Any) -> bytes:
    r"""Return `value` as a JSON file of the reference harness: sorted keys, 2 spaces, ASCII, no newline at the end.

    Raises
    ------
    ValueError
        `value` holds NaN or an infinity, which JSON does not have.

    Examples
    --------
    >>> json_file_bytes({"b": "ü", "a": 1})
    b'{\n  "a": 1,\n  "b": "\\u00fc"\n}'
    """
    return json.dumps(value, indent=2, sort_keys=True, ensure_ascii=True, allow_nan=False).encode("ascii")


def json_line_bytes(value: Any, *, sort_keys: bool = True) -> bytes:
    r"""Return `value` as one line of a JSON Lines file: sorted keys (or as they come), ASCII, without the newline.

    Raises
    ------
    ValueError
        `value` holds NaN or an infinity, which JSON does not have.

    Examples
    --------
    >>> json_line_bytes({"b": "ü\n", "a": 1})
    b'{"a": 1, "b": "\\u00fc\\n"}'
    """
    return json.dumps(value, sort_keys=sort_keys, ensure_ascii=True, allow_nan=False).encode("ascii")
