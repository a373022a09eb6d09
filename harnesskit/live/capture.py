"""Capture after the fact: the failure cases that a mailbox and a journal would have given."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

from harnesskit.live.outcome import CaseSink
from harnesskit.model.case import CaseKind, EvalCase
from harnesskit.model.errors import WorkspaceError
from harnesskit.model.records import NoticeRecord
from harnesskit.workspace.documents import read_document
from harnesskit.workspace.fields import read_score
from harnesskit.workspace.journal import read_journal
from harnesskit.workspace.layout import DUMPS, JOURNAL
from harnesskit.workspace.mailbox import merge_journal_notices, read_mailbox
from harnesskit.workspace.problems import Problem, UnreadableError
from harnesskit.workspace.reading import parse_json
from harnesskit.workspace.safe_names import safe_name

Status = Literal["captured", "attached", "existing", "skipped", "failed"]


class StoredCases(CaseSink, Protocol):
    """An eval set that can also list what it holds, and take a replay input later."""

    def cases(self, kind: CaseKind | None = None) -> list[EvalCase]:
        """Return the cases, oldest first."""
        ...

    def attach_input(self, case_id: str, payload: Any) -> EvalCase:
        """Replace the replay input of a case."""
        ...


class CapturedNotice(NamedTuple):
    """What became of one notice.

    Attributes
    ----------
    status
        ``captured``; ``existing``: its case was there, and stays as it is; ``attached``: it was there without a replay
        input and has one now; ``skipped`` or ``failed``, with the reason.
    """

    notice_id: str
    session_id: str | None
    status: Status
    reason: str = ""
    case_id: str | None = None


class CaptureReport(NamedTuple):
    """One row per notice, in order of their ids, and what was wrong with the mailbox and the journal."""

    rows: list[CapturedNotice]
    problems: list[Problem]

    @property
    def counts(self) -> dict[str, int]:
        """Status to number of notices."""
        return dict(Counter(row.status for row in self.rows))


def capture_from_notices(
    root: Path, evalset: StoredCases, *, replay_input_of: Callable[[str], Any] | None = None
) -> CaptureReport:
    """Capture a failure case for every notice of a breach that was posted, and return one row per notice.

    Notices of trends, calls for a person and notices that were only observed are skipped, as they are on a live turn.
    The baseline is every score of the turn, the last value of a metric, from the evaluation dump; without a dump from
    the notice itself, whose traces are put in order by name, the one with Tier 2 scores last. Doing it again changes
    nothing.

    Parameters
    ----------
    root
        The workspace.
    evalset
        Where the cases go.
    replay_input_of
        Session id to replay input, or None where there is none. A case that has none yet gets it, too.

    Raises
    ------
    LockedError
        Another process holds the eval set.
    """
    mailbox = read_mailbox(root)
    journal = read_journal(root / JOURNAL)
    merged = merge_journal_notices(mailbox.notices, journal.events)
    bodies = _journaled(event.payload for event in journal.events if event.type == "notice")
    known = {_key(case.session_id, case.signature): case for case in evalset.cases("failure")}
    rows = []
    for notice in merged.notices:
        row = _skipped(notice)
        if row is None:
            record = bodies.get(notice.notice_id) if notice.file is None else read_document(root / notice.file).value
            row = _capture(notice, record or {}, _read_dump(root, notice), evalset, known, replay_input_of)
        rows.append(row)
    return CaptureReport(rows, [*mailbox.problems, *journal.problems, *merged.problems])


def _key(session_id: str, signature: Iterable[str]) -> tuple[str, tuple[str, ...]]:
    return session_id, tuple(sorted(signature))


def _skipped(notice: NoticeRecord) -> CapturedNotice | None:
    """Return the row of a notice that is never captured; None for one that is."""
    reason = ""
    if notice.observe_only:
        reason = "it was only observed"
    elif notice.severity != "breach":
        reason = f"its severity is {notice.severity}, not breach"
    elif not notice.session_id:
        reason = "it names no session"
    return CapturedNotice(notice.notice_id, notice.session_id, "skipped", reason) if reason else None


def _capture(
    notice: NoticeRecord,
    record: dict[str, Any],
    dump: dict[str, Any],
    evalset: StoredCases,
    known: dict[tuple[str, tuple[str, ...]], EvalCase],
    replay_input_of: Callable[[str], Any] | None,
) -> CapturedNotice:
    session_id = notice.session_id or ""
    key = _key(session_id, notice.signatures)
    try:
        payload = replay_input_of(session_id) if replay_input_of is not None else None
        stored = known.get(key)
        if stored is not None and (stored.replayable or payload is None):
            return CapturedNotice(notice.notice_id, session_id, "existing", case_id=stored.id)
        if stored is not None:
            known[key] = evalset.attach_input(stored.id, payload)
            return CapturedNotice(notice.notice_id, session_id, "attached", case_id=stored.id)
        case = evalset.capture(
            session_id=session_id,
            kind="failure",
            signature=tuple(sorted(notice.signatures)),
            baseline_scores=baseline_of(dump, record),
            replay_input=payload,
            notes=notice.summary or "",
        )
    except WorkspaceError:
        raise
    except Exception as error:  # one payload must not cost the other notices
        return CapturedNotice(notice.notice_id, session_id, "failed", f"{type(error).__name__}: {error}")
    if case is None:
        return CapturedNotice(notice.notice_id, session_id, "skipped", "the eval set is full")
    known[key] = case
    return CapturedNotice(notice.notice_id, session_id, "captured", case_id=case.id)


def baseline_of(dump: dict[str, Any], notice: dict[str, Any]) -> dict[str, float]:
    """Return metric to score of a noticed turn, the last value of each, from its dump, else from the notice.

    Examples
    --------
    >>> scores = [{"metric": "a", "value": 0.2}, {"metric": "a", "value": 0.3}, {"metric": "b", "value": None}]
    >>> baseline_of({"scores": scores}, {})
    {'a': 0.3}
    >>> baseline_of({}, {"signal_breakdown": {"t-10": {"a": 0.3}, "t-9": {"a": 0.2}}})
    {'a': 0.3}
    """
    scores = dump.get("scores")
    if isinstance(scores, list):
        found = [(score.get("metric"), score.get("value")) for score in scores if isinstance(score, dict)]
    else:
        breakdown = notice.get("signal_breakdown")
        traces = breakdown if isinstance(breakdown, dict) else {}
        found = [item for trace in sorted(traces, key=lambda t: _place(t, traces[t])) for item in _items(traces[trace])]
    values = ((metric, read_score(value)[0]) for metric, value in found)
    return {metric: value for metric, value in values if isinstance(metric, str) and value is not None}


def _items(scores: Any) -> list[tuple[Any, Any]]:
    return list(scores.items()) if isinstance(scores, dict) else []


def _place(trace: str, scores: Any) -> tuple[int, list[tuple[int, str]]]:
    """Return where a trace stands among those of its turn: files order them by name, not by time."""
    parts = re.split(r"(\d+)", trace)
    natural = [(int(part), "") if i % 2 and len(part) < 19 else (0, part) for i, part in enumerate(parts)]
    return len(_items(scores)), natural  # only the newest trace was scored on more than Tier 1


def _read_dump(root: Path, notice: NoticeRecord) -> dict[str, Any]:
    name = f"{notice.notice_id}.json"
    return (read_document(root / DUMPS / name).value if safe_name(name) == name else None) or {}


def _journaled(payloads: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return the first journal record of each notice, by id."""
    found: dict[str, dict[str, Any]] = {}
    for payload in payloads:
        try:
            record, _ = parse_json(payload.encode("utf-8"))
        except UnreadableError:
            continue
        if isinstance(record.get("id"), str):
            found.setdefault(record["id"], record)
    return found
