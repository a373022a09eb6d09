"""The rules of the demo: five candidates with known effects, active and retired ones, and one with an odd status."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from harnesskit.demo_world.cases import DemoCase, summary
from harnesskit.demo_world.draws import generator, hex_id, iso
from harnesskit.workspace.atomic import json_line_bytes, write_atomic

START = datetime(2026, 6, 2, 9, tzinfo=UTC)
TARGETS: dict[str, tuple[str, tuple[str, ...], str]] = {
    "good": ("argument_correctness", ("breach:argument_correctness",), "global"),
    "useless": ("tool_correctness", ("breach:tool_correctness",), "global"),
    "harmful": ("tool_correctness", ("breach:tool_correctness", "stall:task_completion"), "global"),
    "thin": ("coherence", ("breach:argument_correctness", "regression:coherence"), "global"),
    "forward": ("coherence", ("breach:tool_correctness", "regression:coherence"), "global"),
}
"""The candidates: metric, signatures of the failures they were written for, scope."""

SCOPES = {
    "global": "Rules that hold for every request.",
    "refunds": "Refunds, whole or in part, to the original means of payment.",
    "payments": "Charges, retries, duplicates and payouts.",
    "subscriptions": "Plans, renewals and cancellations.",
    "invoices": "Invoices, tax numbers and corrections.",
}
_OLDER = (("active", "payments"), ("active", "subscriptions"), ("active", "invoices"))
_GONE = (("retired", "global"), ("retired", "global"), ("retired", "payments"))


@dataclass(frozen=True)
class DemoRule:
    """One rule, what it is called here, and the case whose notice it was written for."""

    rule_id: str
    name: str
    status: str
    metric: str
    signatures: tuple[str, ...]
    scope: str
    rule: str
    rationale: str
    created_at: datetime
    source: DemoCase
    observed: tuple[str, ...]
    breached: tuple[str, ...]


def notice_id(case: DemoCase) -> str:
    """Return the id of the notice that a case was captured from."""
    return f"n-{case.created_at:%Y%m%dT%H%M%S%f}-{case.case_id[2:10]}"


def make_rules(seed: int, words: dict[str, Any], cases: list[DemoCase]) -> list[DemoRule]:
    """Return twelve rules, the candidates under `TARGETS` first."""
    rng = generator(seed, "rules")
    said = words["rules"]
    plan: list[tuple[str, str, str, tuple[str, ...], str, list[str]]] = [
        (name, "candidate", metric, signatures, scope, said[name])
        for name, (metric, signatures, scope) in TARGETS.items()
    ]
    for n, (status, scope) in enumerate((*_OLDER, *_GONE)):
        metric = ("argument_correctness", "tool_correctness")[n % 2]
        plan.append((f"{status}-{n % 3 + 1}", status, metric, (f"breach:{metric}",), scope, said[status][n % 3]))
    plan.append(("paused", "paused", "tool_correctness", ("breach:tool_correctness",), "global", said["paused"]))
    rules = []
    for n, (name, status, metric, signatures, scope, (rule, rationale)) in enumerate(plan):
        source = _source(cases, n, signatures, newest=status == "candidate")
        decided = status in ("active", "retired")
        observed = tuple(f"s-trial-{hex_id(rng, 6)}" for _ in range(5 if decided else 3 if name == "forward" else 0))
        breached = observed[: 2 if status == "retired" else 1 if name == "forward" else 0]
        created = source.created_at + timedelta(minutes=6)
        rules.append(
            DemoRule(
                f"r-{hex_id(rng)}",
                name,
                status,
                metric,
                signatures,
                scope,
                rule,
                rationale,
                created,
                source,
                observed,
                breached,
            )
        )
    return rules


def _source(cases: list[DemoCase], n: int, signatures: tuple[str, ...], *, newest: bool) -> DemoCase:
    """Return the failure that a rule was written for: of candidates the newest one that can be replayed."""
    fitting = [case for case in cases if case.kind == "failure" and set(signatures) <= set(case.signature)]
    if newest:
        return max((case for case in fitting if case.replayable and not case.flaky), key=lambda case: case.created_at)
    return next(case for case in cases[n:] if case in fitting)


def rule_record(rule: DemoRule, status: str, verdict: str = "", *, observed: int = 0) -> dict[str, Any]:
    """Return one record of rules.jsonl, with the first `observed` sessions of the rule's forward trial."""
    seen = rule.observed[:observed]
    breached = [session for session in rule.breached if session in seen]
    return {
        "id": rule.rule_id,
        "created_at": iso(rule.created_at),
        "rule": rule.rule,
        "rationale": f"{rule.rationale} Seen in {rule.source.session_id}: {summary(rule.source)}",
        "source_notice_id": notice_id(rule.source),
        "status": status,
        "tags": [rule.scope, "learned", *rule.signatures, rule.metric],
        "metric": rule.metric,
        "scope": rule.scope,
        "applicability": "global" if rule.scope == "global" else "topical",
        "failure_signatures": list(rule.signatures),
        "trial": {
            "baseline_breached_sessions": 9,
            "baseline_sessions": 40,
            "baseline_window": 400,
            "trial_started_at": iso(rule.created_at + timedelta(minutes=2)),
            "observed_sessions": list(seen),
            "breached_sessions": breached,
            "observed_breaches": len(breached),
            "replay_attempts": 1 if rule.name in ("good", "useless", "harmful", "thin") else 0,
            "verdict": verdict,
        },
    }


def verdict_of(rule: DemoRule) -> tuple[str, str]:
    """Return the verdict word and the reason that the reference's forward trial gave a decided rule."""
    rate, n = len(rule.breached) / len(rule.observed), len(rule.observed)
    if rule.status == "active":
        return "promoted", f"forward-trial: breach rate {rate:.2f} vs baseline 0.23 over {n} sessions"
    return "retired", f"forward-trial: breach rate {rate:.2f} did not improve on baseline 0.23 after {n} sessions"


def write_rules(root: Path, rules: list[DemoRule]) -> None:
    """Write rules.jsonl: each rule as it was added, then what became of it."""
    lines: list[tuple[datetime, dict[str, Any]]] = []
    for rule in rules:
        added = "candidate" if rule.status != "paused" else "paused"
        lines.append((rule.created_at, rule_record(rule, added)))
        for n in range(1, len(rule.observed) + (rule.status == "candidate")):
            at = rule.created_at + timedelta(hours=5 * n)
            lines.append((at, rule_record(rule, "candidate", observed=n)))
        if rule.status in ("active", "retired"):
            record = rule_record(rule, rule.status, ":".join(verdict_of(rule)), observed=len(rule.observed))
            lines.append((decided_at(rule), record))
    ordered = [json_line_bytes(record) + b"\n" for _, record in sorted(lines, key=lambda line: line[0])]
    write_atomic(root / "rules.jsonl", b"".join(ordered))


def decided_at(rule: DemoRule) -> datetime:
    """Return when the reference decided the rule."""
    return rule.created_at + timedelta(hours=5 * len(rule.observed))
