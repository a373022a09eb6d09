"""Labels from a file that people made: CSV with any separator, JSON, or JSON lines."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from harnesskit.model.errors import WorkspaceError, nearest
from harnesskit.model.frames import LABELS
from harnesskit.workspace.problems import Finding, Problem, shown
from harnesskit.workspace.times import read_time

SOURCE = "labels"
YES = frozenset(["true", "t", "yes", "y", "1", "failed", "fail", "failure", "f", "x", "bad", "breach", "broken"])
"""Words that say "failed". ``f`` stands for failed, since the column asks whether the session did."""

NO = frozenset(["false", "no", "n", "0", "ok", "okay", "passed", "pass", "p", "good", "healthy", "success"])
_NAMES = {
    "session_id": ("session_id", "session", "sessionid", "session id", "id"),
    "failed": ("failed", "fail", "failure", "label", "is_failed"),
    "rater": ("rater", "reviewer", "author", "annotator"),
    "at": ("at", "time", "timestamp", "date"),
    "metric": ("metric",),
    "note": ("note", "notes", "comment"),
}
LIMIT = 256 * 1024 * 1024


class _Row(NamedTuple):
    line: int
    cells: dict[str, Any]


def read_labels(path: str | Path, *, rater: str = "file") -> pd.DataFrame:
    r"""Read labels from a file: one row per label, as the table ``labels``.

    CSV (``,`` ``;`` tab or ``|``), a JSON object ``{session: failed}``, a JSON list of objects, or one object per
    line; UTF-8 with or without byte-order mark. Headers may be capitalised. Failed is said by true, yes, y, 1, any
    other number but 0, failed, fail, F, x, bad; not failed by false, no, n, 0, ok, passed, pass, good, in any case.
    Any other word is refused, never guessed at.

    Parameters
    ----------
    path
        The file.
    rater
        Who labelled, where the file does not say it.

    Returns
    -------
    DataFrame
        ``session_id, rater, at, failed, metric, value, note``. What was refused is in ``.attrs["problems"]``, a list
        of rows as of the table ``problems``.

    Raises
    ------
    WorkspaceError
        The file cannot be read, has no column for the session or the label, or holds no usable label.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "labels.csv"
    ...     _ = file.write_text("Session;Failed\ns-1;x\ns-2;ok\ns-3;perhaps\n")
    ...     labels = read_labels(file)
    >>> labels[["session_id", "failed"]].values.tolist(), len(labels.attrs["problems"])
    ([['s-1', True], ['s-2', False]], 1)
    """
    file = Path(path).expanduser()
    problems: list[Problem] = []
    rows = []
    for row in _rows(file, _text(file), problems):
        try:
            rows.append(_label(row.cells, rater))
        except ValueError as error:
            field, kind, message = error.args
            problems.append(Finding(field, "problem", kind, message).at(SOURCE, file.name, row.line))
    if not rows:
        first = f" The first problem: line {problems[0].line}: {problems[0].message}" if problems else ""
        raise WorkspaceError(f"{file} holds no usable label.{first} It needs session_id and failed in each row.")
    frame = pd.DataFrame(rows, columns=list(LABELS.columns))
    frame["at"] = pd.to_datetime(frame["at"], utc=True)
    frame.attrs["problems"] = [problem._asdict() for problem in problems]
    return frame


def _text(file: Path) -> str:
    try:
        if file.stat().st_size > LIMIT:
            raise WorkspaceError(f"{file} is larger than {LIMIT // 1024**2} MB: that is no file of labels.")
        data = file.read_bytes()
    except OSError as error:
        raise WorkspaceError(f"the labels {file} cannot be read: {error.strerror or error}.") from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise WorkspaceError(f"{file} is not UTF-8 (byte {error.start}): save it as UTF-8.") from None


def _rows(file: Path, text: str, problems: list[Problem]) -> Iterator[_Row]:
    start = text.lstrip()[:1]
    if file.suffix.lower() in (".csv", ".tsv", ".txt") or start not in ("{", "["):
        yield from _csv(file, text)
        return
    try:
        whole = json.loads(text)
    except (json.JSONDecodeError, RecursionError):
        yield from _lines(file, text, problems)
        return
    if isinstance(whole, list):
        for number, one in enumerate(whole, start=1):
            yield _Row(number, one if isinstance(one, dict) else {"failed": one})
    elif _column(list(whole), "session_id") in whole and _column(list(whole), "failed") in whole:
        yield _Row(1, whole)
    else:
        for number, (session, failed) in enumerate(whole.items(), start=1):
            yield _Row(number, {"session_id": session, "failed": failed})


def _lines(file: Path, text: str, problems: list[Problem]) -> Iterator[_Row]:
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            said = Finding("", "problem", "not_json", f"this line is not JSON: {shown(line)}; left out.")
            problems.append(said.at(SOURCE, file.name, number))
            continue
        yield _Row(number, value if isinstance(value, dict) else {"failed": value})


def _csv(file: Path, text: str) -> Iterator[_Row]:
    head = text.split("\n", 1)[0]
    separator = max(",;\t|", key=head.count)
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=separator)
    names = [name for name in reader.fieldnames or [] if name]
    for wanted in ("session_id", "failed"):
        if _column(names, wanted) is None:
            close = nearest(wanted, names)
            raise WorkspaceError(
                f"{file} has no column {wanted!r}{close}; its columns: {', '.join(map(shown, names))}."
            )
    try:
        for cells in reader:
            yield _Row(reader.line_num, {name: value for name, value in cells.items() if name})
    except csv.Error as error:
        raise WorkspaceError(f"{file} is no CSV file that can be read: line {reader.line_num}: {error}.") from None


def _column(names: list[str], wanted: str) -> str | None:
    plain = {str(name).strip().lower(): name for name in reversed(names)}
    return next((plain[name] for name in _NAMES[wanted] if name in plain), None)


def _label(cells: dict[str, Any], rater: str) -> dict[str, Any]:
    names = list(cells)
    given = {ours: cells.get(column) if (column := _column(names, ours)) is not None else None for ours in _NAMES}
    session = given["session_id"]
    if session is None or isinstance(session, bool | float | dict | list) or not str(session).strip():
        raise ValueError("session_id", "no_id", f"session_id is missing or no text: {shown(session)}; left out.")
    at = _time(given["at"])
    metric, note = (None if given[name] in (None, "") else str(given[name]) for name in ("metric", "note"))
    who = str(given["rater"]).strip() if given["rater"] not in (None, "") else rater
    return {
        "session_id": str(session).strip(), "rater": who, "at": at, "failed": said_failed(given["failed"]),
        "metric": metric, "value": None, "note": note,
    }  # fmt: skip


def _time(value: Any) -> Any:
    if value in (None, ""):
        return None
    moment = read_time(value, "at")
    if moment.at is None:
        raise ValueError("at", "bad_time", f"at is no ISO 8601 time: {shown(value)}; the label was left out.")
    return moment.at


def said_failed(value: Any) -> bool:
    """Return what a cell says of "failed".

    Raises
    ------
    ValueError
        It is none of the known words; carries field, kind and message.

    Examples
    --------
    >>> [said_failed(cell) for cell in ("F", " Failed ", "x", 1, "ok", False, "0.0")]
    [True, True, True, True, False, False, False]
    """
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        word = value.strip().lower()
        if word in YES or word in NO:
            return word in YES
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if math.isfinite(number):
        return number != 0
    message = f"failed must say true or false (true, yes, failed, F, x, 1; false, no, ok, 0); found {shown(value)}."
    raise ValueError("failed", "not_a_flag", f"{message} Left out.")
