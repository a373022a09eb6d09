"""Make a guard what its review says, and put that on record: the review first, then the guard."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from harnesskit.agent_side import AgentSide
from harnesskit.model.errors import PromotionRefusedError, WorkspaceError
from harnesskit.model.guard_change import GuardChange
from harnesskit.review_guards import Guard, find_guard, refusals, said_of_the_agent
from harnesskit.review_signing import person, text_of
from harnesskit.workspace.case_writing import checked_kind, sanitised
from harnesskit.workspace.decision_log import DecisionLog, OpenLog
from harnesskit.workspace.decisions import DecisionRow
from harnesskit.workspace.jsonlines import JsonLines
from harnesskit.workspace.layout import DECISIONS
from harnesskit.workspace.rule_book import TrialChange

NEXT = {"rule": "active", "case": "win", "check": "enforcing"}
BACK = {"rule": "retired", "case": "failure", "check": "shadow"}
_COPIED = ("verdict", "reason", "detail", "policy_hash", "evidence_hash", "report_hash", "guard_hash", "approver")
_LONGEST = 2000  # what the reference harness keeps of a text


def promote_guard(
    reviews: DecisionLog, side: AgentSide, guard_id: str, *, override: str | None, author: str, named: bool
) -> GuardChange:
    """Promote a guard; see `harnesskit.review_verbs.ReviewVerbs.promote`.

    Parameters
    ----------
    named
        Whether `author` was given; else whoever signed stands for them.
    """
    if override is not None and not text_of(override, "override").strip():
        raise WorkspaceError("override must say why the guard is promoted against its review; found an empty text.")
    with reviews.writing(f"promote {guard_id}") as log:
        side.rules.finish()
        guard = find_guard(guard_id, side.rules, side.evalset, log.rows)
        if guard.promoted:
            raise WorkspaceError(f"{guard} is {guard.status} already; there is nothing to promote.")
        signature = log.standing(guard_id, guard.kind)
        replayed = _raw(log, None if signature is None else signature.decision_id).get("validator") != "forward_trial"
        against = refusals(guard, signature, log, side.agent.fingerprint, replayed=replayed)
        if against and override is None:
            raise PromotionRefusedError(_refusal(guard, against), tuple(against))
        who = person(author if named or signature is None else signature.author or author, "author")
        record = _record("promote", guard, who, signature) | {
            "override": override if against else None,
            "overruled": against,
            "before": _case_now(side, guard),
        }
        decision_id = _applied(log, side, guard, record, NEXT[guard.kind])
    notes = [f"Overruled: {one}" for one in against] + said_of_the_agent(signature, side.agent.fingerprint)
    if override is not None and not against:
        notes.append("Nothing stood against it; the override was not needed and is not recorded as one.")
    kept = override if against else None
    signed = None if signature is None else signature.decision_id
    return GuardChange(guard_id, guard.kind, NEXT[guard.kind], decision_id, signed, kept, notes=tuple(notes))


def retire_guard(reviews: DecisionLog, side: AgentSide, guard_id: str, *, reason: str, author: str) -> GuardChange:
    """Retire a guard; see `harnesskit.review_verbs.ReviewVerbs.retire`."""
    who, why = person(author, "author"), text_of(reason, "reason")
    with reviews.writing(f"retire {guard_id}") as log:
        side.rules.finish()
        guard = find_guard(guard_id, side.rules, side.evalset, log.rows)
        if guard.status == BACK[guard.kind]:
            raise WorkspaceError(f"{guard} is {guard.status} already; there is nothing to retire.")
        signature = log.standing(guard_id, guard.kind)
        record = _record("retire", guard, who, signature) | {"verdict": "retire", "note": why}
        record["supersedes"] = None if signature is None else signature.decision_id
        decision_id = _applied(log, side, guard, record, BACK[guard.kind])
    ended = () if signature is None else (f"The review {signature.decision_id} ended with it.",)
    signed = None if signature is None else signature.decision_id
    return GuardChange(guard_id, guard.kind, BACK[guard.kind], decision_id, signed, notes=ended)


def _refusal(guard: Guard, against: list[str]) -> str:
    return f'{guard} was not promoted. {" ".join(against)} To promote it all the same, give override="why".'


def _record(action: str, guard: Guard, author: str, signature: DecisionRow | None) -> dict[str, Any]:
    copied = {name: None if signature is None else getattr(signature, name) for name in _COPIED}
    prints = None if signature is None else json.loads(signature.fingerprint or "null")
    return {
        **copied,
        "action": action,
        "subject": guard.guard_id,
        "guard_kind": guard.kind,
        "author": author,
        "policy": None if signature is None else json.loads(signature.policy or "null"),
        "fingerprint": prints,
        "rests_on": None if signature is None else signature.decision_id,
    }


def _applied(log: OpenLog, side: AgentSide, guard: Guard, record: dict[str, Any], status: str) -> str:
    """Write the record and make the guard `status`; of a rule both, or neither, also after a crash."""
    if guard.kind == "rule":
        return _apply_rule(log, side, guard, record, status)
    decision_id = log.append(record)
    if guard.kind == "case":
        _apply_case(log, side, guard, record, decision_id)
    return decision_id


def _apply_rule(log: OpenLog, side: AgentSide, guard: Guard, record: dict[str, Any], status: Any) -> str:
    decision_id, line = log.sealed(record)
    why, validator = _told(log, record, decision_id)
    verb = "promoted" if status == "active" else "retired"
    stamp: TrialChange = lambda trial: {**trial, "verdict": f"{verb}:{why}"}  # noqa: E731 - typed
    side.rules.record(
        guard.guard_id,
        status=status,
        trial=stamp,
        expect=guard.status if guard.status != "unknown" else None,  # type: ignore[arg-type]  # a status of a rule
        reason=why,
        validator=validator,
        evidence={name: record[name] for name in ("evidence_hash", "policy_hash")} | {"decision_id": decision_id},
        decision=line,
    )
    return decision_id


def _told(log: OpenLog, record: Mapping[str, Any], decision_id: str) -> tuple[str, str]:
    """Return the reason and the validator as the journal has them; the reference reads both as plain text."""
    about = f"(decision {decision_id})"
    if record["action"] == "retire":
        return sanitised(f"operator: {record['note'] or 'retired'} {about}", _LONGEST), "operator"
    if record["override"]:
        return sanitised(f"operator: {about} override: {record['override']}", _LONGEST), "operator"
    validator = str(_raw(log, record["rests_on"]).get("validator") or "replay")
    people = " and ".join(str(record[role]) for role in ("author", "approver") if record[role])
    word = validator.replace("_", "-")
    return sanitised(f"{word}: promoted on a review signed by {people} {about}", _LONGEST), validator


def _case_now(side: AgentSide, guard: Guard) -> dict[str, Any] | None:
    case = side.evalset.get(guard.guard_id) if guard.kind == "case" else None
    return None if case is None else {"kind": case.kind, "baseline_scores": dict(case.baseline_scores)}


def _apply_case(log: OpenLog, side: AgentSide, guard: Guard, record: Mapping[str, Any], decision_id: str) -> None:
    """Make a case a protected win held against the runs it was judged on, or a failure as it was before."""
    if record["action"] == "promote":
        scores, kind = _raw(log, record["rests_on"]).get("baseline_scores"), NEXT["case"]
    else:
        done = [row for row in log.rows if row.subject == guard.guard_id and row.action == "promote"]
        before = _raw(log, done[-1].decision_id).get("before") if done else None
        scores, kind = (before or {}).get("baseline_scores"), BACK["case"]
    side.evalset.turn_into(
        guard.guard_id,
        checked_kind(kind),
        baseline_scores=scores if isinstance(scores, dict) and scores else None,
        reason=f"{record['action']} (decision {decision_id})",
    )


def _raw(log: OpenLog, decision_id: str | None) -> dict[str, Any]:
    """Return a record as it stands in the file, with what is no column."""
    if decision_id is None:
        return {}
    lines = JsonLines(log.root / DECISIONS, "decisions", DECISIONS)
    return next((line.value for line in lines if line.value.get("decision_id") == decision_id), {})
