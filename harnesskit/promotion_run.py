"""A trial of a rule through the user's own agent: prepared, recorded as it goes, gone on with, judged by its files."""

from __future__ import annotations

import json
import time
import uuid
from dataclasses import replace
from datetime import timedelta

from harnesskit.agent_side import AgentSide
from harnesskit.model.errors import LockedError, WorkspaceError, nearest
from harnesskit.model.promotion_policy import PromotionPolicy
from harnesskit.model.records import RuleRecord
from harnesskit.promotion import PromotionResult, judge_promotion, read_trial
from harnesskit.promotion_trials import (
    Asked,
    begun_trial,
    common_of,
    error_budget,
    identity,
    lineage_of,
    pending,
    replay_of,
    stale_since,
    text_of,
    trials_of,
)
from harnesskit.replays.progress import progress
from harnesskit.replays.setup import Record
from harnesskit.trials.adaptive_regression import INTERRUPTED, TIME_LIMIT
from harnesskit.trials.bank import Bank, bank_of
from harnesskit.trials.promotion_cases import Chosen, choose_cases
from harnesskit.trials.promotion_frozen import FrozenPromotion, policy_hash, text_hash
from harnesskit.trials.promotion_replays import PromotionRun
from harnesskit.trials.promotion_rows import made
from harnesskit.trials.promotion_setup import SENTINELS, PromotionSetup, arms, fingerprint_of
from harnesskit.trials.promotion_states import PromotionStates
from harnesskit.trials.win import CANDIDATE, CONTROL
from harnesskit.workspace.layout import OURS
from harnesskit.workspace.locking import hold
from harnesskit.workspace.reading import to_json
from harnesskit.workspace.rows import RunRow
from harnesskit.workspace.runs import RunWriter, create_run, resume_run
from harnesskit.workspace.safe_names import safe_name

GOES_ON = (None, INTERRUPTED, TIME_LIMIT)
"""How a trial ended that may be gone on with; None: it was killed."""
OLD = timedelta(days=7)
"""Age of a control bank from which some of its wins are replayed in control first."""


def rule_of(side: AgentSide, rule_id: str) -> RuleRecord:
    """Return a rule.

    Raises
    ------
    WorkspaceError
        There is no such rule.
    """
    rule = side.rules.get(rule_id) if isinstance(rule_id, str) else None
    if rule is None:
        known = [one.rule_id for one in side.rules.rules()]
        raise WorkspaceError(
            f"There is no rule {rule_id!r} in {side.root}{nearest(str(rule_id), known)}; "
            f"the workspace has {len(known)} rules."
        )
    return rule


def cases_of(side: AgentSide, rule: RuleRecord, policy: PromotionPolicy, seed: int) -> Chosen:
    """Return the cases that a rule is tried on."""
    return choose_cases(rule, side.evalset, policy, seed)


async def trial(side: AgentSide, rule: RuleRecord, asked: Asked, *, shared: Bank | None = None) -> PromotionResult:
    """Try a rule, or go on with a trial of it, and return the verdict; a trial being made elsewhere is left alone.

    Parameters
    ----------
    side, rule, asked
        The agent, the rule, and how it is to be tried.
    shared
        Control runs of the same round, for an agent without a fingerprint.
    """
    lock = side.root / OURS / "cache" / f"trial-{safe_name(rule.rule_id)}.lock"
    try:
        with hold(lock, f"try rule {rule.rule_id}", timeout_s=0.0):
            return await _trial(side, rule, asked, shared)
    except LockedError as error:
        return pending(asked, rule, "trial_in_progress", f"a trial of this rule is being made now: {error}")


async def _trial(side: AgentSide, rule: RuleRecord, asked: Asked, shared: Bank | None) -> PromotionResult:
    chosen = cases_of(side, rule, asked.policy, asked.seed)
    if not chosen.failures and asked.resume is None:
        note = "no replayable failure of the eval set shares a label with the rule"
        return pending(asked, rule, "no_matching_replayable_case", note)
    begun = begun_trial(side, rule, asked)
    if isinstance(begun, PromotionResult):
        return begun
    if begun is None:
        setup = _setup(side, rule, asked, chosen, shared)
        frozen = setup.frozen()
        if frozen is None:
            note = "neither the rule nor its failures name a metric; name one with target_metric="
            return pending(asked, rule, "replay_inconclusive", note)
        writer, earlier = _new_run(side, setup, frozen, asked), list[Record]()
    else:
        row, frozen, earlier = begun
        setup, writer = _setup(side, rule, asked, chosen, shared), resume_run(side.root, row.run_id)
        setup = replace(setup, seed=frozen.seed)
    stopped = await _go(side, setup, frozen, writer, earlier, asked)
    return _finished(side, writer, stopped, asked)


