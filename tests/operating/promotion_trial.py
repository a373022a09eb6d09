"""Trials of rules of known worth through the real runner and the public functions; and what the reference says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from harnesskit.model.case import EvalCase
from harnesskit.model.config import HarnessConfig
from harnesskit.model.metrics import Metrics
from harnesskit.model.promotion_policy import PromotionPolicy
from harnesskit.model.records import RuleRecord
from harnesskit.replays.setup import Record, Trial
from harnesskit.trials.frozen import ControlRun
from harnesskit.trials.promotion_frozen import FrozenPromotion
from harnesskit.trials.promotion_replays import PromotionRun
from harnesskit.trials.promotion_states import PromotionStates
from harnesskit.trials.promotion_verdict import judge_trial
from harnesskit.trials.replay_verdict import ReplayedCase, judge_replays
from harnesskit.trials.replayer import finish
from harnesskit.workspace.rows import SampleRow, ScoreRow
from tests.operating.promotion_fast import Played
from tests.operating.promotion_world import Candidate, PromotionWorld

RULE = RuleRecord(rule_id="r-1", status="candidate", rule="Look twice.", metric="m0", failure_signatures=("breach:m0",))
CONFIG = HarnessConfig.from_env({})


def names_of(world: PromotionWorld) -> list[str]:
    """Return the metrics of a world, the target first."""
    return [f"m{k}" for k in range(world.k)]


@dataclass
class SimulatedRule:
    """Replays with and without a rule that take their scores from a draw, in the place of the user's functions."""

    candidate: Candidate
    names: Sequence[str]
    used: dict[tuple[str, str], int] = field(default_factory=dict)

    async def make(self, trials: Sequence[Trial], arm: str, sink) -> None:
        drawn, ours = self.candidate, arm == "candidate"
        for trial in trials:
            case_id = trial.case.id
            turn = self.used[arm, case_id] = self.used.get((arm, case_id), -1) + 1
            failures, wins = (
                (drawn.failure_rule, drawn.win_rule) if ours else (drawn.failure_control, drawn.win_control)
            )
            row = (failures if case_id.startswith("f") else wins)[int(case_id[1:]), turn]
            sample_id = f"r/{case_id}/{arm}/{trial.trial}.{trial.attempt}"
            sample = SampleRow(
                sample_id, "r", case_id, arm=arm, trial=trial.trial, attempt=trial.attempt,
                candidate_surfaced=True if ours else None,
            )  # fmt: skip
            scores = [ScoreRow(sample_id, name, "judge", None, float(v), "ok", None)
                      for name, v in zip(self.names, row, strict=True)]  # fmt: skip
            sink(sample, scores)


def frozen_of(world: PromotionWorld, candidate: Candidate, policy: PromotionPolicy, seed: int) -> FrozenPromotion:
    """Return what a trial of the candidate fixes before its first replay."""
    names = names_of(world)

    def banked(prefix: str, bank: np.ndarray) -> dict[str, tuple[ControlRun, ...]]:
        return {
            f"{prefix}{i}": tuple(
                ControlRun(f"b/{prefix}{i}/{j}", dict(zip(names, row, strict=True))) for j, row in enumerate(runs)
            )
            for i, runs in enumerate(bank.tolist())
        }

    controls = banked("f", candidate.failure_bank) | banked("w", candidate.win_bank)
    if not world.bank:
        for i, row in enumerate(candidate.captured.tolist()):
            controls[f"w{i}"] = (ControlRun(f"c/w{i}", dict(zip(names, row, strict=True)), "captured"),)
    return FrozenPromotion(
        rule={"id": RULE.rule_id, "text": RULE.rule, "sha256": "0" * 64}, policy=policy, target=names[0],
        failures=tuple(f"f{i}" for i in range(world.failures)), wins=tuple(f"w{i}" for i in candidate.order.tolist()),
        metrics=Metrics(()), n_wins=world.wins, guard_metrics=tuple(names), controls=controls,
        prior_sd=world.believed, noise="given", seed=seed,
    )  # fmt: skip


def run_candidate(world: PromotionWorld, candidate: Candidate, policy: PromotionPolicy, seed: int) -> Played:
    """Return how the trial of one candidate ends: made by the runner, judged by the public functions."""
    frozen = frozen_of(world, candidate, policy, seed)
    cases = {
        case_id: EvalCase(id=case_id, kind=kind, signature=("breach:m0",), replay_input={})
        for case_id, kind in frozen.kinds.items()
    }
    records: list[Record] = []
    run = PromotionRun(
        PromotionStates(frozen), cases, SimulatedRule(candidate, names_of(world)),
        lambda sample, scores: records.append(Record(sample, scores)),
    )  # fmt: skip
    stopped = finish(run.go())
    decision = judge_trial(frozen, records, stopped=stopped, whole=False).decision
    tested = [one for one in records if (one.sample.case_id or "").startswith("f")]
    seen = {
        one.sample.case_id
        for one in records
        if one.sample.case_id not in frozen.failures and one.sample.arm == "candidate"
    }
    return Played(decision.verdict, len(records), decision.reason, len(tested), len(seen))


def reference_verdict(candidate: Candidate, *, wins: bool = True) -> str:
    """Return the reference's verdict: one replay of three failures and, if there are any, two wins."""
    replayed = [
        *_replayed("failure", candidate.failure_captured, candidate.failure_rule, range(len(candidate.failure_rule))),
        *(_replayed("win", candidate.captured, candidate.win_rule, candidate.order[:2].tolist()) if wins else ()),
    ]
    failures = [
        EvalCase(id=case.case_id, kind="failure", signature=("breach:m0",))
        for case in replayed
        if case.kind == "failure"
    ]
    return judge_replays(RULE, failures, replayed, CONFIG).outcome


def _replayed(kind: str, before: np.ndarray, after: np.ndarray, places) -> list[ReplayedCase]:
    found = []
    for i in places:
        deltas = {f"m{k}": float(d) for k, d in enumerate(after[i, 0] - before[i])}
        found.append(ReplayedCase(f"{kind[0]}{i}", kind, "scored", f"s-{kind}-{i}", True, deltas))
    return found
