"""Notices, their dumps, the score history and the scopes of the demo, in the reference harness's files."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

from harnesskit.demo_world.cases import DemoCase, summary
from harnesskit.demo_world.draws import METRICS, THRESHOLD, TIER_1, generator, iso
from harnesskit.demo_world.rules import SCOPES, DemoRule, notice_id
from harnesskit.workspace.atomic import json_file_bytes, write_atomic

PENDING = 6
"""Notices of the newest failures that nobody has handled."""

DUMPS = "traces"
_REMEMBERED = 40


def notice(case: DemoCase) -> dict[str, Any]:
    """Return the notice of a failure, as it was posted."""
    flagged = f"{case.session_id}-t2"
    conditions: dict[str, list[str]] = {}
    for label in case.signature:
        condition, _, metric = label.partition(":")
        conditions.setdefault(metric, []).append(condition)
    return {
        "id": notice_id(case),
        "created_at": iso(case.created_at),
        "session_id": case.session_id,
        "turn_index": 1,
        "severity": "breach",
        "metrics": [
            {
                "name": metric,
                "value": case.captured[metric],
                "threshold": THRESHOLD,
                "reason": case.story[0],
                "conditions": named,
                "trace_id": flagged,
                "tier": 1 if metric in TIER_1 else 2,
            }
            for metric, named in sorted(conditions.items())
        ],
        "flagged_traces": [flagged],
        "signatures": sorted(case.signature),
        "signal_breakdown": {flagged: dict(case.captured)},
        "summary": summary(case),
        "dump_path": f"/srv/support-agent/harness/{DUMPS}/{notice_id(case)}.json",
        "scope_hint": "global",
        "scope_hints": [],
        "recommended_scope": None,
        "applicability_hint": "global",
        "status": "pending",
        "resolution": None,
    }


def write_mailbox(root: Path, cases: list[DemoCase], rules: list[DemoRule]) -> None:
    """Write pending and processed notices, the dumps of the pending ones and the cached summary."""
    failures = sorted((case for case in cases if case.kind == "failure"), key=lambda case: case.created_at)
    by_source = {notice_id(rule.source): rule for rule in rules}
    for name in ("pending", "processed"):
        (root / "mailbox" / name).mkdir(parents=True)
    (root / DUMPS).mkdir()
    pending = failures[-PENDING:]
    for case in failures:
        posted = notice(case)
        if case in pending:
            if case is failures[-1]:
                posted["severity"] = "needs_human"
            _write(root / DUMPS / f"{posted['id']}.json", dump(case))
        else:
            posted.update(status="acknowledged", resolution=_resolution(case, by_source.get(posted["id"])))
        folder = "pending" if case in pending else "processed"
        _write(root / "mailbox" / folder / f"{posted['id']}.json", posted)
    _write(root / DUMPS / "latest_eval.json", dump(failures[-1]))
    status = {"pending_count": PENDING, "max_severity": "needs_human", "latest_id": notice_id(failures[-1])}
    _write(root / "mailbox" / "status.json", {**status, "updated_at": iso(failures[-1].created_at)})


def _resolution(case: DemoCase, rule: DemoRule | None) -> dict[str, Any]:
    kind = "candidate" if rule else "already_covered" if case.topic == "duplicate_charges" else "no_proposal"
    note = {
        "candidate": "A candidate rule was added.",
        "already_covered": "An active rule covers this.",
        "no_proposal": "One of a kind so far.",
    }[kind]
    acked = iso(case.created_at + timedelta(minutes=7))
    return {"acked_at": acked, "rule_id": rule.rule_id if rule else None, "note": note, "kind": kind}


def dump(case: DemoCase) -> dict[str, Any]:
    """Return the evaluation behind a notice."""
    trace = f"{case.session_id}-t2"
    labels = set(case.signature)
    scores: list[dict[str, Any]] = [
        {
            "metric": metric,
            "value": case.captured[metric],
            "threshold": THRESHOLD,
            "breached": f"breach:{metric}" in labels,
            "below_threshold": case.captured[metric] < THRESHOLD,
            "stalled": f"stall:{metric}" in labels,
            "regressed": f"regression:{metric}" in labels,
            "pending": False,
            "reason": case.story[0],
            "trace_id": trace,
            "tier": 1 if metric in TIER_1 else 2,
            "flagged_traces": [],
            "aggregation": {},
        }
        for metric in METRICS
    ]
    return {
        "session_id": case.session_id,
        "turn_index": 1,
        "any_breach": True,
        "any_alert": True,
        "gate_breached": any(label.startswith("stall:") for label in labels),
        "flagged_traces": [trace],
        "signal_breakdown": {trace: dict(case.captured)},
        "scores": scores,
    }


def write_state(root: Path, seed: int, cases: list[DemoCase]) -> None:
    """Write the score history of the newest sessions (tier 1 only, as the reference keeps it) and the scopes."""
    rng = generator(seed, "history")
    (root / "state").mkdir()
    history: dict[str, Any] = {}
    for case in sorted(cases, key=lambda case: case.created_at)[-_REMEMBERED:]:
        for metric in TIER_1:
            last = case.captured[metric]
            values = [min(1.0, round(last + float(rng.normal(0.04, 0.04)), 3)), last]
            times = [case.created_at - timedelta(minutes=4), case.created_at - timedelta(seconds=20)]
            history[f"{case.session_id}::{metric}"] = {
                "series": [{"value": v, "ts": iso(at), "run_id": None} for v, at in zip(values, times, strict=True)],
                "gate": {"peak": max(values), "turns_since_gain": values.index(min(values))},
            }
    _write(root / "state" / "score_history.json", history)
    scopes = {scope: {"description": text, "source": "host"} for scope, text in SCOPES.items()}
    _write(root / "scope_metadata.json", scopes)


def _write(path: Path, value: dict[str, Any]) -> None:
    write_atomic(path, json_file_bytes(value))
