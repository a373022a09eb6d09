"""What the command line prints: results to standard output, messages to standard error, nothing that moves a cursor."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from typing import Any

import pandas as pd

from harnesskit.model.text import counted
from harnesskit.reports.cells import as_text, missing
from harnesskit.reports.text import terminal_text


def say(text: str) -> None:
    """Print a message to standard error, harmless to a terminal."""
    if sys.stderr is not None:  # closed by the caller: print() would write to standard output instead
        print(_harmless(text), file=sys.stderr, flush=True)


def tell(arguments: Namespace, text: str) -> None:
    """Print a result: to standard output, or beside the JSON, to standard error."""
    if arguments.json:
        say(text)
    else:
        print(_harmless(text), flush=True)


def print_json(value: Any) -> None:
    """Print a value as strict JSON to standard output."""
    print(json.dumps(value, indent=2, sort_keys=True, allow_nan=False, default=str), flush=True)


def print_table(frame: pd.DataFrame) -> None:
    """Print a frame to standard output, one line per row, columns as wide as they need, long text cut visibly."""
    cells = [
        [_short("" if missing(value) else as_text(value)) for value in row] for row in frame.itertuples(index=False)
    ]
    heads = [str(column) for column in frame.columns]
    widths = [max(map(len, column)) for column in zip(heads, *cells, strict=True)] if cells else [len(h) for h in heads]
    lines = ["  ".join(t.ljust(w) for t, w in zip(line, widths, strict=True)).rstrip() for line in [heads, *cells]]
    print("\n".join(lines), flush=True)


def strict_code(arguments: Namespace, problems: pd.DataFrame, *, remind: bool = False) -> int:
    """Return 2, and say so, when ``--strict`` was asked for and a file has a problem, else 0.

    With `remind` the number of problems is said in any case: a verdict rests on what could be read.
    """
    n = int((problems["severity"] == "problem").sum())
    if n and arguments.strict:
        say(f"exit 2: {counted(n, 'problem')} in the workspace, see harnesskit doctor (--strict)")
        return 2
    if n and remind:
        say(f"{counted(n, 'problem')} in the workspace: harnesskit doctor")
    return 0


def _harmless(text: str) -> str:
    return "\n".join(terminal_text(line) for line in text.split("\n"))


def _short(text: str, limit: int = 60) -> str:
    safe = terminal_text(text)
    return safe if len(safe) <= limit else safe[: limit - 1] + "…"
