"""What people said about sessions: ``harnesskit/labels.jsonl``, one label per line, only ever appended to."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from harnesskit.workspace.atomic import append_line, json_line_bytes
from harnesskit.workspace.documents import kind_of
from harnesskit.workspace.fields import Fields
from harnesskit.workspace.jsonlines import JsonLines
from harnesskit.workspace.layout import LABELS
from harnesskit.workspace.problems import Problem

SOURCE = "labels"


class LabelRow(NamedTuple):
    """One row of the table ``labels``."""

    session_id: str
    rater: str
    at: datetime | None
    failed: bool | None
    metric: str | None = None
    value: float | None = None
    note: str | None = None


def read_labels(root: Path) -> tuple[list[LabelRow], list[Problem]]:
    """Return the labels in file order, and a problem for each that was refused; no file means no labels.

    A label must name its session and its rater, and say whether the session failed or give a value; `failed` is true or
    false and nothing else (``"no"`` and 0 are refused, not guessed at). The same label twice is kept once.
    """
    lines = JsonLines(root / LABELS, SOURCE, LABELS)
    rows: dict[tuple[object, ...], LabelRow] = {}
    problems: list[Problem] = []
    for line in lines:
        fields = Fields(line.value)
        row = _label(fields)
        if row is not None:
            key = (row.session_id, row.rater, row.at, row.metric)
            if key in rows:
                message = f"{row.rater!r} labelled {row.session_id!r} twice at one time; the first is kept."
                fields.say("session_id", "duplicate_label", message)
            rows.setdefault(key, row)
        problems.extend(finding.at(SOURCE, LABELS, line.line) for finding in fields.findings)
    return list(rows.values()), [*lines.problems, *problems]


def append_label(root: Path, row: LabelRow) -> None:
    """Append one label to the file of the workspace, and return when it is on disk; nothing is ever rewritten.

    Raises
    ------
    WorkspaceError
        The file cannot be written.
    """
    record = {name: value for name, value in row._asdict().items() if value is not None}
    if row.at is not None:
        record["at"] = row.at.isoformat()
    path = root / LABELS
    path.parent.mkdir(parents=True, exist_ok=True)
    append_line(path, json_line_bytes(record))


def _label(fields: Fields) -> LabelRow | None:
    session_id, rater = fields.text("session_id"), fields.text("rater")
    if not session_id or not rater:
        which = "session_id" if not session_id else "rater"
        fields.say(which, "no_id", f"{which} is missing or empty; the label was left out.")
        return None
    failed = fields.record.get("failed")
    value = fields.number("value")
    if not isinstance(failed, bool) and (failed is not None or value is None):
        fields.say("failed", "not_a_flag", f"failed must be true or false; found {kind_of(failed)}. Left out.")
        return None
    return LabelRow(session_id, rater, fields.time("at"), failed, fields.text("metric"), value, fields.text("note"))
