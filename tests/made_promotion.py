"""A workspace with a candidate rule, and an agent that the rule helps or harms by a planted amount."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import harnesskit as hk
from harnesskit import Harness, HarnessConfig, ReplayResult

METRICS = ("q", "r")
RULE = "Look the order up with get_order before anything is refunded."


class RuleAgent:
    """Replays with noise of its own, drawn from case, arm and trial: the same whenever they are made.

    The rule is read through the tools of the context. `effect` is added to failures where it is found, `harm` taken
    from the wins named in `harmed`; `reads` is the chance that the rules are looked at.
    """

    replay_identity = "agent"

    def __init__(
        self,
        effect: float = 0.0,
        *,
        harm: float = 0.0,
        harmed: tuple[str, ...] = (),
        reads: float = 1.0,
        sd: float = 0.10,
        name: str = "",
        shift: float = 0.0,
        stop_after: int | None = None,
    ) -> None:
        self.effect, self.harm, self.harmed, self.reads = effect, harm, harmed, reads
        self.sd, self.name, self.shift, self.stop_after = sd, name, shift, stop_after
        self.calls: list[tuple[str, str | None]] = []

    def __call__(self, case: Any, context: Any) -> ReplayResult:
        rule = context.candidate_rule_id
        if self.stop_after is not None and len(self.calls) >= self.stop_after:
            raise KeyboardInterrupt
        self.calls.append((case.replay_input["n"], rule))
        draw = random.Random(f"{self.name}/{case.replay_input['n']}/{rule is not None}/{context.trial}")
        found = draw.random() < self.reads and self._found(context, rule)
        failure = case.replay_input["kind"] == "failure"
        base = (0.45 if failure else 0.85) + self.shift
        if found and failure:
            base += self.effect
        if found and case.replay_input["n"] in self.harmed:
            base -= self.harm
        scores = {metric: min(1.0, max(0.0, base + draw.gauss(0, self.sd))) for metric in METRICS}
        return ReplayResult(f"{len(self.calls)}-{draw.random()}", scores=scores, output=f"{base:.2f}", cost_usd=0.02)

    @staticmethod
    def _found(context: Any, rule: str | None) -> bool:
        answer = json.loads(context.task_tools.call("harness_rules_search", {"query": "order refund"}))
        return rule is not None and rule in [one["id"] for one in answer["rules"]]


def workspace(root: Path, replay: Any, *, failures: int = 3, wins: int = 8, fingerprint: Any = "v1") -> Harness:
    """The harness of a workspace with so many cases and, at first, one candidate rule."""
    harness = Harness.create(
        HarnessConfig.from_env({}, harness_root=root), replay=replay, scorer=lambda session: {}, fingerprint=fingerprint
    )
    known = len(harness.evalset.cases())
    for n in range(known, failures + wins):
        kind = "failure" if n < failures else "win"
        harness.evalset.capture(
            session_id=f"s-{n}",
            kind=kind,
            signature=("breach:q",) if kind == "failure" else ("healthy",),
            baseline_scores=dict.fromkeys(METRICS, 0.3 if kind == "failure" else 0.9),
            replay_input={"n": str(n), "kind": kind},
        )
    if not harness.rules.rules():
        harness.rules.add(RULE, metric="q", signatures=("breach:q",))
    return harness


def rule_id(harness: Harness) -> str:
    """The id of the first rule."""
    return harness.rules.rules()[0].rule_id


def banked(root: Path, runs: int = 5, **world: Any) -> None:
    """A control bank of so many runs of every case."""
    harness = workspace(root, RuleAgent(), **world)
    hk.replay(
        harness.evalset.cases(), RuleAgent(name="bank"), role="control", trials=runs, root=root, fingerprint="v1",
        progress=False, seed=5,
    )  # fmt: skip
