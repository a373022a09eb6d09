"""Trials of rules that there are: which one is gone on with, what came before, and what of the error is left."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from harnesskit.agent_side import AgentSide
from harnesskit.model.errors import WorkspaceError
from harnesskit.model.identity import identity_of
from harnesskit.model.metrics import Metrics
from harnesskit.model.promotion_policy import PromotionPolicy
from harnesskit.model.records import RuleRecord
from harnesskit.model.replay import ReplayError
from harnesskit.promotion import PromotionResult, read_trial
from harnesskit.replays.setup import Record
from harnesskit.trials.adaptive_regression import INTERRUPTED, TIME_LIMIT
from harnesskit.trials.promotion_frozen import FrozenPromotion, policy_hash, text_hash
from harnesskit.trials.promotion_pending import undecided
from harnesskit.trials.promotion_setup import arms, fingerprint_of
from harnesskit.trials.win import CANDIDATE
from harnesskit.workspace.clock import Clock, utc_now
from harnesskit.workspace.reading import to_json
from harnesskit.workspace.rows import RunRow
from harnesskit.workspace.runs import read_run_row, run_folders

GOES_ON = (None, INTERRUPTED, TIME_LIMIT)
"""How a trial ended that may be gone on with; None: it was killed."""


@dataclass(frozen=True)
class Asked:
    """What a trial is asked to be.

    Attributes
    ----------
    policy
        As the user asked for it.
    alpha
        Its share of the error when several candidates are tried together; the policy's own when None.
    family
        How they share it.
    """

    policy: PromotionPolicy
    metrics: Metrics
    seed: int = 0
    target: str | None = None
    time_limit_s: float | None = None
    resume: str | None = None
    concurrency: int = 1
    label: str | None = None
    sentinels: int | None = None
    blocking: bool = False
    clock: Clock = utc_now
    alpha: float | None = None
    family: Mapping[str, Any] = field(default_factory=dict)
    given: str = ""


def trials_of(root: Path, rule_id: str | None = None) -> list[RunRow]:
    """Return the trials of a rule (of all rules when None), oldest first."""
    rows = [row for row in map(read_run_row, run_folders(root)) if row.role == "candidate" and row.rule_id]
    kept = [row for row in rows if rule_id in (None, row.rule_id) and _is_trial(row)]
    return sorted(kept, key=lambda row: (str(row.started_at), row.run_id))


def _is_trial(row: RunRow) -> bool:
    return isinstance(json.loads(row.parameters or "{}").get("promotion"), dict)


def lineage_of(rows: Sequence[RunRow]) -> tuple[dict[str, Any], ...]:
    """Return what a later trial says of earlier ones, oldest first."""
    found = []
    for row in rows:
        parameters = json.loads(row.parameters or "{}")
        rule, verdict = parameters["promotion"]["rule"], parameters.get("verdict") or {}
        found.append(
            {
                "run_id": row.run_id,
                "started_at": None if row.started_at is None else row.started_at.isoformat(),
                "sha256": rule["sha256"],
                "text": rule["text"],
                "policy": parameters.get("policy"),
                "replays": parameters.get("replays"),
                "verdict": verdict.get("verdict"),
                "reason": verdict.get("reason"),
                "stopped": parameters.get("stopped"),
            }
        )
    return tuple(found)


def begun_trial(
    side: AgentSide, rule: RuleRecord, asked: Asked
) -> tuple[RunRow, FrozenPromotion, list[Record]] | PromotionResult | None:
    """Return the trial to go on with: the one named, else an unfinished one of the same text and policy; else None."""
    rows = [row for row in trials_of(side.root, rule.rule_id) if asked.resume in (None, row.run_id)]
    if asked.resume is not None and not rows:
        raise WorkspaceError(f"There is no trial {asked.resume!r} of rule {rule.rule_id!r} under {side.root}.")
    for row in reversed(rows):
        why = _unfit(side, rule, asked, row)
        if why is None:
            _, frozen, records = read_trial(side.root, row.run_id)
            return (row, frozen, records) if frozen is not None else None
        if asked.resume is not None:
            if why.startswith("the fingerprint"):
                return pending(asked, rule, "fingerprint_mismatch", f"trial {row.run_id} cannot be gone on with: {why}")
            raise ReplayError(f"cannot resume trial {row.run_id!r}: {why}. Start a new one.")
    return None


def _unfit(side: AgentSide, rule: RuleRecord, asked: Asked, row: RunRow) -> str | None:
    """Return why a trial cannot be gone on with, None when it can."""
    parameters = json.loads(row.parameters or "{}")
    frozen = parameters["promotion"]
    known = {case.id for case in side.evalset.cases() if case.replayable}
    gone = [case for case in (*frozen["failures"], *frozen["wins"]) if case not in known]
    setups = arms(rule, side.rules.rules(), replay_of(side), common_of(side))
    if parameters.get("stopped") not in GOES_ON:
        return f"it has ended ({parameters['stopped']})"
    if frozen["rule"]["sha256"] != text_hash(rule.rule):
        return "the text of the rule changed"
    if parameters.get("asked") != policy_hash(asked.policy) and asked.resume is None:
        return "it was made under another policy"
    if json.loads(row.fingerprint or "{}") != json.loads(
        to_json(fingerprint_of(side.agent.fingerprint, setups[CANDIDATE]))
    ):
        return "the fingerprint of the agent, or the rules that it can find, changed"
    if parameters.get("identity") != identity(side):
        return "the replay function, the scorer or the verifier changed"
    return f"case {gone[0]!r} is gone" if gone else None


def error_budget(
    asked: Asked, rule: RuleRecord, earlier: list[RunRow]
) -> tuple[PromotionPolicy, dict[str, Any], tuple[str, ...]]:
    """Return the policy of this trial: its share of the round, halved for every trial that this text had before."""
    again = [row for row in earlier if text_of(row) == text_hash(rule.rule) and _replays(row)]
    alpha = (asked.policy.alpha if asked.alpha is None else asked.alpha) / 2 ** len(again)
    family = {**asked.family, "trial": len(again) + 1, "alpha": alpha}
    notes = list(asked.family.get("notes", ()))
    family.pop("notes", None)
    if again:
        notes.append(
            f"This is trial {len(again) + 1} of this text; {', '.join(row.run_id for row in again)} came before. It is "
            f"tested at {alpha:g}, half of the last one, so that trying again and again promotes no useless rule."
        )
    changed = [row for row in earlier if text_of(row) != text_hash(rule.rule)]
    if changed:
        notes.append(f"{len(changed)} earlier trials were of another text of this rule; they count for nothing here.")
    policy = asked.policy if alpha == asked.policy.alpha else asked.policy.model_copy(update={"alpha": alpha})
    return policy, family, tuple(notes)


def stale_since(trials: list[RunRow], fingerprint: Mapping[str, Any]) -> datetime | None:
    """Return when the bank of a fingerprint was last found to be stale."""
    found = []
    for row in trials:
        parameters = json.loads(row.parameters or "{}")
        stale = (parameters.get("verdict") or {}).get("reason") == "stale_control"
        if stale and parameters["promotion"]["baseline"].get("fingerprint") == json.loads(to_json(fingerprint)):
            found.append(row.started_at)
    return max((at for at in found if at is not None), default=None)


def pending(
    asked: Asked, rule: RuleRecord, reason: str, note: str, remarks: Sequence[str] = (), needed: int | None = None
) -> PromotionResult:
    """Return the verdict on a rule that nothing was replayed for: pending, with its reason."""
    decision, evidence = undecided(rule.rule_id, reason, note, asked.policy, remarks, needed)
    return PromotionResult(rule.rule_id, "rule", decision, evidence, root=asked.given)


def common_of(side: AgentSide) -> dict[str, Any]:
    """Return what the attempts of both arms have in common: scorer, verifier, limits."""
    config = side.config
    return {
        "scorer": side.agent.scorer, "verifier": side.agent.verifier, "timeout_s": config.replay_timeout_s,
        "env_wait_s": max(0.0, config.replay_env_wait_timeout_s),
    }  # fmt: skip


def identity(side: AgentSide) -> dict[str, Any]:
    """Return what a trial is made with, as texts that change when it does."""
    agent = side.agent
    parts = {"replay": agent.replay, "scorer": agent.scorer, "verifier": agent.verifier}
    return {name: identity_of(part) for name, part in parts.items()}


def text_of(row: RunRow) -> str:
    """Return the hash of the text that was tried."""
    return str(json.loads(row.parameters or "{}")["promotion"]["rule"]["sha256"])


def _replays(row: RunRow) -> int:
    """Return the replays of an earlier trial; one that was killed and never counted counts as one."""
    return int(json.loads(row.parameters or "{}").get("replays", 1))


def replay_of(side: AgentSide) -> Any:
    """Return the replay function; whoever asks has seen that there is one."""
    return side.agent.replay
