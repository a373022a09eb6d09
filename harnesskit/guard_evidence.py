"""What stored trials say about the guards of a workspace: one of them, or all at a glance."""

from __future__ import annotations

import contextlib
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pandas as pd

from harnesskit.agent_side import AgentSide
from harnesskit.decisions.promotion import decide_promotion
from harnesskit.measures.evidence_rows import evidence_frame, row
from harnesskit.model.errors import WorkspaceError
from harnesskit.model.promotion_policy import PromotionPolicy
from harnesskit.model.promotion_results import GUARDS
from harnesskit.model.records import RuleRecord
from harnesskit.promotion import PromotionResult, judge_promotion, looks_of
from harnesskit.promotion_run import rule_of
from harnesskit.promotion_trials import Asked, lineage_of, pending, text_of, trials_of
from harnesskit.stats.noise import ASSUMED_SD
from harnesskit.trials.promotion_cases import choose_cases
from harnesskit.trials.promotion_frozen import policy_hash, text_hash
from harnesskit.trials.promotion_pending import CAN_BE_TRIED
from harnesskit.workspace.assignments import read_forward
from harnesskit.workspace.clock import utc_now
from harnesskit.workspace.decisions import read_decisions
from harnesskit.workspace.looks import LookRow, record_look
from harnesskit.workspace.rows import RunRow

if TYPE_CHECKING:
    from harnesskit.forward_verbs import ForwardVerbs

NEVER_TRIED = "it was never tried on replays here"


def stored_evidence(
    tables: ForwardVerbs, side: AgentSide, guard_id: str, policy: str | PromotionPolicy | None, *, whole: bool = True
) -> PromotionResult:
    """Return what stored trials say about a rule; see `harnesskit.guard_verbs.GuardVerbs.evidence`."""
    from harnesskit.measures.promotion_trial import judging_policy

    rules = None if policy is None else judging_policy(policy, by="evidence()")
    if side.rules.get(guard_id) is None and side.evalset.get(guard_id) is not None:
        return _case_evidence(tables, side, guard_id, rules)
    rule = rule_of(side, guard_id)
    trials = trials_of(side.root, rule.rule_id)
    tried = [one for one in trials if text_of(one) == text_hash(rule.rule)]
    if not tried and policy is None:
        start = read_forward(side.root, rule.rule_id, text_hash(rule.rule)).start
        if start is not None and start.metric is not None:
            return tables.forward_trial(rule.rule_id)
    if not tried:
        return _untried(tables, side, rule, rules, trials)
    found = judge_promotion(side.root, tried[-1].run_id, policy=rules, given=tables.given, whole=whole)
    if rules is not None and policy_hash(rules) != policy_hash(PromotionPolicy(**found.frozen["policy"])):
        found = _looked(side, found, rules)
    return found


def _case_evidence(
    tables: ForwardVerbs, side: AgentSide, case_id: str, policy: PromotionPolicy | None
) -> PromotionResult:
    """Return what stored runs say of a case that may become a win."""
    from harnesskit.win_run import judge_case, trials_of_case

    trials = trials_of_case(side.root, case_id)
    if trials:
        return judge_case(side.root, trials[-1].run_id, policy=policy, given=tables.given, cases=tables.table("cases"))
    asked = policy or PromotionPolicy()
    rows = [row("pass_rate", "unknown"), row(CAN_BE_TRIED, "unknown", NEVER_TRIED, reason="insufficient_evidence")]
    evidence = evidence_frame(rows, asked.label)
    decision = decide_promotion(evidence, policy=asked, subject=case_id, guard_kind="case")
    return PromotionResult(case_id, "case", decision, evidence, root=tables.given or str(side.root))


def _looked(side: AgentSide, found: PromotionResult, policy: PromotionPolicy) -> PromotionResult:
    """Keep that a policy was asked for after the evidence was there."""
    look = LookRow(
        utc_now(), found.guard_id, found.run_id, policy.label, policy_hash(policy), found.decision.evidence_hash,
        found.verdict,
    )  # fmt: skip
    with contextlib.suppress(WorkspaceError):  # a workspace that cannot be written can be looked at all the same
        record_look(side.root, look)
    known = looks_of(side.root, found.guard_id)
    if not (known["policy_hash"] == look.policy_hash).any():
        known = pd.DataFrame([*known.itertuples(index=False, name=None), look], columns=list(LookRow._fields))
    return replace(found, looks=known)


