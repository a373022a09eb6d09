"""One process per question: JSON in, JSON out, and nothing of it left running when nobody waits any more."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import tempfile
from collections.abc import Mapping, Sequence
from typing import IO, Any

from harnesskit.model.replay import ReplayError
from harnesskit.model.text import shorten, visible
from harnesskit.workspace.documents import kind_of
from harnesskit.workspace.problems import UnreadableError
from harnesskit.workspace.reading import parse_json, to_json

MOST_BYTES = 64 * 1024 * 1024
_OWN_GROUP = hasattr(os, "killpg")


async def answer_of(
    command: Sequence[str], question: Any, *, environment: Mapping[str, str] | None = None, cwd: str | None = None
) -> dict[str, Any]:
    """Return the JSON object that a process writes to standard output when given `question` on standard input.

    Files stand in for pipes, and the process leads a group of its own where there are such: when the caller is
    cancelled the whole group is killed, and a child that was left behind cannot hold the caller up.

    Raises
    ------
    ReplayError
        The command cannot be run, ended with another status than 0, or wrote no JSON object.
    """
    name = visible(str(command[0]))
    with tempfile.TemporaryFile() as asked, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        asked.write(to_json(question).encode("utf-8", "backslashreplace"))
        asked.seek(0)
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asked,
                stdout=out,
                stderr=err,
                cwd=cwd,
                env=None if environment is None else {**os.environ, **environment},
                start_new_session=_OWN_GROUP,
            )
        except (OSError, ValueError) as error:
            what = "was not found" if isinstance(error, FileNotFoundError) else f"cannot be run ({error})"
            raise ReplayError(f"the command {name!r} {what}.") from error
        try:
            code = await process.wait()
        except BaseException:  # the time limit, or the end of the run
            _kill(process)
            raise
        if code != 0:
            raise ReplayError(f"the command {name!r} ended with status {code}; {_said(err)}.")
        return _object(name, out, err)


def _kill(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(OSError):  # gone already
        if _OWN_GROUP:
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()


def _said(err: IO[bytes]) -> str:
    size = err.seek(0, os.SEEK_END)
    err.seek(max(0, size - 4_000))
    text = visible(err.read().decode("utf-8", "replace").strip().replace("\n", " "))
    return f"it said: {shorten(text, 500)}" if text else "it said nothing on standard error"


def _object(name: str, out: IO[bytes], err: IO[bytes]) -> dict[str, Any]:
    if out.seek(0, os.SEEK_END) > MOST_BYTES:
        raise ReplayError(f"the command {name!r} wrote more than {MOST_BYTES // 2**20} MB to standard output.")
    out.seek(0)
    data = out.read()
    try:
        value, _ = parse_json(data)
    except UnreadableError as error:
        start = shorten(visible(data[:400].decode("utf-8", "replace")), 80)
        raise ReplayError(
            f"the command {name!r} wrote no JSON ({error}); it begins: {start!r}; {_said(err)}."
        ) from error
    if not isinstance(value, dict):
        raise ReplayError(f"the command {name!r} must write a JSON object; found {kind_of(value)}.")
    return value
