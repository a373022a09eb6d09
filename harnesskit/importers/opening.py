"""A look at a file before it is imported: what it is, whether it is whole, and which bytes it holds."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from harnesskit.model.errors import WorkspaceError
from harnesskit.workspace.problems import UnreadableError
from harnesskit.workspace.reading import open_regular

HEAD = 64 * 1024


def refuse(path: Path, why: str) -> WorkspaceError:
    """Return the error of a file that cannot be imported."""
    return WorkspaceError(f"cannot import {path}: {why} Nothing was imported.")


def first_bytes(path: Path) -> bytes:
    """Return the first bytes of a file.

    Raises
    ------
    WorkspaceError
        It is no regular file, is empty, or begins with zero bytes, as a sparse or cut-off file does.
    """
    try:
        fd, info = open_regular(str(path))
    except UnreadableError as error:
        raise refuse(path, error.finding.message) from error
    try:
        head = os.read(fd, HEAD)
    except OSError as error:
        raise refuse(path, f"it cannot be read ({error.strerror or error}).") from error
    finally:
        os.close(fd)
    if not head.strip():
        raise refuse(path, "there is nothing in it.")
    if not head.strip(b"\0"):
        size = f"{info.st_size / 1e6:,.0f} MB"
        raise refuse(
            path, f"its {size} begin with nothing but zero bytes: the file is sparse, or was not written whole."
        )
    return head


def digest_of(path: Path) -> str:
    """Return the SHA-256 of the bytes of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
