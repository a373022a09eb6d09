"""The eval set for writing: capture cases, attach inputs, remove; safe with several processes and at any crash."""

from __future__ import annotations

import contextlib
import threading
import warnings
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from harnesskit.model.case import CaseKind, EvalCase
from harnesskit.model.config import HarnessConfig
from harnesskit.model.errors import EvalSetFullWarning, WorkspaceError
from harnesskit.workspace.case_files import CaseFiles
from harnesskit.workspace.case_view import LOOK_EVERY_S, CaseView
from harnesskit.workspace.case_writing import (
    case_bytes,
    check_payload,
    checked_kind,
    checked_labels,
    checked_scores,
    is_case_id,
    new_record,
)
from harnesskit.workspace.clock import Clock, utc_now
from harnesskit.workspace.layout import EVALSET, OURS
from harnesskit.workspace.locking import hold
from harnesskit.workspace.problems import shown
from harnesskit.workspace.stored_case import cases_of, stored_case
from harnesskit.workspace.unread_case import unread_cases

LOCK = f"{OURS}/evalset.lock"


class EvalSet:
    """The eval cases of a workspace.

    Cases are files; this keeps an index of them in memory, in step with what other processes, the reference harness
    and people do to the folder. Whatever is returned is the caller's own copy and shows the files as they were at the
    call. Safe to share between threads. Reading takes no lock and creates nothing.

    Parameters
    ----------
    root
        The workspace; its folders are made by the first capture.
    config
        `eval_case_max` (0 or less: no limit) and `sanitize_max_len` are used.
    clock
        Time of cases and events.
    lock_timeout_s
        Seconds that a change waits for another process.
    """

    def __init__(
        self, root: Path, config: HarnessConfig, *, clock: Clock = utc_now, lock_timeout_s: float = 10.0
    ) -> None:
        self.root = root
        self.config = config
        self.clock = clock
        self.lock_timeout_s = lock_timeout_s
        self._view = CaseView(root)
        self._files = CaseFiles(root, self._view, clock)
        self._mine = threading.RLock()

    def __len__(self) -> int:
        """Return the number of readable cases, wins included."""
        with self._mine:
            return len(self._view.look())

    def cases(self, kind: CaseKind | None = None) -> list[EvalCase]:
        """Return the cases of `kind`, or all, oldest first (by time, then id; without a readable time last).

        Files that hold no case are passed over; the table ``problems`` names them.

        Raises
        ------
        WorkspaceError
            The folder cannot be read.
        ValueError
            `kind` is neither ``"failure"`` nor ``"win"``.
        """
        wanted = None if kind is None else checked_kind(kind)
        with self._mine:
            return cases_of(self._view.look().listed(wanted))

    def matching(self, signature: Iterable[str], kind: CaseKind | None = "failure") -> list[EvalCase]:
        """Return the cases of `kind` (None: both) that share at least one label with `signature`, newest first.

        Labels are compared exactly. No label, no case. In a set of over 256 files, a label that somebody edited in
        place (instead of replacing the file, as editors and git do) counts from ten seconds later at most.

        A label may find thousands of cases, so each is decoded when it is first read: `id`, `kind`, `signature`,
        `notes`, the other plain fields and `replayable` cost next to nothing, `replay_input`, `baseline_scores` and
        every method some microseconds, once per case. Until then ``type(case)`` is a subclass of `EvalCase`; nothing
        else tells. The content is that of the time of the call, whatever happens to the file since, and what cannot be
        decoded is no case to begin with.
        """
        labels = checked_labels(signature)
        wanted = None if kind is None else checked_kind(kind)
        with self._mine:
            index = self._view.glance(oldest_look_s=LOOK_EVERY_S)
            return unread_cases(index.with_labels(labels, wanted))

    def get(self, case_id: str) -> EvalCase | None:
        """Return the case with this id, None when there is none.

        Raises
        ------
        WorkspaceError
            Two files hold the id, neither of them named after it; which one is meant is not known.
        """
        with self._mine:
            self._view.glance()
            stored = self._files.find(case_id)
            return stored.case() if stored else None

    def capture(
        self,
        *,
        session_id: str,
        kind: CaseKind,
        signature: Iterable[str] = (),
        baseline_scores: Mapping[str, float] | None = None,
        replay_input: Any = None,
        notes: str = "",
    ) -> EvalCase | None:
        """Store a case and return it once it is on disk; None when the set is full of wins.

        A case of the same session, labels (order aside, repeats counted) and kind is returned as it is stored, and
        nothing is written. At `eval_case_max` cases the oldest failure makes room; wins never do.

        Parameters
        ----------
        session_id
            The session that the case comes from.
        kind
            ``"failure"`` to fix, ``"win"`` to protect.
        signature
            Condition labels.
        baseline_scores
            Metric to finite number.
        replay_input
            Plain JSON data for the replay function; None means that the case cannot be replayed.
        notes
            Free text; put on one line and cut at `sanitize_max_len`.

        Raises
        ------
        ValueError
            An argument cannot be used or written; nothing was changed.
        WorkspaceError
            The files cannot be written; the set is as it was.
        LockedError
            Another process holds the set; the message names it.

        Warns
        -----
        EvalSetFullWarning
            Nothing can make room, so the case was not stored; the journal has ``skipped: cap``.
        """
        record = new_record(
            self.clock,
            session_id=session_id,
            kind=kind,
            signature=signature,
            baseline_scores=baseline_scores,
            replay_input=replay_input,
            notes=notes,
            longest=self.config.sanitize_max_len,
        )
        new = stored_case(data := case_bytes(record), f"{record['id']}.json")  # may fail: before anything is touched
        with self._changing("capture a case") as files:
            same = files.same_as(new)
            if same is not None:
                return same.case()
            cap = self.config.eval_case_max
            oldest = files.oldest_failure() if 0 < cap <= files.count() else None
            if oldest is not None or not 0 < cap <= files.count():
                return files.add(new, data, oldest).case()
            files.refuse(new)
        warnings.warn(
            f"The eval set {self.root / EVALSET} is full: at most {cap} cases, and all are wins, which never make "
            f"room. The {new.key.kind} of session {shown(session_id)} was not captured; raise eval_case_max or remove "
            "cases.",
            EvalSetFullWarning,
            stacklevel=2,
        )
        return None

    def attach_input(self, case_id: str, payload: Any) -> EvalCase:
        """Replace the replay input of a case and return the case; None makes it one that cannot be replayed.

        Everything else in the file stays, fields that are not known here included.

        Raises
        ------
        KeyError
            There is no such case.
        ValueError
            The payload cannot be written as JSON; nothing was changed.
        WorkspaceError
            The file cannot be written and is as it was, or two files hold the id.
        LockedError
            Another process holds the set; the message names it.
        """
        check_payload(payload)
        if not is_case_id(case_id) or not (self.root / EVALSET).is_dir():
            raise KeyError(f"There is no case {shown(case_id)} in {self.root / EVALSET}.")
        with self._changing("attach an input") as files:
            stored = files.find(case_id)
            if stored is None:
                raise KeyError(f"There is no case {shown(case_id)} in {self.root / EVALSET}.")
            return files.attach(stored, payload).case()

    def turn_into(
        self, case_id: str, kind: CaseKind, *, baseline_scores: Mapping[str, float] | None = None, reason: str
    ) -> EvalCase:
        """Make a case a win or a failure and return it; the file keeps all else, and `reason` goes to the journal.

        Parameters
        ----------
        baseline_scores
            Scores that it is held against from now on; the old ones when None.

        Raises
        ------
        KeyError
            There is no such case.
        ValueError
            A kind or a score cannot be used; nothing was changed.
        WorkspaceError
            The file cannot be written and is as it was, or two files hold the id.
        LockedError
            Another process holds the set; the message names it.
        """
        scores = None if baseline_scores is None else checked_scores(baseline_scores)
        wanted = checked_kind(kind)
        with self._changing(f"make {case_id} a {kind}") as files:
            stored = files.find(case_id)
            if stored is None:
                raise KeyError(f"There is no case {shown(case_id)} in {self.root / EVALSET}.")
            return files.turn_into(stored, wanted, scores, reason).case()

    def remove(self, case_id: str, *, reason: str = "removed on request") -> bool:
        """Delete the file of a case and return whether there was one; `reason` goes to the journal.

        Raises
        ------
        WorkspaceError
            The file cannot be removed, or two files hold the id.
        LockedError
            Another process holds the set; the message names it.
        """
        if not is_case_id(case_id) or not (self.root / EVALSET).is_dir():
            return False
        with self._changing("remove a case") as files:
            stored = files.find(case_id)
            if stored is None:
                return False
            files.remove(stored, reason)
        return True

    @contextlib.contextmanager
    def _changing(self, purpose: str) -> Iterator[CaseFiles]:
        with self._mine, hold(self.root / LOCK, purpose, timeout_s=self.lock_timeout_s):
            try:
                (self.root / EVALSET).mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise WorkspaceError(f"cannot make {self.root / EVALSET}: {error.strerror or error}.") from error
            self._view.glance()
            yield self._files
