"""The journal of the demo: captures, notices, rules, a validation round and two regression runs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from harnesskit.demo_world.cases import DemoCase
from harnesskit.demo_world.draws import NOW, draw_scores, generator, iso
from harnesskit.demo_world.mailbox import notice
from harnesskit.demo_world.rules import DemoRule, decided_at, rule_record, verdict_of
from harnesskit.workspace.atomic import json_line_bytes, write_atomic

REGRESSIONS = (datetime(2026, 6, 12, 4, tzinfo=UTC), datetime(2026, 6, 25, 4, tzinfo=UTC))
MARGIN = 0.05
KEPT_RESULTS = 50
"""The reference journals the first 50 results of a run."""

Event = tuple[datetime, dict[str, Any]]


def write_journal(root: Path, seed: int, cases: list[DemoCase], rules: list[DemoRule]) -> None:
    """Write journal.jsonl in order of time; its last line is torn, as after a crash."""
    rng = generator(seed, "journal")
    events: list[Event] = [(datetime(2026, 6, 1, 5, tzinfo=UTC), {"type": "health", "ok": True, "reason": None})]
    for case in cases:
        events.extend(_capture(case))
    for rule in rules:
        events.extend(_rule(rule))
    for at in REGRESSIONS:
        events.append((at, regression(rng, [case for case in cases if case.created_at < at], at)))
    events.extend(_validation(rules, cases))
    events.append((NOW - timedelta(days=3), {"type": "skip", "reason": "budget", "session_id": "s-0627-1802-5e1d"}))
    events.append(
        (NOW - timedelta(days=2), {"type": "evalset_capture", "session_id": "s-0628-1111-77b0", "skipped": "cap"})
    )
    lines = [json_line_bytes({**event, "ts": iso(at)}) for at, event in sorted(events, key=lambda entry: entry[0])]
    torn = b'{"case_id": "c-5a1e", "kind": "failure", "repla'
    write_atomic(root / "journal.jsonl", b"\n".join([*lines, torn]))


def _capture(case: DemoCase) -> list[Event]:
    capture = {
        "type": "evalset_capture",
        "case_id": case.case_id,
        "session_id": case.session_id,
        "kind": case.kind,
        "signatures": sorted(case.signature),
        "replayable": case.replayable,
    }
    events: list[Event] = [(case.created_at + timedelta(milliseconds=2), capture)]
    if case.kind == "failure":
        posted = {key: value for key, value in notice(case).items() if key != "signal_breakdown"}
        events.append((case.created_at, {"type": "notice", "observe_only": False, **posted}))
        if case.story[0].startswith("Looped"):
            recovered = {"type": "recovery", "session_id": case.session_id}
            events.append((case.created_at + timedelta(minutes=3), recovered))
    return events


def _rule(rule: DemoRule) -> list[Event]:
    added = "candidate" if rule.status != "paused" else "paused"
    events: list[Event] = [(rule.created_at, {"type": "rule_add", **rule_record(rule, added)})]
    if rule.status not in ("active", "retired"):
        return events
    word, reason = verdict_of(rule)
    at = decided_at(rule)
    rate = len(rule.breached) / len(rule.observed)
    details = {"observed_sessions": len(rule.observed), "trial_rate": rate, "baseline_rate": 0.225}
    verdict = {
        "type": "validation_verdict",
        "rule_id": rule.rule_id,
        "outcome": "promote" if rule.status == "active" else "retire",
        "validator": "forward_trial",
        "reason": reason,
        "pending_reason": None,
        "details": details,
    }
    events.append((at, verdict))
    if rule.status == "active":
        record = rule_record(rule, "active", f"{word}:{reason}", observed=len(rule.observed))
        done = {"type": "rule_promote", "validator": "forward_trial", "reason": reason, **record}
    else:
        done = {"type": "rule_retire", "id": rule.rule_id, "validator": "forward_trial", "reason": reason}
        done["evidence"] = details
    events.append((at + timedelta(milliseconds=4), done))
    return events


def regression(rng: np.random.Generator, cases: list[DemoCase], at: datetime) -> dict[str, Any]:
    """Return one journaled regression run: nothing had changed, the reference's margin decides on noise."""
    newest = sorted(cases, key=lambda case: case.created_at, reverse=True)
    ordered = sorted(newest, key=lambda case: case.kind != "win")
    results = [_result(rng, case, f"replay-{at:%m%d}-{n:03d}") for n, case in enumerate(ordered, 1)]
    statuses = [result["status"] for result in results]
    counts = {status: statuses.count(status) for status in ("improved", "unchanged", "regressed", "skipped")}
    return {
        "type": "regression",
        "total": len(results),
        "replayed": len(results) - counts["skipped"],
        **counts,
        "clean": counts["regressed"] == 0,
        "results": results[:KEPT_RESULTS],
    }


