"""The trials of the demo: four candidate rules with planted effects, tried by the real runner on drawn replays."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from harnesskit.demo_world.cases import DemoCase
from harnesskit.demo_world.draws import generator
from harnesskit.demo_world.replays import FINGERPRINT, Replayer, run_row
from harnesskit.demo_world.rules import DemoRule
from harnesskit.model.config import HarnessConfig
from harnesskit.model.metrics import Metrics
from harnesskit.model.promotion_policy import PromotionPolicy
from harnesskit.promotion import judge_promotion
from harnesskit.replays.engine import Sink
from harnesskit.replays.setup import Trial
from harnesskit.trials.bank import bank_of
from harnesskit.trials.promotion_cases import choose_cases
from harnesskit.trials.promotion_frozen import policy_hash
from harnesskit.trials.promotion_replays import PromotionRun
from harnesskit.trials.promotion_setup import PromotionSetup, fingerprint_of
from harnesskit.trials.promotion_states import PromotionStates
from harnesskit.trials.replayer import finish
from harnesskit.trials.win import CANDIDATE
from harnesskit.workspace.declarations import read_declarations
from harnesskit.workspace.evalset_store import EvalSet
from harnesskit.workspace.reading import to_json
from harnesskit.workspace.rule_book import RuleBook
from harnesskit.workspace.runs import create_run

BENEFIT, HARM = 0.20, -0.25
SURFACED = 0.9
"""Share of candidate replays that read the rule; the benefit is the mean over all of them, read or not."""
SPILL = 0.25
"""Share of its benefit that a rule brings to the metrics that it is not about."""


@dataclass(frozen=True)
class RulePlan:
    """What is true of a rule, and when and for how long it was tried."""

    benefit: float
    harmed: int
    started_at: datetime
    time_limit_s: float | None = None


PLANS = {
    "good": RulePlan(BENEFIT, 0, datetime(2026, 6, 27, 8, tzinfo=UTC)),
    "useless": RulePlan(0.0, 0, datetime(2026, 6, 28, 8, tzinfo=UTC)),
    "harmful": RulePlan(BENEFIT, 9, datetime(2026, 6, 29, 8, tzinfo=UTC)),
    "thin": RulePlan(BENEFIT, 0, datetime(2026, 6, 30, 8, tzinfo=UTC), 90.0),
}
"""Benefit on the metric that the rule is about; wins that it harms; the thin trial was ended by its time limit."""


@dataclass
class DrawnReplays:
    """Attempts with and without a rule, drawn from what is true of the case and of the rule."""

    replayer: Replayer
    cases: Mapping[str, DemoCase]
    rule: DemoRule
    plan: RulePlan
    harmed: frozenset[str] = field(default_factory=frozenset)

    async def make(self, trials: Sequence[Trial], arm: str, sink: Sink) -> None:
        """Draw an attempt for each of `trials`; what the rule does, it does only where it was read."""
        for trial in trials:
            case = self.cases[trial.case.id]
            read = bool(self.replayer.rng.random() < SURFACED) if arm == CANDIDATE else None
            place: dict[str, Any] = {"arm": arm, "trial": trial.trial, "attempt": trial.attempt}
            sink(*self.replayer.attempt(case, self._shift(case) if read else {}, candidate_surfaced=read, **place))

    def _shift(self, case: DemoCase) -> dict[str, float]:
        if case.kind == "win":
            return dict.fromkeys(case.means, HARM / SURFACED) if case.case_id in self.harmed else {}
        own = self.rule.metric
        return {metric: (1.0 if metric == own else SPILL) * self.plan.benefit / SURFACED for metric in case.means}


def write_trials(root: Path, seed: int, cases: list[DemoCase], rules: list[DemoRule]) -> None:
    """Write one run ``rule-<name>`` for each of `PLANS`: what is replayed, and when it ends, the runner decides."""
    for name, plan in PLANS.items():
        rule = next(rule for rule in rules if rule.name == name)
        rng = generator(seed, f"rule-{name}")
        wins = [case.case_id for case in cases if case.kind == "win" and case.replayable and not case.flaky]
        harmed = frozenset(str(one) for one in rng.permutation(wins)[: plan.harmed])
        replayer = Replayer(rng, f"rule-{name}", plan.started_at)
        _try(root, DrawnReplays(replayer, {case.case_id: case for case in cases}, rule, plan, harmed))


def _try(root: Path, replays: DrawnReplays) -> None:
    plan, replayer = replays.plan, replays.replayer
    setup = _setup(root, replays.rule.rule_id)
    frozen = setup.frozen()
    if frozen is None:
        raise ValueError(f"nothing to try {replays.rule.rule_id} on")
    parameters: dict[str, Any] = {
        "total": len(frozen.kinds), "policy": frozen.policy.label, "asked": policy_hash(frozen.policy),
        "identity": {"replay": "drawn", "scorer": "drawn", "verifier": None}, "promotion": frozen.plain(),
    }  # fmt: skip
    row = run_row(
        replayer.run_id, CANDIDATE, f"Trial of: {replays.rule.rule}", plan.started_at,
        rule_id=replays.rule.rule_id, policy=to_json(frozen.policy.plain()), parameters=to_json(parameters),
        fingerprint=to_json(fingerprint_of(FINGERPRINT, setup.setups()[CANDIDATE])),
    )  # fmt: skip
    writer = create_run(root, row)
    known = {case.id: case for case in setup.chosen.cases}
    run = PromotionRun(
        PromotionStates(frozen), known, replays, writer.append,
        time_limit_s=plan.time_limit_s, clock=lambda: replayer.at.timestamp(),
    )  # fmt: skip
    parameters["stopped"] = finish(run.go())
    writer.finish(replayer.at, parameters=to_json(parameters))
    decision = judge_promotion(root, replayer.run_id, whole=False).decision
    parameters |= {
        "replays": replayer.number,
        "verdict": {"verdict": decision.verdict, "reason": decision.reason, "evidence_hash": decision.evidence_hash},
    }
    writer.finish(replayer.at, parameters=to_json(parameters))


def _setup(root: Path, rule_id: str) -> PromotionSetup:
    """Return what `Harness.validate` would try the rule with."""
    config = HarnessConfig.from_env({}, harness_root=root)
    book, evalset = RuleBook(root, config), EvalSet(root, config)
    rule = book.get(rule_id)
    if rule is None:
        raise ValueError(f"no rule {rule_id}")
    policy = PromotionPolicy.budgeted()
    bank = bank_of(root, json.loads(to_json(FINGERPRINT)))
    return PromotionSetup(
        root, rule, book.rules(), choose_cases(rule, evalset, policy, 0), policy,
        Metrics(read_declarations(root).metrics), _replay, {"scorer": None}, fingerprint=FINGERPRINT, bank=bank,
        facts={"family": {"trial": 1, "alpha": policy.alpha}},
    )  # fmt: skip


def _replay(case: object, context: object) -> str:
    """Stand in for the user's function: attempts are drawn by `DrawnReplays`."""
    raise NotImplementedError
