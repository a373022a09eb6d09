"""The mailbox: notices still open and notices resolved, the cached summary, and notices only the journal knows."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from harnesskit.model.records import NoticeRecord
from harnesskit.workspace.documents import is_absent, kind_of, list_documents, printable, read_document
from harnesskit.workspace.layout import JOURNAL, MAILBOX_STATUS, PENDING, PROCESSED
from harnesskit.workspace.notices import read_notice
from harnesskit.workspace.problems import Finding, Problem, UnreadableError
from harnesskit.workspace.reading import parse_json
from harnesskit.workspace.rows import EventRow

SOURCE = "mailbox"
_SAID_BY_JOURNAL = ("ts", "session_id", "signatures", "metrics")
_STATUS_OF = {PENDING: "pending", PROCESSED: "acknowledged"}


class Notices(NamedTuple):
    """One record per notice, in order of their ids, and what had to be said."""

    notices: list[NoticeRecord]
    problems: list[Problem]


def read_mailbox(root: str | Path) -> Notices:
    """Return the notices in ``mailbox/`` of the workspace at `root`, one per notice id, ordered by id.

    A notice that lies in both folders is one notice, the processed copy: resolving one writes that copy first and
    deletes the pending one after. ``status`` is what the file says; a file that says otherwise than its folder is a
    problem. A missing folder is empty.

    Examples
    --------
    >>> read_mailbox("no/such/workspace")
    Notices(notices=[], problems=[])
    """
    found: dict[str, NoticeRecord] = {}
    problems: list[Problem] = []
    pending = 0
    for folder in (PROCESSED, PENDING):
        names, said = list_documents(Path(root) / folder, SOURCE, folder)
        problems.extend(said)
        for name in names:
            notice, said = read_notice_file(Path(root) / folder / name, folder, name)
            pending += notice is not None and folder == PENDING
            if notice is not None and notice.notice_id in found:
                said.extend(_twice(notice, found[notice.notice_id]))
            elif notice is not None:
                found[notice.notice_id] = notice
            problems.extend(said)
    problems.extend(check_status(Path(root), pending))
    return Notices([found[notice_id] for notice_id in sorted(found)], problems)


def read_notice_file(path: Path, folder: str, name: str) -> tuple[NoticeRecord | None, list[Problem]]:
    """Return the notice in one file of a mailbox folder, None when there is none to use, and what had to be said."""
    file = f"{folder}/{printable(name)}"
    value, findings = read_document(path)
    if value is None:
        if not findings:  # gone since the folder was listed
            return None, []
        return None, [finding.at(SOURCE, file) for finding in findings]
    notice, fields = read_notice(value, file=file, fallback_id=printable(name)[: -len(".json")])
    expected = _STATUS_OF[folder]
    if notice.status not in (expected, "unknown"):
        message = f"status is {notice.status}, but the file lies in {folder}; the status of the file is kept."
        fields.say("status", "status_and_folder", message)
    if expected == "acknowledged" and notice.resolution is None:
        message = "The notice was resolved, but the file does not say how."
        fields.say("resolution", "no_resolution", message, "note")
    return notice, [finding.at(SOURCE, file) for finding in [*findings, *fields.findings]]


def _twice(notice: NoticeRecord, kept: NoticeRecord) -> list[Problem]:
    """Return one problem for each of two files with one id."""
    left_out = f"The id {notice.notice_id} is also that of {kept.file}, which was kept; this file was left out."
    was_kept = f"The id {notice.notice_id} is also that of {notice.file}, which was left out; this file was kept."
    pairs = ((kept.file, was_kept), (notice.file, left_out))
    return [Problem(SOURCE, file or "", None, "id", "problem", "duplicate_id", text) for file, text in pairs]


def check_status(root: Path, pending: int) -> list[Problem]:
    """Return what is wrong with the mailbox's own summary, given the number of readable pending notices."""
    value, findings = read_document(root / MAILBOX_STATUS)
    if value is not None:
        raw = value.get("pending_count")
        if not isinstance(raw, int) or isinstance(raw, bool) or raw < 0:
            found = kind_of(raw) if "pending_count" in value else "nothing"
            message = f"pending_count must be a whole number from 0 up; found {found}. The notices were counted."
            findings.append(Finding("pending_count", "problem", "not_a_count", message))
        elif raw != pending and not is_absent(root / PENDING):
            message = f"pending_count is {raw}, but {PENDING} holds {pending} readable notices; the summary is stale."
            findings.append(Finding("pending_count", "note", "stale_count", message))
    return [finding.at(SOURCE, MAILBOX_STATUS) for finding in findings]


def merge_journal_notices(
    notices: Iterable[NoticeRecord], events: Iterable[EventRow], *, file: str = JOURNAL
) -> Notices:
    """Return `notices` and those that only the journal knows, one per notice id, ordered by id.

    A notice seen in observe-only mode was never posted, and exists in the journal only. Any other notice that lies in
    neither mailbox folder is kept with the status ``unknown`` and a note: what became of it is not known. When the
    journal gives an id twice, the first record holds.

    Examples
    --------
    >>> merge_journal_notices([], [])
    Notices(notices=[], problems=[])
    """
    known = {notice.notice_id: notice for notice in notices}
    posted = frozenset(known)
    problems: list[Problem] = []
    for event in events:
        if event.type != "notice":
            continue
        record, _ = parse_json(event.payload.encode("utf-8"))
        if isinstance(record.get("id"), str) and record["id"] in posted:
            continue
        try:
            notice, fields = read_notice(record, file=None)
        except UnreadableError as error:
            problems.append(error.finding.at("journal", file, event.line))
            continue
        if notice.notice_id in known:
            message = f"The journal gives the notice {notice.notice_id} twice; the first record holds."
            fields.findings = [Finding("id", "problem", "duplicate_id", message)]
        else:
            if not notice.observe_only:
                notice = notice.model_copy(update={"status": "unknown"})
                message = f"The notice {notice.notice_id} is in no mailbox folder; it is known from the journal only."
                fields.say("id", "journal_only", message, "note")
            known[notice.notice_id] = notice
        # what read_journal() said about this line is not said again
        new = [f for f in fields.findings if f.field not in record or f.field not in _SAID_BY_JOURNAL]
        problems.extend(finding.at("journal", file, event.line) for finding in new)
    return Notices([known[notice_id] for notice_id in sorted(known)], problems)
