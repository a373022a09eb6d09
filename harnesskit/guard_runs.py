"""Evidence about a rule from runs that were not made by a trial here: another tool's, or replays of one's own."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import pandas as pd

from harnesskit.decisions.promotion import decide_promotion
from harnesskit.measures.guard_wins import guard_wins
from harnesskit.measures.ledger import evidence_ledger
from harnesskit.measures.pairs import replay_pairs
from harnesskit.measures.promotion import promotion_evidence
from harnesskit.measures.promotion_path import evidence_path
from harnesskit.model.promotion_policy import PromotionPolicy
from harnesskit.model.records import RuleRecord
from harnesskit.promotion import PromotionResult, looks_of
from harnesskit.store.database import script
from harnesskit.trials.bank import Bank
from harnesskit.trials.promotion_setup import target_metric
from harnesskit.workspace.rows import RunRow
from harnesskit.workspace.runs import read_run_row, run_folders

if TYPE_CHECKING:
    from harnesskit.stored_runs import StoredRuns

REMARK = (
    "The runs were not made by a trial of this workspace: what was to be replayed was not fixed beforehand, and the "
    "policy was chosen with the evidence there."
)


def evidence_of_runs(tables: StoredRuns, rule: RuleRecord, policy: PromotionPolicy) -> PromotionResult | None:
    """Return what the newest run with the rule says, against its own control arm and the bank of its fingerprint.

    None when there is no such run.
    """
    rows = [read_run_row(folder) for folder in run_folders(tables.root)]
    with_rule = [row for row in rows if row.role == "candidate" and row.rule_id == rule.rule_id]
    if not with_rule:
        return None
    run = max(with_rule, key=lambda row: (str(row.finished_at or row.started_at), row.run_id))
    bank = _bank(rows, run)
    scores = tables.sql(script("queries/run_scores.sql"), run=run.run_id)
    hidden = (scores["arm"] == "control").fillna(False).to_numpy(dtype=bool)
    control, candidate = scores[hidden], scores[~hidden]
    if bank is not None:
        banked = tables.sql(script("queries/run_scores.sql"), run=bank.run_id)
        banked["round"] = pd.NA
        control = pd.concat([banked[banked["case_id"].isin(_cases(tables, candidate))], control], ignore_index=True)
    target = target_metric(rule, [], Bank())
    if target is None:
        return None
    facts: dict[str, Any] = {"target_metric": target, "metrics": tables.metrics}
    evidence = promotion_evidence(control, candidate, policy=policy, **facts)
    decision = decide_promotion(evidence, policy=policy, subject=rule.rule_id, remarks=(REMARK,))
    samples = tables.sql("SELECT * FROM samples WHERE run_id = $run", run=run.run_id)
    return PromotionResult(
        rule.rule_id,
        "rule",
        decision,
        evidence,
        evidence_path(control, candidate, policy=policy, **facts),
        guard_wins(control, candidate, policy=policy, **facts),
        replay_pairs(control, candidate, samples=samples, **facts),
        evidence_ledger(control, candidate, metrics=tables.metrics),
        samples,
        run_ids=(run.run_id, *([] if bank is None else [bank.run_id])),
        looks=looks_of(tables.root, rule.rule_id),
        root=tables.given or str(tables.root),
        control=control,
        candidate=candidate,
    )


def _bank(rows: list[RunRow], run: RunRow) -> RunRow | None:
    """Return the newest control run of the same fingerprint; without one, of any when the run names none."""
    controls = [row for row in rows if row.role == "control" and row.fingerprint == run.fingerprint]
    return max(controls, key=lambda row: (str(row.finished_at or row.started_at), row.run_id), default=None)


def _cases(tables: StoredRuns, candidate: pd.DataFrame) -> set[str]:
    """Return the failures that were replayed, and every protected win."""
    wins = tables.sql("SELECT case_id FROM cases WHERE kind = 'win' AND replayable")["case_id"]
    return {*wins, *candidate["case_id"].dropna()}


_OUTCOMES = {
    "scored": "scored, against a captured score that was selected low",
    "inconclusive": "without comparable scores",
    "env_wait_timeout": "never begun, or crashed",
    "candidate_not_exercised": "that never read the rule",
}


def journaled(tables: StoredRuns, rule_id: str) -> list[str]:
    """Return what the reference harness decided about a rule, and on what, in words; nothing where it did not."""
    events = tables.sql(
        "SELECT type, payload FROM events WHERE rule_id = $rule AND type IN "
        "('validation_replay_case', 'validation_verdict') ORDER BY \"offset\"",
        rule=rule_id,
    )
    payloads = [(kind, json.loads(text)) for kind, text in events.itertuples(index=False)]
    verdicts = [one for kind, one in payloads if kind == "validation_verdict" and one.get("outcome") != "pending"]
    if not verdicts:
        return []
    last = verdicts[-1]
    did = {"promote": "promoted", "retire": "retired"}.get(str(last.get("outcome")), "decided on")
    counts = Counter(str(one.get("outcome")) for kind, one in payloads if kind == "validation_replay_case")
    replays = ", ".join(f"{n} {_OUTCOMES.get(name, name)}" for name, n in sorted(counts.items())) or "none"
    said = (
        f"The reference {did} it ({last.get('reason')}); its replays: {replays}. None of this is a comparison with "
        "control runs, so it decides nothing here."
    )
    return [said]
