"""The mailbox, written: notices posted with their evaluation dump, acknowledged, and summed up."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Literal

from harnesskit.live.report import TurnReport
from harnesskit.model.errors import WorkspaceError
from harnesskit.model.records import ResolutionKind, Severity
from harnesskit.workspace.atomic import json_file_bytes, write_atomic
from harnesskit.workspace.clock import Clock, utc_now, written_time
from harnesskit.workspace.documents import is_absent, list_documents, read_document
from harnesskit.workspace.dumps import LATEST
from harnesskit.workspace.layout import DUMPS, MAILBOX_STATUS, OURS, PENDING, PROCESSED
from harnesskit.workspace.locking import hold
from harnesskit.workspace.mailbox import SOURCE, read_notice_file
from harnesskit.workspace.safe_names import safe_name

Kind = Literal["post", "needs_human", "observe_only"]
RANKS: tuple[Severity, ...] = ("unknown", "trend", "breach", "needs_human")
"""Severities, the most pressing last."""


class Mailbox:
    """Writes ``mailbox/`` and ``traces/`` of a workspace in the form of the reference harness.

    Parameters
    ----------
    root
        The workspace.
    clock
        The time of ids, notices and of the summary.
    new_hex
        At least 8 hex digits; they end a notice id.
    """

    def __init__(
        self,
        root: Path,
        *,
        clock: Clock = utc_now,
        new_hex: Callable[[], str] = lambda: uuid.uuid4().hex,
    ) -> None:
        self.root = root
        self._clock = clock
        self._new_hex = new_hex

    def post(self, report: TurnReport, summary: str, kind: Kind = "post") -> dict[str, Any]:
        """Write the notice of a turn and return it as it stands in the file (the journal's record adds to it).

        ``post`` writes the dump, then the notice; ``needs_human`` the notice only, with that severity;
        ``observe_only`` nothing at all.

        Raises
        ------
        WorkspaceError
            A file cannot be written.
        """
        notice_id = f"n-{self._clock():%Y%m%dT%H%M%S%f}-{self._new_hex()[:8]}"
        dump = self._dump(notice_id, report) if kind == "post" else ""
        advised = next((hint for hint in report.scope_hints if hint["recommended"]), None)
        notice = {
            "id": notice_id,
            "created_at": written_time(self._clock),
            "session_id": report.session_id,
            "turn_index": report.turn_index,
            "severity": "needs_human" if kind == "needs_human" else report.severity,
            "metrics": [score.as_noticed() for score in report.alerting],
            "flagged_traces": report.flagged_traces,
            "signal_breakdown": report.breakdown,
            "signatures": list(report.signatures),
            "dump_path": dump,
            "summary": summary,
            "status": "pending",
            "resolution": None,
            "scope_hint": "global",
            "scope_hints": [dict(hint) for hint in report.scope_hints],
            "recommended_scope": advised["key"] if advised else None,
            "applicability_hint": advised["applicability"] if advised else "global",
        }
        if kind != "observe_only":
            self._write(f"{PENDING}/{notice_id}.json", notice)
            self.refresh_status()
        return notice

    def acknowledge(
        self, notice_id: str, *, kind: ResolutionKind = "no_proposal", rule_id: str | None = None, note: str = ""
    ) -> dict[str, Any]:
        """Resolve a pending notice and return it as it now stands in ``mailbox/processed``.

        The processed copy is written first, then the pending one deleted; after a crash between the two, doing it
        again finishes the job and keeps the first resolution.

        Raises
        ------
        WorkspaceError
            There is no such pending notice, or it cannot be read.
        """
        name = f"{notice_id}.json"
        if safe_name(name) != name:
            raise WorkspaceError(f"A notice id is 1 to 123 letters, digits, '.', '_' and '-'; found {notice_id!r}.")
        pending, processed = self.root / PENDING / name, self.root / PROCESSED / name
        with self._locked():
            done = read_document(processed).value
            if done is None:
                value, findings = read_document(pending)
                if value is None:
                    why = f"cannot be read: {findings[0].message}" if findings else f"is not in {PENDING}"
                    raise WorkspaceError(
                        f"The notice {notice_id} {why}; list the pending ones with harness.table('notices')."
                    )
                resolution = {"acked_at": written_time(self._clock), "kind": kind, "note": note, "rule_id": rule_id}
                done = {**value, "status": "acknowledged", "resolution": resolution}
                self._write(f"{PROCESSED}/{name}", done)
            pending.unlink(missing_ok=True)
            self._write_status()
        return done

    def refresh_status(self) -> None:
        """Count the pending notices and write ``mailbox/status.json``."""
        with self._locked():
            self._write_status()

    def _locked(self) -> AbstractContextManager[None]:
        return hold(self.root / OURS / "mailbox.lock", "write to the mailbox")

    def _write_status(self) -> None:
        names, _ = list_documents(self.root / PENDING, SOURCE, PENDING)
        read = ((name, read_notice_file(self.root / PENDING / name, PENDING, name)[0]) for name in names)
        notices = [notice for _, notice in read if notice is not None]
        severities = [notice.severity for notice in notices if notice.severity != "unknown"]
        status = {
            "pending_count": len(notices),
            "max_severity": max(severities, key=RANKS.index) if severities else None,
            "latest_id": notices[-1].notice_id if notices else None,
            "updated_at": written_time(self._clock),
        }
        self._write(MAILBOX_STATUS, status)

    def _dump(self, notice_id: str, report: TurnReport) -> str:
        evaluation = report.as_dumped()
        path = self._write(f"{DUMPS}/{notice_id}.json", evaluation)
        self._write(f"{DUMPS}/{LATEST}", evaluation)
        return str(path)

    def _write(self, name: str, value: Mapping[str, Any]) -> Path:
        path = self.root / name
        if is_absent(path.parent):
            path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, json_file_bytes(value))
        return path
