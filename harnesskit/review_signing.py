"""What a signature binds: the verdict and its evidence, the report, the policy, the guard as it was judged, two people.

Names are taken as given: this is a record of who says that they looked, not a system that knows who they are.
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Mapping
from datetime import UTC, date, datetime, time
from typing import Any, NamedTuple

from harnesskit.model.decision import Decision, evidence_hash
from harnesskit.model.errors import PolicyError, WorkspaceError
from harnesskit.promotion_binding import guard_hash_of
from harnesskit.reports.model import Report
from harnesskit.workspace.case_writing import checked_scores
from harnesskit.workspace.problems import shown
from harnesskit.workspace.times import read_time

LONGEST_NAME, LONGEST_NOTE = 200, 20_000
_BOUND = ("guard_hash", "fingerprint", "validator", "baseline_scores")


class Reviewed(NamedTuple):
    """What there is to sign.

    Attributes
    ----------
    decision
        The verdict.
    report_hash
        SHA-256 of the report as JSON, byte for byte what ``Report.save("x.json")`` writes.
    guard_hash
        Hash of the guard as it was judged; None when the evidence does not say.
    fingerprint
        What produced the candidate's samples; None when it is not known.
    validator
        ``replay`` or ``forward_trial``, as the journal names it.
    baseline_scores
        Of a case: metric to mean score of the runs that it was judged on; None when not given.
    runs, samples
        Ids of the runs and of the samples behind the verdict on a guard.
    """

    decision: Decision
    report_hash: str | None
    guard_hash: str | None
    fingerprint: dict[str, Any] | None
    validator: str
    baseline_scores: dict[str, float] | None
    runs: tuple[str, ...] = ()
    samples: tuple[str, ...] = ()


def reviewed(thing: Any) -> Reviewed:
    """Return what a result or a report has to sign.

    A result has ``decision`` and ``report()``; ``guard_hash``, ``fingerprint``, ``validator`` and ``baseline_scores``
    are taken from it when there, else from the ``evidence`` of its report.

    Raises
    ------
    WorkspaceError
        It is neither, or a report without a verdict.
    """
    if isinstance(thing, Report):
        report, decision = thing, thing.verdict
        if decision is None:
            raise WorkspaceError(f"sign() needs a verdict; the report {shown(thing.title)} has none.")
    else:
        decision, make = getattr(thing, "decision", None), getattr(thing, "report", None)
        if not isinstance(decision, Decision) or not callable(make):
            raise WorkspaceError(
                "sign() takes a result (of run_regression, validate, regression or evidence) or its report; "
                f"found {shown(type(thing).__name__)}."
            )
        report = make()
    said = {name: getattr(thing, name, None) or report.evidence.get(name) for name in _BOUND}
    prints, scores = said["fingerprint"], said["baseline_scores"]
    return Reviewed(
        decision,
        report_hash(report),
        guard_hash_of(thing) or said["guard_hash"],
        dict(prints) if isinstance(prints, Mapping) and prints else None,
        str(said["validator"] or "replay"),
        checked_scores(scores) if isinstance(scores, Mapping) and scores else None,
        _ids(report.evidence.get("runs")),
        _ids((report.evidence.get("samples") or {}).get("trial")),
    )


def _ids(given: Any) -> tuple[str, ...]:
    return tuple(str(one) for one in given) if isinstance(given, list | tuple) else ()


def report_hash(report: Report) -> str:
    """Return the SHA-256 of a report: of the file that ``report.save("x.json")`` writes.

    Examples
    --------
    >>> report_hash(Report("a")) == report_hash(Report("a")), report_hash(Report("a")) == report_hash(Report("b"))
    (True, False)
    """
    return hashlib.sha256(report.render(".json")).hexdigest()


def signature_record(
    found: Reviewed, *, author: str, approver: str | None, note: str, review_by: str | date | None, today: date
) -> dict[str, Any]:
    """Return the record of a signature, without time, id and place in the chain.

    Raises
    ------
    PolicyError
        The policy asks for two people, and there is one.
    WorkspaceError
        A name, the note or the date cannot be used.
    """
    decision = found.decision
    names = person(author, "author"), None if approver is None else person(approver, "approver")
    if decision.policy.get("two_people") and (names[1] is None or same_person(names[0], names[1])):
        who = "nobody approved" if names[1] is None else f"both are {shown(names[1])}"
        raise PolicyError(f"the policy asks for two people, an author and an approver who is another; {who}.")
    return {
        "action": "sign",
        "subject": decision.subject,
        "guard_kind": decision.guard_kind,
        "verdict": decision.verdict,
        "reason": decision.reason,
        "detail": decision.detail,
        "reasons": list(decision.reasons),
        "author": names[0],
        "approver": names[1],
        "note": text_of(note, "note"),
        "override": None,
        "policy": plain(decision.policy),
        "policy_hash": evidence_hash(decision.policy),
        "evidence_hash": decision.evidence_hash,
        "report_hash": found.report_hash,
        "review_by": review_day(review_by, today),
        "guard_hash": found.guard_hash,
        "fingerprint": None if found.fingerprint is None else plain(found.fingerprint),
        "validator": found.validator,
        "baseline_scores": found.baseline_scores,
    }


def person(name: str, role: str) -> str:
    """Return the name of a person, without blanks at its ends.

    Raises
    ------
    WorkspaceError
        It is empty, too long, or holds a sign that nobody can see.
    """
    text = name.strip() if isinstance(name, str) else ""
    hidden = any(unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp") for char in text)
    if not text or len(text) > LONGEST_NAME or hidden:
        raise WorkspaceError(f"{role} must be a name: 1 to {LONGEST_NAME} characters on one line; found {shown(name)}.")
    return text


def same_person(one: str, other: str) -> bool:
    r"""Whether two names are one, read aloud: upper and lower case, blanks and signs that cannot be seen aside.

    Examples
    --------
    >>> same_person("Ann Lee", "ann  lee\u200b"), same_person("Ann Lee", "Bo Lee")
    (True, False)
    """
    return _spoken(one) == _spoken(other)


def _spoken(name: str) -> str:
    seen = "".join(char for char in unicodedata.normalize("NFKC", name) if unicodedata.category(char) != "Cf")
    return " ".join(seen.casefold().split())


def text_of(text: str, name: str) -> str:
    """Return free text.

    Raises
    ------
    WorkspaceError
        It is no text, or too long to be one that was written by hand.
    """
    if not isinstance(text, str) or len(text) > LONGEST_NOTE:
        found = f"{len(text):,} characters" if isinstance(text, str) else shown(text)
        raise WorkspaceError(f"{name} must be a text of at most {LONGEST_NOTE:,} characters; found {found}.")
    return text


def review_day(day: str | date | None, today: date) -> str | None:
    """Return the day by which a review is to be looked at again, as it is written; None without one.

    Raises
    ------
    WorkspaceError
        It is no date, or lies in the past.
    """
    if day is None:
        return None
    moment = read_time(day.isoformat() if isinstance(day, date) else day, "review_by").at
    if moment is None or not isinstance(day, str | date):
        raise WorkspaceError(f"review_by must be a date such as '2026-12-31'; found {shown(day)}.")
    if moment.date() < today:
        raise WorkspaceError(f"review_by {moment:%Y-%m-%d} is in the past; today is {today}.")
    return datetime.combine(moment.date(), time(), UTC).isoformat()


def plain(value: Any) -> Any:
    """Return a policy or a fingerprint as JSON can hold it; what has no JSON form becomes text."""
    return json.loads(json.dumps(value, default=str, allow_nan=False))
