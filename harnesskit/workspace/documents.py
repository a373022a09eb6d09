"""One JSON object per file, and folders of such files: what is missing is empty, what cannot be used is a problem."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

from harnesskit.workspace.problems import Finding, Problem, UnreadableError, shown
from harnesskit.workspace.reading import parse_json, read_file


class Document(NamedTuple):
    """The object in a file, None when there is none to use, and what had to be said about it."""

    value: dict[str, Any] | None
    findings: list[Finding]


def is_absent(path: str | Path) -> bool:
    """Whether nothing at all lies at `path`, not even a link to nothing; never raises."""
    try:
        os.lstat(path)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return False


def read_document(path: str | Path) -> Document:
    """Return the JSON object in the file at `path`; a missing file is no object and no finding.

    Examples
    --------
    >>> read_document("no such file")
    Document(value=None, findings=[])
    """
    if is_absent(path):
        return Document(None, [])
    try:
        data, _ = read_file(str(path))
        value, findings = parse_json(data)
    except UnreadableError as error:
        return Document(None, [error.finding])
    if not isinstance(value, dict):
        message = f"The file must hold a JSON object; found {kind_of(value)}. It was left out."
        return Document(None, [*findings, Finding("", "problem", "not_an_object", message)])
    return Document(value, findings)


def kind_of(value: object) -> str:
    """Return what a JSON value is, in words, for a message.

    Examples
    --------
    >>> kind_of([1]), kind_of(True), kind_of("x")
    ('a list', 'true', "the text 'x'")
    """
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return f"the text {shown(value)}"
    if isinstance(value, (int, float)):
        return f"the number {shown(value)}"
    return "a list" if isinstance(value, list) else "an object"


def list_documents(folder: str | Path, source: str, shown_as: str) -> tuple[list[str], list[Problem]]:
    """Return the names in `folder` that end in ``.json``, sorted, and problems; a missing folder is empty.

    Left-over temporary files and other names are passed over, as the harness does; another spelling of ``.json`` is
    noted, because somebody meant it to be read.
    """
    if is_absent(folder):
        return [], []
    try:
        names = sorted(os.listdir(folder))
    except OSError as error:
        message = f"The folder cannot be read ({error.strerror or error}); nothing in it was loaded."
        return [], [Problem(source, shown_as, None, "", "problem", "unreadable", message)]
    said = []
    for name in names:
        if name.lower().endswith(".json") and not name.endswith(".json"):
            message = "The name ends in another spelling of .json; the harness reads .json only, so it was not read."
            said.append(Problem(source, f"{shown_as}/{printable(name)}", None, "", "note", "other_suffix", message))
    return [name for name in names if name.endswith(".json")], said


def printable(name: str) -> str:
    r"""Return a file name as valid text: bytes that are not UTF-8 are shown as escapes.

    Examples
    --------
    >>> printable("a\udcff")
    'a\\xff'
    """
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
