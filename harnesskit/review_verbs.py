"""The verbs of a review: sign a verdict, promote or retire a guard on it, take a signature back."""

from __future__ import annotations

import getpass
import os
from datetime import date
from typing import TYPE_CHECKING, Any

import pandas as pd

from harnesskit.agent_side import AgentSide
from harnesskit.model.errors import WorkspaceError
from harnesskit.model.guard_change import GuardChange
from harnesskit.stored_runs import StoredRuns
from harnesskit.workspace.decision_log import DecisionLog, statuses
from harnesskit.workspace.problems import shown

if TYPE_CHECKING:
    from harnesskit.review_verify import Verification


class ReviewVerbs(StoredRuns):
    """Signing and applying; every record is a line of ``harnesskit/decisions.jsonl``.

    Names are a record of who says that they looked; nothing here knows who anybody is.
    """

    _side: AgentSide

    def sign(
        self,
        result_or_report: Any,
        *,
        author: str,
        approver: str | None = None,
        note: str = "",
        review_by: str | date | None = None,
    ) -> str:
        """Sign the verdict of a result or a report, and return the id of the decision.

        Bound together are the hashes of the evidence, of the report (as ``Report.save("x.json")`` writes it), of the
        policy and of the guard as it was judged, the verdict and its reasons, the fingerprint, both people, and the
        line before this one. It replaces an earlier signature on the same subject. A regression run whose ``pass`` is
        signed is the accepted baseline of later runs: its samples join the control bank.

        Parameters
        ----------
        result_or_report
            What `run_regression`, `regression`, `validate` or `evidence` returned, or its report.
        author
            Who reviewed it, as they give their name; this is a record, not a system of identities.
        approver
            Who approved it; where the policy has ``two_people``, somebody else than the author.
        note
            Free text.
        review_by
            Day until which the signature holds for promoting; a text such as ``"2026-12-31"``, or a date.

        Raises
        ------
        PolicyError
            The policy asks for two people.
        WorkspaceError
            It is no result, its subject is not in this workspace, or a name or the date cannot be used.
        LockedError
            Another process holds the reviews; the message names it.
        """
        from harnesskit.review_facts import completed
        from harnesskit.review_signing import reviewed, signature_record

        self._now_only("sign")
        found = reviewed(result_or_report)
        self._has_subject(found.decision.subject, found.decision.guard_kind)
        found = completed(found, self, self._side)
        with self._reviews().writing(f"sign a review of {shown(found.decision.subject)}") as log:
            record = signature_record(
                found, author=author, approver=approver, note=note, review_by=review_by, today=log.today
            )
            before = log.standing(found.decision.subject, found.decision.guard_kind)
            return log.append({**record, "supersedes": None if before is None else before.decision_id})

    def promote(self, guard_id: str, *, override: str | None = None, author: str | None = None) -> GuardChange:
        """Promote a guard on its signed review, and return what it is now and what is due.

        A rule becomes active, written to ``rules.jsonl`` and the journal as the reference harness does; a case becomes
        a protected win, held against the scores of the runs that it was judged on; a check enforces: that is kept in
        ``decisions.jsonl`` alone, where whoever runs the check finds it (`decisions`).

        Refused without a signature that holds and says ``promote``, when the review was to be looked at again before
        today, when the log was tampered with, when the text of the rule has changed since it was judged, and when the
        evidence comes from another fingerprint than the agent's here (another set of active rules aside).

        Parameters
        ----------
        guard_id
            Id of a rule or case, or name of a check.
        override
            Why it is promoted all the same; recorded.
        author
            Who promotes it; by default whoever signed last, or the login name.

        Raises
        ------
        PromotionRefusedError
            Something stands against it, and there is no override; ``reasons`` lists it all.
        WorkspaceError
            There is no such guard, or it is promoted already.
        """
        from harnesskit.review_apply import promote_guard

        self._now_only("promote")
        change = promote_guard(
            self._reviews(),
            self._side,
            guard_id,
            override=override,
            author=author or _login(),
            named=author is not None,
        )
        self.refresh()
        return self._with_dues(change)

    def retire(self, guard_id: str, reason: str = "", *, author: str | None = None) -> GuardChange:
        """Retire a guard, promoted or not, and return what it is now; its signature ends with it.

        This is the way back after `promote`, and needs no signature: a rule becomes retired, a case a failure (with the
        scores that it had before it was promoted), a check goes back to shadow.

        Parameters
        ----------
        guard_id
            Id of a rule or case, or name of a check.
        reason
            Why.
        author
            Who retires it; the login name by default.

        Raises
        ------
        WorkspaceError
            There is no such guard, or it is retired already.
        """
        from harnesskit.review_apply import retire_guard

        self._now_only("retire")
        change = retire_guard(self._reviews(), self._side, guard_id, reason=reason, author=author or _login())
        self.refresh()
        return change

    def revoke(self, decision_id: str, *, note: str = "", author: str | None = None) -> str:
        """Take a signature back and return the id of the record that says so; nothing is ever deleted.

        What was promoted on it stays as it is: `retire` takes that back. A run whose ``pass`` is revoked leaves the
        control bank.

        Raises
        ------
        WorkspaceError
            There is no such signature, or it does not hold any more.
        """
        from harnesskit.review_signing import person, text_of

        self._now_only("revoke")
        why, who = text_of(note, "note"), person(author or _login(), "author")
        with self._reviews().writing(f"revoke {shown(decision_id)}") as log:
            found = next((row for row in log.rows if row.decision_id == decision_id), None)
            if found is None or found.action != "sign":
                what = "is no signature" if found is not None else "is not among the decisions"
                raise WorkspaceError(f"revoke() needs the id of a signed review; {shown(decision_id)} {what}.")
            status = statuses(log.rows, log.today)[decision_id]
            if status not in ("signed", "overdue"):
                raise WorkspaceError(f"the review {decision_id} does not hold any more: it is {status}.")
            about = {"subject": found.subject, "guard_kind": found.guard_kind}
            return log.append({"action": "revoke", **about, "author": who, "note": why, "supersedes": decision_id})

    def decisions(self) -> pd.DataFrame:
        """Return one row per signed review and per thing done on one, oldest first: `DECISIONS` and `status`.

        ``status`` is ``signed`` (it holds), ``overdue``, ``superseded`` or ``revoked``; ``done`` for what was done; and
        ``altered`` for a review on which nothing is promoted: its line, or the chain after it, was changed.
        """
        self.refresh()
        frame, log = self.table("decisions"), self._reviews()
        rows = [row for row in log.rows() if row.decision_id in set(frame["decision_id"])]  # as of then, or now
        place = {row.decision_id: n for n, row in enumerate(rows)}
        frame = frame.sort_values("decision_id", key=lambda ids: ids.map(place), ignore_index=True)
        now = statuses(rows, (self.as_of or log.clock()).date())
        status = frame["decision_id"].map(now).astype(object)
        standing = status.isin(["signed", "overdue"]) & frame["decision_id"].isin(log.altered())
        return frame.assign(status=status.mask(standing, "altered"))

    def verify(self, path: str | os.PathLike[str]) -> Verification:
        """Compute the verdict of a saved JSON report again, from the samples that it names.

        Raises
        ------
        ReportError
            The file is no report with evidence.
        WorkspaceError
            The run, or a sample that the report names, is not in the workspace.
        """
        from harnesskit.review_verify import verify_report

        return verify_report(self, path)

    def _reviews(self) -> DecisionLog:
        return DecisionLog(self.root, self._side.rules.clock)

    def _now_only(self, verb: str) -> None:
        if self.as_of is not None:
            raise WorkspaceError(f"{verb}() writes to the present; this workspace was opened as of {self.as_of}.")

    def _has_subject(self, subject: str, guard_kind: str | None) -> None:
        """Refuse to sign what is not of this workspace."""
        self.refresh()
        if guard_kind == "rule":
            known = self._side.rules.get(subject) is not None
        elif guard_kind == "case":
            known = self._side.evalset.get(subject) is not None
        else:
            known = guard_kind == "check" or subject in set(self.table("runs")["run_id"])
        if not known:
            what = guard_kind or "run"
            raise WorkspaceError(f"there is no {what} {shown(subject)} in {self.root}; sign it where it was made.")

    def _with_dues(self, change: GuardChange) -> GuardChange:
        from harnesskit.review_dues import with_dues

        return with_dues(self, change)


def _login() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):  # a container without a name for its user
        return "unknown"
