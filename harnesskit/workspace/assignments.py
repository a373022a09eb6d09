"""Who saw a rule in its forward trial: ``harnesskit/forward.jsonl``, one line per trial and per session, only appended.

Written when a session starts, whatever becomes of it: a session that fails or is never scored is in the trial.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from harnesskit.workspace.atomic import append_lines, json_line_bytes
from harnesskit.workspace.fields import Fields
from harnesskit.workspace.jsonlines import JsonLines
from harnesskit.workspace.layout import OURS
from harnesskit.workspace.locking import hold

FORWARD = f"{OURS}/forward.jsonl"
_LOCK = f"{OURS}/forward.lock"


class TrialStart(NamedTuple):
    """What a forward trial fixed when its first session began."""

    at: datetime | None
    rule_id: str | None
    text_hash: str | None
    metric: str | None
    policy: dict[str, Any]
    sd: float | None
    n_history: int | None


class Assignment(NamedTuple):
    """One session of a forward trial."""

    at: datetime | None
    rule_id: str | None
    text_hash: str | None
    cluster: str | None
    session_id: str | None
    arm: str | None
    position: int | None


class ForwardLog(NamedTuple):
    """One trial: what it fixed, and its sessions in file order; None when it never began."""

    start: TrialStart | None
    sessions: list[Assignment]


def read_forward(root: Path, rule_id: str, text_hash: str) -> ForwardLog:
    """Return the forward trial of a rule with this text; another text is another trial."""
    start, sessions = None, []
    for line in JsonLines(root / FORWARD, "forward", FORWARD):
        fields = Fields(line.value)
        if fields.text("rule_id") != rule_id or fields.text("text_hash") != text_hash:
            continue
        if line.value.get("event") == "start":
            given = line.value.get("policy")
            policy = given if isinstance(given, dict) else {}
            start = start or TrialStart(
                fields.time("at"), rule_id, text_hash, fields.text("metric"), policy,
                fields.number("sd"), fields.integer("n_history", required=False),
            )  # fmt: skip
        else:
            names = ("cluster", "session_id", "arm")
            cluster, session_id, arm = (fields.text(name) for name in names)
            position = fields.integer("position", required=False)
            sessions.append(Assignment(fields.time("at"), rule_id, text_hash, cluster, session_id, arm, position))
    return ForwardLog(start, sessions)


def assign(
    root: Path,
    rule_id: str,
    text_hash: str,
    *,
    cluster: str,
    session_id: str,
    at: datetime,
    draw: Callable[[int], str],
    begin: Callable[[], TrialStart],
) -> str:
    """Return the arm of a session and write it down; a cluster that was seen before keeps its arm.

    Parameters
    ----------
    draw
        Number of clusters before this one to its arm.
    begin
        What the trial fixes; asked once, before its first session.

    Raises
    ------
    WorkspaceError
        The file cannot be written.
    """
    with hold(root / _LOCK, f"assign a session to an arm of the trial of {rule_id}"):
        log = read_forward(root, rule_id, text_hash)
        known = {one.cluster: one for one in log.sessions}
        before = known.get(cluster)
        if any(one.session_id == session_id for one in log.sessions) and before is not None and before.arm:
            return before.arm
        position = before.position if before is not None else len(known)
        arm = before.arm if before is not None and before.arm else draw(position or 0)
        lines = [] if log.start is not None else [_line("start", begin())]
        lines.append(_line("session", Assignment(at, rule_id, text_hash, cluster, session_id, arm, position)))
        append_lines(root / FORWARD, lines)
        return arm


def _line(event: str, row: TrialStart | Assignment) -> bytes:
    return json_line_bytes({"event": event, **row._asdict(), "at": None if row.at is None else row.at.isoformat()})
