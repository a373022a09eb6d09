"""Compute the verdict of a saved report again, from the samples that it names."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from harnesskit.model.decision import Decision
from harnesskit.model.errors import ReportError, nearest
from harnesskit.reports.jsonform import ReportJson, VerdictJson
from harnesskit.review_judges import JUDGES
from harnesskit.stored_runs import StoredRuns
from harnesskit.workspace.decision_log import DecisionLog, statuses
from harnesskit.workspace.problems import shown


@dataclass(frozen=True)
class Verification:
    """A report held against its evidence.

    Attributes
    ----------
    subject
        What the report judges.
    reported, recomputed
        The verdict in the report, and the one that its evidence gives now.
    differences
        A sentence per difference; empty when there is none.
    signatures
        A sentence per signed review of this evidence.
    """

    subject: str
    reported: str
    recomputed: str
    differences: tuple[str, ...]
    signatures: tuple[str, ...] = ()

    @property
    def same(self) -> bool:
        """Whether the report says what its evidence says."""
        return not self.differences

    def __str__(self) -> str:
        """Return the finding, then the differences and the signatures, one per line."""
        found = f"the same, {self.recomputed}" if self.same else f"different: {self.recomputed}, not {self.reported}"
        if not self.same and self.recomputed == self.reported:
            found = f"{self.recomputed} as reported, but not all is the same"
        return "\n".join([f"{self.subject}: computed again: {found}.", *self.differences, *self.signatures])


def verify_report(workspace: StoredRuns, path: str | os.PathLike[str]) -> Verification:
    """Compute the verdict of the report at `path` (``.json``) again, from the samples that it names.

    Samples, sessions, labels, cases and runs added since change nothing, but for a rule judged by runs that no trial
    here made. What is judged, the verdict, the policy and the hash of the evidence are compared.

    Raises
    ------
    ReportError
        The file cannot be read, is no such report, or holds no evidence that is known here.
    WorkspaceError
        The run, or a sample that the report names, is not in the workspace.
    """
    data, report = _read(Path(path))
    if report.verdict is None:
        raise ReportError(f"the report {path} holds no verdict to verify.")
    kind = str(report.evidence.get("kind", ""))
    judge = JUDGES.get(kind)
    if judge is None:
        found = f"{shown(kind)}{nearest(kind, list(JUDGES))}" if kind else "none at all: an older version wrote it"
        raise ReportError(
            f"the report {path} must name the evidence that it rests on ({', '.join(JUDGES)}); found {found}. "
            "Make the report again."
        )
    decision, hashed = judge(workspace, report.verdict, report.evidence)
    differences = _differences(report.verdict, decision, hashed=hashed)
    signatures = _signatures(workspace, report.verdict, data)
    return Verification(report.verdict.subject, report.verdict.verdict, decision.verdict, differences, signatures)


def read_report(path: Path) -> ReportJson:
    """Return a report that was saved as JSON.

    Raises
    ------
    ReportError
        It cannot be read, or is no such report.
    """
    return _read(path)[1]


def _read(path: Path) -> tuple[bytes, ReportJson]:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ReportError(f"cannot read the report {path}: {error.strerror or error}.") from error
    try:
        return data, ReportJson.model_validate_json(data)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        raise ReportError(
            f"{path} is not a report as Report.save('x.json') writes it: {where}: {first['msg']}."
        ) from error


def _differences(reported: VerdictJson, now: Decision, *, hashed: bool) -> tuple[str, ...]:
    pairs = [
        ("subject", reported.subject, now.subject),
        ("verdict", reported.verdict, now.verdict),
        ("exit code", str(reported.exit_code), str(now.exit_code)),
        ("evidence", reported.evidence_hash[:12], now.evidence_hash[:12]),
        ("policy", _short(reported.policy), _short(now.policy)),
    ]
    told = [pair for pair in pairs if pair[1] != pair[2] and (hashed or pair[0] != "evidence")]
    return tuple(f"The {what} differs: {shown(was)} in the report, {shown(now_is)} now." for what, was, now_is in told)


def _short(policy: dict[str, Any]) -> str:
    text = repr(sorted((str(key), str(value)) for key, value in policy.items()))
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:12]


def _signatures(workspace: StoredRuns, verdict: VerdictJson, data: bytes) -> tuple[str, ...]:
    log = DecisionLog(workspace.root)
    rows = log.rows()
    now = statuses(rows, log.clock().date())
    digest = hashlib.sha256(data).hexdigest()
    found = []
    for row in rows:
        if row.action == "sign" and row.subject == verdict.subject and row.evidence_hash == verdict.evidence_hash:
            which = "this very report" if row.report_hash == digest else "another report of the same evidence"
            people = f"{row.author}, approved by {row.approver}" if row.approver else str(row.author)
            found.append(f"Review {row.decision_id} by {people} ({now[row.decision_id]}) is of {which}.")
    return tuple(found) or ("Nobody has signed a review of this evidence.",)
