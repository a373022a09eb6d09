"""Policies asked for on evidence that was there already: ``harnesskit/looks.jsonl``, only ever appended to."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from harnesskit.workspace.atomic import append_line, json_line_bytes
from harnesskit.workspace.fields import Fields
from harnesskit.workspace.jsonlines import JsonLines
from harnesskit.workspace.layout import OURS
from harnesskit.workspace.locking import hold

LOOKS = f"{OURS}/looks.jsonl"
_LOCK = f"{OURS}/looks.lock"


class LookRow(NamedTuple):
    """One look at the evidence about a guard under a policy that was not the frozen one."""

    at: datetime | None
    subject: str | None
    run_id: str | None
    policy: str | None
    policy_hash: str | None
    evidence_hash: str | None
    verdict: str | None


def read_looks(root: Path) -> list[LookRow]:
    """Return the looks in file order; no file means none."""
    found = []
    for line in JsonLines(root / LOOKS, "looks", LOOKS):
        fields = Fields(line.value)
        texts = {name: fields.text(name) for name in LookRow._fields[1:]}
        found.append(LookRow(at=fields.time("at"), **texts))
    return found


def record_look(root: Path, look: LookRow) -> None:
    """Write a look, unless the same policy was asked for on the same evidence before.

    Raises
    ------
    WorkspaceError
        The file cannot be written.
    """
    with hold(root / _LOCK, "record a look at the evidence"):
        if any(_key(known) == _key(look) for known in read_looks(root)):
            return
        plain = look._asdict() | {"at": None if look.at is None else look.at.isoformat()}
        append_line(root / LOOKS, json_line_bytes(plain))


def _key(look: LookRow) -> tuple[str | None, ...]:
    return (look.subject, look.run_id, look.policy_hash, look.evidence_hash)
