"""Run a command without a shell and read the JSON on its standard output, within a time limit that holds."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from typing import IO, Any

from harnesskit.model.errors import HarnesskitError
from harnesskit.model.text import shorten, visible
from harnesskit.workspace.problems import UnreadableError
from harnesskit.workspace.reading import parse_json

Run = Callable[[Sequence[str], float], Any]
"""Argument list and limit in seconds to a JSON value."""

MAX_OUTPUT_BYTES = 32 * 1024 * 1024
_OWN_GROUP = hasattr(os, "killpg")


class CommandError(HarnesskitError, RuntimeError):
    """A command gave no usable JSON.

    Attributes
    ----------
    again
        Whether another attempt may do better: not when the command is missing, or refused what it was asked.
    """

    def __init__(self, message: str, *, again: bool = False) -> None:
        super().__init__(message)
        self.again = again


def run_json(argv: Sequence[str], timeout_s: float, *, final_codes: Sequence[int] = (2, 3, 4)) -> Any:
    """Return the JSON value that a command writes to standard output; NaN and infinities are null.

    Output goes to files, not pipes, and on POSIX the command leads a process group of its own: when the limit is
    over, the group is killed, so that neither it nor a child it left behind can hold the caller up.

    Parameters
    ----------
    argv
        The command and its arguments, passed as they are: no shell reads them.
    timeout_s
        Limit in seconds.
    final_codes
        Exit codes after which another attempt is pointless.

    Raises
    ------
    CommandError
        Not found, out of time, a non-zero exit code, or no JSON (the message says which, with the end of what the
        command said on standard error).

    Examples
    --------
    >>> import sys
    >>> run_json([sys.executable, "-c", "print([1, 2])"], 60)
    [1, 2]
    """
    name = visible(str(argv[0]))
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        try:
            process = subprocess.Popen(
                list(argv), stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=_OWN_GROUP
            )
        except (OSError, ValueError) as error:  # ValueError: a null character in an argument
            what = "was not found" if isinstance(error, FileNotFoundError) else f"cannot be run ({error})"
            message = f"The command {name!r} {what}; install it or set cli_binary (HARNESS_CLI_BINARY)."
            raise CommandError(message) from error
        try:
            code = process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            _end(process)
            message = f"The command {name!r} did not end within {timeout_s:g} s; {_said(err)}."
            raise CommandError(message, again=True) from None
        except BaseException:  # Ctrl-C: leave nothing running
            _end(process)
            raise
        if code != 0:
            message = f"The command {name!r} failed with exit code {code}; {_said(err)}."
            raise CommandError(message, again=code not in final_codes)
        return _value(name, out)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill a command that was not waited for yet (so its number cannot be another's) and the children it started."""
    with contextlib.suppress(OSError):  # gone already
        if _OWN_GROUP:
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.wait()


def _said(err: IO[bytes]) -> str:
    size = err.seek(0, os.SEEK_END)
    err.seek(max(0, size - 4000))
    text = visible(err.read().decode("utf-8", "replace").strip().replace("\n", " "))
    return f"it said: {shorten(text, 300)}" if text else "it said nothing on standard error"


def _value(name: str, out: IO[bytes]) -> Any:
    if out.seek(0, os.SEEK_END) > MAX_OUTPUT_BYTES:
        raise CommandError(
            f"The command {name!r} wrote more than {MAX_OUTPUT_BYTES / 1e6:.0f} MB; no score is that long."
        )
    out.seek(0)
    data = out.read()
    try:
        value, _ = parse_json(data)
    except UnreadableError as error:
        start = shorten(visible(data[:400].decode("utf-8", "replace")), 80)
        message = f"The command {name!r} wrote no usable JSON to standard output ({error}) It begins: {start!r}."
        raise CommandError(message, again=True) from error
    return value
