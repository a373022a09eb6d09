"""The folder of eval cases: which files hold a case, which of them changed, and the rows in them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from harnesskit.workspace.cases import CaseRow, interpret, plain_row
from harnesskit.workspace.layout import EVALSET
from harnesskit.workspace.problems import Problem, UnreadableError
from harnesskit.workspace.reading import NOWHERE, UNREAD, Stamp, parse_json, read_file, stamp_of

SOURCE = "evalset"
CHUNK = 2_000
"""Files read before their rows are handed on: bounds memory whatever the size of the set."""


Known = dict[str, Stamp]
"""File name to the stamp of the bytes that were read from it."""

_END: tuple[str, Stamp] = ("", UNREAD)


class Changes(NamedTuple):
    """What a look at the folder found, compared with what was read before; names in the order of the folder."""

    names: list[str]
    gone: list[str]
    notes: list[Problem]


def look(root: Path, known: Known) -> Changes:
    """Return the names of new or changed case files and of those that are gone; nothing is opened.

    With nothing known every name is new and not even looked at: reading gives its stamp.
    """
    try:
        entries = os.scandir(root / EVALSET)
    except FileNotFoundError:
        return Changes([], list(known), [])
    except OSError as error:
        message = f"The folder cannot be read ({error.strerror}); no case was loaded."
        return Changes([], list(known), [Problem(SOURCE, EVALSET, None, "", "problem", "unreadable", message)])
    names: list[str] = []
    notes: list[Problem] = []
    same = 0
    # a folder that did not change lists its names in the order of the last look; following it spares the searching
    expected, get = iter(known.items()), known.get
    likely, likely_stamp = next(expected, _END)
    with entries:
        for entry in entries:
            name = entry.name
            if name == likely:
                stamp: Stamp | None = likely_stamp
                likely, likely_stamp = next(expected, _END)
            else:
                stamp = get(name)
            if stamp is None:
                if name[-5:] == ".json":
                    names.append(name)
                else:
                    notes.extend(_left_alone(entry))
                continue
            try:
                info = entry.stat()
                now = info.st_size, info.st_mtime_ns, info.st_ino, info.st_ctime_ns  # `stamp_of`, without a call each
            except OSError:
                now = NOWHERE
            if stamp == now:
                same += 1
            else:
                names.append(name)
    gone = [] if same == len(known) else _gone(root, known, names)
    return Changes(names, gone, notes)


def _gone(root: Path, known: Known, changed: list[str]) -> list[str]:
    present = set(os.listdir(root / EVALSET)).union(changed)
    return sorted(name for name in known if name not in present)


def _left_alone(entry: os.DirEntry[str]) -> Iterator[Problem]:
    file = f"{EVALSET}/{printable(entry.name)}"
    if entry.name.lower().endswith(".json"):
        message = "The name ends in another spelling of .json; the harness reads .json only, so it was not read."
        yield Problem(SOURCE, file, None, "", "note", "other_suffix", message)
    elif entry.is_dir(follow_symlinks=False):
        message = "Case files in a folder below evalset/ are not read; move them up."
        yield Problem(SOURCE, file, None, "", "note", "sub_folder", message)


def printable(name: str) -> str:
    """Return a file name as valid text: bytes that are not UTF-8 are shown as escapes."""
    return name if name.isascii() else name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def read_cases(root: Path, names: Sequence[str], known: Known) -> Iterator[tuple[list[CaseRow], list[Problem]]]:
    """Yield the rows and problems of the named case files, `CHUNK` files at a time, noting their stamps in `known`.

    They are read in the order of their names; `known` keeps the order of the folder, for the next look.
    One file that cannot be used costs a problem, never its neighbours.
    """
    if not names:
        return
    try:
        folder = os.open(root / EVALSET, os.O_RDONLY)
    except OSError:  # gone since the look; the next one says so
        return
    try:
        known.update(dict.fromkeys(names, UNREAD))
        ordered = sorted(names)
        for first in range(0, len(ordered), CHUNK):
            yield _read_chunk(ordered[first : first + CHUNK], folder, known)
    finally:
        os.close(folder)


def _read_chunk(names: Sequence[str], folder: int, known: Known) -> tuple[list[CaseRow], list[Problem]]:
    rows: list[CaseRow] = []
    problems: list[Problem] = []
    for name in names:
        _read_case(name, folder, known, rows, problems)
    return rows, problems


def _read_case(name: str, folder: int, known: Known, rows: list[CaseRow], problems: list[Problem]) -> None:
    """Append the row of one case file to `rows`, and what had to be said about it to `problems`."""
    known[name] = UNREAD
    try:
        data, known[name] = read_file(name, dir_fd=folder)
        digest = hashlib.sha256(data).hexdigest()
        file = f"{EVALSET}/{name if name.isascii() else printable(name)}"
        plain = plain_row(data, file, digest)
        if plain is not None:
            rows.append(plain)
            return
        value, said = parse_json(data)
        row, more = interpret(value, file, digest)
    except UnreadableError as error:
        if known[name] == UNREAD:
            known[name] = _unopened(name, folder, error.finding.kind)
        problems.append(error.finding.at(SOURCE, f"{EVALSET}/{printable(name)}"))
        return
    rows.append(row)
    told = {(finding.field, finding.kind) for finding in more}
    said = [finding for finding in said if (finding.field, finding.kind) not in told]
    problems.extend(finding.at(SOURCE, file) for finding in [*said, *more])


def _unopened(name: str, folder: int, kind: str) -> Stamp:
    """Return the stamp of what is no file; a file that could not be read this time is tried again."""
    try:
        info = os.stat(name, dir_fd=folder)
    except OSError:
        return NOWHERE
    return stamp_of(info) if kind == "not_a_file" else UNREAD