def _result(rng: np.random.Generator, case: DemoCase, session: str) -> dict[str, Any]:
    result = {"case_id": case.case_id, "kind": case.kind, "baseline_scores": dict(case.captured)}
    if not case.replayable:
        reason = "no replay_input attached (harness_evalset_attach)"
        empty: dict[str, Any] = {"replay_scores": {}, "deltas": {}, "replay_session_id": None}
        return {**result, **empty, "status": "skipped", "reason": reason}
    scores = draw_scores(rng, case.means, case.sds, collapse=case.collapse)
    deltas = {metric: scores[metric] - case.captured[metric] for metric in scores}
    status = "unchanged"
    if min(deltas.values()) <= -MARGIN:
        status = "regressed"
    elif max(deltas.values()) >= MARGIN:
        status = "improved"
    found = {"replay_scores": scores, "deltas": deltas, "replay_session_id": session, "reason": ""}
    return {**result, **found, "status": status}


def _validation(rules: list[DemoRule], cases: list[DemoCase]) -> list[Event]:
    """One round over the candidates on 26 June, while the staging shop was down: every replay waited in vain."""
    at = datetime(2026, 6, 26, 3, tzinfo=UTC)
    queue = [rule for rule in rules if rule.status == "candidate"]
    started = {"type": "validation_round_started", "queued_rule_ids": [rule.rule_id for rule in queue]}
    events: list[Event] = [(at, {**started, "budget_s": None, "has_replay": True})]
    for rule in queue:
        at += timedelta(seconds=1)
        begun = {"type": "validation_candidate_started", "rule_id": rule.rule_id, "validator": "replay", "reason": None}
        events.append(
            (at, {**begun, "replay_attempts": 0, "observed_sessions": len(rule.observed), "sessions_needed": 5})
        )
        for case in matched(rule, cases)[:3]:
            at += timedelta(seconds=61)
            waited = {"type": "validation_replay_case", "rule_id": rule.rule_id, "case_id": case.case_id}
            lost = {"kind": case.kind, "session_id": "", "outcome": "env_wait_timeout"}
            events.append((at, {**waited, **lost, "candidate_surfaced": False, "deltas": {}}))
        at += timedelta(seconds=1)
        events.append((at, _pending(rule)))
    counts = {"decided": 0, "pending": len(queue), "promoted": 0, "retired": 0}
    done: dict[str, Any] = {"type": "validation_round_finished", **counts, "budget_exhausted": False}
    return [*events, (at + timedelta(seconds=1), {**done, "elapsed_s": None})]


def _pending(rule: DemoRule) -> dict[str, Any]:
    seen = len(rule.observed)
    return {
        "type": "validation_verdict",
        "rule_id": rule.rule_id,
        "outcome": "pending",
        "validator": "forward_trial",
        "reason": f"trial in progress: {seen}/5 sessions observed",
        "pending_reason": "trial_in_progress",
        "details": {"observed_sessions": seen, "sessions_needed": 5},
    }


def matched(rule: DemoRule, cases: list[DemoCase]) -> list[DemoCase]:
    """Return the replayable failures with all signatures of the rule, newest first, flaky ones left out."""
    fitting = [
        case
        for case in cases
        if case.kind == "failure" and case.replayable and not case.flaky and set(rule.signatures) <= set(case.signature)
    ]
    return sorted(fitting, key=lambda case: case.created_at, reverse=True)
