"""May a guard be promoted on the reviews there are: the guard as it is now, against what was judged and signed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from harnesskit.model.decision import evidence_hash
from harnesskit.model.errors import WorkspaceError, listed, nearest
from harnesskit.trials.promotion_frozen import text_hash
from harnesskit.workspace.decision_log import OpenLog, is_overdue
from harnesskit.workspace.decisions import DecisionRow
from harnesskit.workspace.evalset_store import EvalSet
from harnesskit.workspace.problems import shown
from harnesskit.workspace.rule_book import RuleBook

NOT_THE_AGENT = ("rules_hash",)
"""What a fingerprint holds beside the agent: another set of active rules is said, and refuses nothing."""


class Guard(NamedTuple):
    """A guard as it is now.

    Attributes
    ----------
    guard_id, kind
        ``rule``, ``case`` or ``check``.
    status
        Of a rule its status, of a case its kind, of a check ``enforcing`` or ``shadow``.
    digest
        Hash of what it says now; None for a check.
    promoted
        Whether it protects the agent already; a case that was captured as a win is promoted by its first review.
    """

    guard_id: str
    kind: str
    status: str
    digest: str | None
    promoted: bool

    def __str__(self) -> str:
        """Return what to call it in a message."""
        return f"{self.kind} {self.guard_id}"


def find_guard(guard_id: str, rules: RuleBook, evalset: EvalSet, reviews: Sequence[DecisionRow]) -> Guard:
    """Return the guard of an id: a rule, a case of the eval set, or a check that somebody signed a review of.

    Raises
    ------
    WorkspaceError
        There is none, or a rule and a case share the id.
    """
    if not isinstance(guard_id, str):
        raise WorkspaceError(f"a guard is named by its id, a text; found {shown(guard_id)}.")
    rule = rules.get(guard_id)
    case = evalset.get(guard_id)
    if rule is not None and case is not None:
        raise WorkspaceError(f"{shown(guard_id)} is the id of a rule and of a case; give one of them another.")
    if rule is not None:
        return Guard(guard_id, "rule", rule.status, text_hash(rule.rule), rule.status == "active")
    if case is not None:
        stands = case.kind == "win" and _promoted(guard_id, "case", reviews)
        return Guard(guard_id, "case", case.kind, input_hash(case.replay_input), stands)
    if any(row.guard_kind == "check" and row.subject == guard_id for row in reviews):
        enforced = _promoted(guard_id, "check", reviews)
        return Guard(guard_id, "check", "enforcing" if enforced else "shadow", None, enforced)
    known, waiting = [one.rule_id for one in rules.rules()], [one.rule_id for one in rules.candidates()]
    raise WorkspaceError(
        f"there is no guard {shown(guard_id)}{nearest(guard_id, known)}: no rule and no case has that id, and no "
        f"review of a check of that name is signed. Candidate rules: {listed(waiting)}."
    )


def _promoted(guard_id: str, kind: str, reviews: Sequence[DecisionRow]) -> bool:
    """Whether promoting was the last thing done with a guard."""
    about = (row for row in reviews if row.subject == guard_id and row.guard_kind == kind)
    return [row.action for row in about if row.action in ("promote", "retire")][-1:] == ["promote"]


def input_hash(replay_input: Any) -> str:
    """Return the hash of what a case replays: a case with another input is another case."""
    return evidence_hash(replay_input)


def refusals(
    guard: Guard, signature: DecisionRow | None, log: OpenLog, fingerprint: Any, *, replayed: bool = True
) -> list[str]:
    """Return what stands against promoting a guard, a sentence each; nothing when it may be promoted.

    Parameters
    ----------
    guard
        The guard as it is now.
    signature
        The last signature on it that holds.
    log
        The reviews.
    fingerprint
        What the host says that its agent is; None when it does not say.
    replayed
        Whether the evidence comes from replays; that of live sessions is of the agent that was live.
    """
    found = []
    if guard.kind == "rule" and guard.status != "candidate":
        found.append(f"It is {guard.status}, not a candidate; promote a new candidate with its text.")
    if signature is None:
        return [*found, _unsigned(guard, log)]
    signed = f"The review {signature.decision_id}"
    if signature.verdict != "promote":
        found.append(f"{signed} says {signature.verdict}, not promote ({signature.reason or 'no reason given'}).")
    if is_overdue(signature.review_by, log.today):
        found.append(f"{signed} was to be looked at again by {signature.review_by:%Y-%m-%d}; review and sign anew.")
    if not log.is_whole(signature.decision_id):
        found.append(f"{signed}, or a line after it, is not as it was written; see harness.problems(), and sign anew.")
    found += _other_guard(guard, signature, signed)
    found += _other_agent(signature, signed, fingerprint, replayed=replayed and guard.kind != "check")
    return found


def _unsigned(guard: Guard, log: OpenLog) -> str:
    about = [row for row in log.rows if row.subject == guard.guard_id and row.guard_kind == guard.kind]
    revoked = [row for row in about if row.action == "revoke"]
    if revoked:
        when = "" if revoked[-1].at is None else f" on {revoked[-1].at:%Y-%m-%d}"
        who = f" by {revoked[-1].author}" if revoked[-1].author else ""
        return f"The review {revoked[-1].supersedes} was revoked{when}{who}; review and sign anew."
    retired = [row for row in about if row.action == "retire"]
    if retired:
        return f"It was retired ({retired[-1].decision_id}), which ended its review; review and sign anew."
    return 'Nobody has signed a review of it: harness.sign(result, author="…").'


def _other_guard(guard: Guard, signature: DecisionRow, signed: str) -> list[str]:
    if guard.kind == "rule" and signature.guard_hash is None:
        return [f"{signed} does not say which text was judged; sign the result of harness.validate or .evidence."]
    if guard.digest is not None and signature.guard_hash not in (None, guard.digest):
        what = "text" if guard.kind == "rule" else "input"
        return [
            (
                f"{signed} is older than the {what} of the {guard.kind}: what was judged has the hash "
                f"{str(signature.guard_hash)[:12]}…, it is {guard.digest[:12]}… now. Validate it again."
            )
        ]
    return []


def _other_agent(signature: DecisionRow, signed: str, fingerprint: Any, *, replayed: bool) -> list[str]:
    here = agent_of(fingerprint)
    if not here:
        return []
    judged = agent_of(json.loads(signature.fingerprint or "null"))
    if not judged and not replayed:
        return []
    if not judged:
        return [f"{signed} does not say which agent produced the evidence; here it is {_named(here, here)}."]
    differ = [key for key in sorted({*here, *judged}) if here.get(key) != judged.get(key)]
    if not differ:
        return []
    return [
        (
            f"{signed} rests on evidence from another fingerprint: {_named(judged, differ)}; here it is "
            f"{_named(here, differ)}. Validate it with this agent."
        )
    ]


def agent_of(fingerprint: Any) -> dict[str, Any]:
    """Return what a fingerprint says of the agent; empty when it says nothing.

    Examples
    --------
    >>> agent_of("v2") == agent_of({"version": "v2", "rules_hash": "3f"}), agent_of(None)
    (True, {})
    """
    named = {"version": fingerprint} if isinstance(fingerprint, str) else fingerprint
    if not isinstance(named, Mapping):
        return {}
    plain: dict[str, Any] = json.loads(json.dumps(dict(named), default=str))
    return {key: value for key, value in plain.items() if key not in NOT_THE_AGENT}


def _named(fingerprint: Mapping[str, Any], keys: Any) -> str:
    return listed([f"{key}={shown(fingerprint.get(key))}" for key in keys])


def said_of_the_agent(signature: DecisionRow | None, fingerprint: Any) -> list[str]:
    """Return what a reader has to know when the agent here could not be held against the evidence."""
    if signature is None or agent_of(fingerprint) or not agent_of(json.loads(signature.fingerprint or "null")):
        return []
    return [
        (
            "Which agent is in use was not said here, so the evidence was not held against it "
            "(Harness.create(fingerprint=…))."
        )
    ]