def _untried(
    tables: ForwardVerbs, side: AgentSide, rule: RuleRecord, policy: PromotionPolicy | None, earlier: list[RunRow]
) -> PromotionResult:
    """Return the verdict on a rule whose present text was in no trial: by runs of another making, or on nothing."""
    from harnesskit.guard_runs import evidence_of_runs, journaled

    rules = policy or PromotionPolicy()
    if not earlier:
        found = evidence_of_runs(tables, rule, rules)
        if found is not None:
            return found
    said = journaled(tables, rule.rule_id)
    asked = Asked(rules, tables.metrics, given=tables.given or str(side.root))
    if not choose_cases(rule, side.evalset, rules, 0).failures:
        note = "no replayable failure of the eval set shares a label with the rule"
        return pending(asked, rule, "no_matching_replayable_case", note, said)
    note = f"{NEVER_TRIED}; harness.validate({rule.rule_id!r}) does so"
    if earlier:
        note = "its text has changed since its last trial: it is a new rule, to be tried anew"
    found = pending(asked, rule, "insufficient_evidence", note, said, _needed(rules))
    return replace(found, lineage=pd.DataFrame([*lineage_of(earlier)], columns=list(found.lineage.columns)))


def _needed(policy: PromotionPolicy) -> int:
    """Return the replays that about settle a rule from nothing: both arms fresh, at the noise usually assumed.

    34.3 s^2 / worthwhile^2, which a sequential trial stays below on average.
    """
    return min(policy.budget, math.ceil(34.3 * (policy.prior_sd or ASSUMED_SD) ** 2 / policy.worthwhile**2 - 1e-9))


def guards_frame(tables: ForwardVerbs, side: AgentSide) -> pd.DataFrame:
    """Return one row per guard: each rule that is not retired, or was tried, and each case tried for a win."""
    from harnesskit.win_run import cases_tried

    cases = cases_tried(side.root)
    tried = {one.rule_id for one in trials_of(side.root)}
    cost = _mean_cost(tables)
    signed = _signed(side)
    rows = []
    for rule in side.rules.rules():
        if rule.status in ("candidate", "active") or rule.rule_id in tried:
            found = stored_evidence(tables, side, rule.rule_id, None, whole=False)
            rows.append(_row(found, rule.status, cost, signed.get(rule.rule_id)))
    for case in side.evalset.cases():
        if case.id in cases:
            found = _case_evidence(tables, side, case.id, None)
            rows.append(_row(found, case.kind, cost, signed.get(case.id)))
    frame = pd.DataFrame(rows, columns=list(GUARDS.columns))
    frame = frame.astype({"runs_needed": "Int64", "looks": "Int64", "cost_estimate": float})
    return frame.sort_values(["kind", "id"], kind="stable", ignore_index=True)


def _row(found: PromotionResult, status: str, cost: float | None, signed: str | None) -> dict[str, Any]:
    decision = found.decision
    needed = decision.runs_needed
    looks = found.evidence["looks"].dropna() if "looks" in found.evidence else pd.Series(dtype=float)
    return {
        "id": found.guard_id,
        "kind": found.guard_kind,
        "verdict": decision.verdict,
        "reason": decision.reason,
        "runs_needed": needed,
        "cost_estimate": None if needed is None or cost is None else needed * cost,
        "looks": (int(looks.max()) if len(looks) else 0) + len(found.looks),
        "last_decision": signed,
        "status": status,
        "note": decision.reasons[0] if decision.reasons else "",
    }


def _mean_cost(tables: ForwardVerbs) -> float | None:
    found = tables.sql("SELECT avg(cost_usd) AS cost FROM replays WHERE cost_usd IS NOT NULL")["cost"]
    return None if found.isna().all() else float(found.iloc[0])


def _signed(side: AgentSide) -> dict[str, str]:
    """Return the newest signed decision about each subject that was not taken back."""
    decisions, _ = read_decisions(side.root)
    gone = {one.supersedes for one in decisions if one.supersedes}
    return {one.subject: one.decision_id for one in decisions if one.subject and one.decision_id not in gone}


def plan_of(
    tables: ForwardVerbs, side: AgentSide, guard_id: str, policy: str | PromotionPolicy, *, draws: int, seed: int
) -> pd.DataFrame:
    """Return what a trial of a rule would cost and could tell; see `harnesskit.guard_verbs.GuardVerbs.plan`."""
    from harnesskit.measures.promotion_trial import judging_policy
    from harnesskit.promotion_run import prepared
    from harnesskit.trials.promotion_plan import PROMOTION_PLAN, plan_frame

    rule = rule_of(side, guard_id)
    asked = Asked(judging_policy(policy, by="plan()"), tables.metrics, seed=seed, given=tables.given)
    frozen = prepared(side, rule, asked)
    if frozen is None:
        return pd.DataFrame(columns=list(PROMOTION_PLAN.columns))
    return plan_frame(frozen, cost=_mean_cost(tables), draws=draws)
