"""Write a rule and the event about it: two files, so what a crash leaves half done is finished by the next writer.

A review that is the ground for the change is a third file, written first: once it stands, the change is finished too.
"""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any, NamedTuple

from harnesskit.model.errors import WorkspaceError
from harnesskit.workspace.atomic import append_line, json_file_bytes, json_line_bytes, sync_folder, write_atomic
from harnesskit.workspace.documents import read_document
from harnesskit.workspace.jsonlines import JsonLines
from harnesskit.workspace.layout import DECISIONS, JOURNAL, OURS, RULES
from harnesskit.workspace.problems import Problem, shown

INTENT = f"{OURS}/rules.pending.json"
"""A rule write that has begun: its record, its event, and how long both files were before."""


class _Intent(NamedTuple):
    rules_size: int
    journal_size: int
    record: str
    event: str
    decisions_size: int = 0
    decision: str = ""


def write_rule(
    root: Path, record: dict[str, Any], event: dict[str, Any] | None, *, decision: bytes | None = None
) -> None:
    """Append `record` to ``rules.jsonl`` and `event` to ``journal.jsonl``; the caller holds the lock.

    Parameters
    ----------
    decision
        The line of the review that the change rests on, appended to ``decisions.jsonl`` before both (the caller holds
        that lock, too); only with an event.

    Raises
    ------
    WorkspaceError
        A file cannot be written.
    ValueError, TypeError
        A field cannot be written as JSON; nothing was written.
    """
    finish_write(root)
    line = json_line_bytes(record)
    if event is None:
        append_line(root / RULES, line)
        return
    said = json_line_bytes(event)
    begun = {
        "event": said.decode("ascii"),
        "journal_size": _size(root / JOURNAL),
        "record": line.decode("ascii"),
        "rules_size": _size(root / RULES),
    }
    if decision is not None:
        begun |= {"decision": decision.decode("ascii"), "decisions_size": _size(root / DECISIONS)}
    path = root / INTENT
    _make_folder(path.parent)
    write_atomic(path, json_file_bytes(begun))
    if decision is not None:
        append_line(root / DECISIONS, decision)
    append_line(root / RULES, line)
    append_line(root / JOURNAL, said)
    _forget(path)


def unfinished(root: Path) -> bool:
    """Return whether a crash left a rule write half done; the next write of a rule finishes it."""
    return (root / INTENT).exists()


def finish_write(root: Path) -> bool:
    """Finish what a crash left half done and return whether there was something; the caller holds the lock.

    A record that reached ``rules.jsonl`` gets its event. One that did not was never acknowledged and is dropped, unless
    the review that it rests on stands already: then both are written now.
    """
    path = root / INTENT
    if not path.exists():
        return False
    intent = _read(path)
    if intent is not None:
        for file, line in _owed(root, intent):
            append_line(root / file, line.encode("ascii"))
    _forget(path)
    return True


def half_written(root: Path) -> list[Problem]:
    """Return a problem when a crash left a rule, and what belongs to it, half written; none when nothing is owed."""
    intent = _read(root / INTENT) if (root / INTENT).exists() else None
    owed = [] if intent is None else _owed(root, intent)
    if intent is None or not owed:
        return []
    rule_id = json.loads(intent.event).get("id")
    missing = " and ".join(f"its line in {file}" for file, _ in owed)
    message = (
        f"Writing rule {shown(rule_id)} was cut off (or is under way): {missing} is not there yet. "
        "The next write to the rules adds it."
    )
    return [Problem("rules", RULES, None, "", "problem", "half_written_rule", message)]


def _owed(root: Path, intent: _Intent) -> list[tuple[str, str]]:
    """Return the lines that are still to be written, and their files, in order."""
    recorded = _holds(root / RULES, intent.rules_size, intent.record)
    decided = bool(intent.decision) and _holds(root / DECISIONS, intent.decisions_size, intent.decision)
    if not recorded and not decided:
        return []
    owed = [] if recorded else [(RULES, intent.record)]
    if not _holds(root / JOURNAL, intent.journal_size, intent.event):
        owed.append((JOURNAL, intent.event))
    return owed


def _read(path: Path) -> _Intent | None:
    value = {"decision": "", "decisions_size": 0, **(read_document(path).value or {})}
    sizes = [value.get(name) for name in ("rules_size", "journal_size", "decisions_size")]
    lines = [value.get(name) for name in ("record", "event", "decision")]
    if not all(isinstance(size, int) for size in sizes):
        return None
    if not all(isinstance(line, str) and line.isascii() and "\n" not in line for line in lines):
        return None
    if not all(_is_object(line) for line in lines[:2]):
        return None
    return _Intent(**{name: value[name] for name in _Intent._fields})


def _is_object(line: Any) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def _holds(path: Path, start: int, line: str) -> bool:
    """Return whether `line` stands whole in the file, at byte `start` or after it (anywhere when the file was cut)."""
    try:
        with path.open("rb") as file:
            file.seek(start if start <= _size(path) else 0)
            return any(found.rstrip(b"\n") == line.encode("ascii") for found in file if found.endswith(b"\n"))
    except FileNotFoundError:
        return False


def last_record(root: Path, rule_id: str) -> dict[str, Any] | None:
    """Return the last record of a rule as it stands in the file, unknown keys and all; None when there is none."""
    found: dict[str, Any] | None = None
    for record in JsonLines(root / RULES, "rules", RULES):
        if str(record.value.get("id", "")) == rule_id:
            found = record.value
    return found


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WorkspaceError(f"cannot make the folder {folder}: {error.strerror or error}.") from error


def _forget(path: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        path.unlink()
    sync_folder(path.parent)