def _setup(side: AgentSide, rule: RuleRecord, asked: Asked, chosen: Chosen, shared: Bank | None) -> PromotionSetup:
    rules, fingerprint = side.rules.rules(), side.agent.fingerprint
    setups = arms(rule, rules, replay_of(side), common_of(side))
    bank = shared or Bank()
    trials = trials_of(side.root)
    if fingerprint is not None:
        named = fingerprint_of(fingerprint, setups[CONTROL])
        bank = bank_of(side.root, json.loads(to_json(named)), since=stale_since(trials, named))
    same = [row for row in trials if row.rule_id == rule.rule_id or text_of(row) == text_hash(rule.rule)]
    policy, family, notes = error_budget(asked, rule, same)
    return PromotionSetup(
        side.root, rule, rules, chosen, policy, asked.metrics, replay_of(side), common_of(side),
        fingerprint=fingerprint, seed=asked.seed, bank=bank, target=asked.target,
        sentinels=_sentinels(asked, bank, side),
        facts={"family": family, "lineage": lineage_of(same), "notes": notes},
    )  # fmt: skip


def prepared(side: AgentSide, rule: RuleRecord, asked: Asked) -> FrozenPromotion | None:
    """Return what a trial would fix before its first replay; None when the rule cannot be tried."""
    chosen = cases_of(side, rule, asked.policy, asked.seed)
    return _setup(side, rule, asked, chosen, None).frozen() if chosen.failures else None


def _sentinels(asked: Asked, bank: Bank, side: AgentSide) -> int:
    """Return how many banked wins to replay in control first: some when the newest control run is a week old."""
    if asked.sentinels is not None or not bank.run_ids:
        return asked.sentinels or 0
    from harnesskit.workspace.runs import read_run_row, run_folder

    rows = [read_run_row(run_folder(side.root, run_id)) for run_id in bank.run_ids]
    ends = [at for row in rows if (at := row.finished_at or row.started_at) is not None]
    return SENTINELS if ends and asked.clock() - max(ends) > OLD else 0


def _new_run(side: AgentSide, setup: PromotionSetup, frozen: FrozenPromotion, asked: Asked) -> RunWriter:
    now = asked.clock()
    parameters = {
        "total": len(frozen.kinds), "policy": frozen.policy.label, "asked": policy_hash(asked.policy),
        "identity": identity(side), "promotion": frozen.plain(),
    }  # fmt: skip
    row = RunRow(
        f"trial-{now:%Y%m%dT%H%M%SZ}-{uuid.uuid4().hex[:6]}",
        "candidate",
        label=asked.label,
        rule_id=frozen.rule_id,
        started_at=now,
        policy=to_json(frozen.policy.plain()),
        parameters=to_json(parameters),
        fingerprint=to_json(fingerprint_of(setup.fingerprint, setup.setups()[CANDIDATE])),
    )
    return create_run(setup.root, row)


async def _go(
    side: AgentSide,
    setup: PromotionSetup,
    frozen: FrozenPromotion,
    writer: RunWriter,
    earlier: list[Record],
    asked: Asked,
) -> str:
    cases = {case.id: case for case in side.evalset.cases() if case.id in frozen.kinds}
    used = [one.sample.session_id for one in earlier if one.sample.session_id]
    with progress(frozen.policy.budget, wanted=True) as step:
        run = PromotionRun(
            PromotionStates(frozen),
            cases,
            setup.replays(writer.row.run_id, blocking=asked.blocking, concurrency=asked.concurrency, used=used),
            writer.append,
            earlier,
            concurrency=asked.concurrency,
            time_limit_s=asked.time_limit_s,
            clock=time.monotonic,
            step=step,
        )
        return await run.go()


def _finished(side: AgentSide, writer: RunWriter, stopped: str, asked: Asked) -> PromotionResult:
    """Close the run, judge it from its files, and keep the verdict beside it for those who list trials."""
    parameters = {**json.loads(writer.row.parameters or "{}"), "stopped": stopped}
    writer.finish(asked.clock(), parameters=to_json(parameters))
    result = judge_promotion(side.root, writer.row.run_id, given=asked.given)
    decision = result.decision
    parameters |= {
        "replays": len(made(read_trial(side.root, writer.row.run_id)[2])),
        "verdict": {"verdict": decision.verdict, "reason": decision.reason, "evidence_hash": decision.evidence_hash},
    }
    writer.finish(writer.row.finished_at, parameters=to_json(parameters))
    return result
