"""A case on its way to a win through an agent: how long it is run, what is kept, and what goes on later."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import harnesskit as hk
from harnesskit.model.errors import WorkspaceError
from harnesskit.model.metrics import Metric, Metrics
from harnesskit.model.promotion_policy import PromotionPolicy
from harnesskit.promotion_trials import Asked
from harnesskit.trials.bank import bank_of
from harnesskit.trials.replayer import finish
from harnesskit.trials.win_promotion import DECIDED, NO_THRESHOLD, NOTHING, SPENT
from harnesskit.win_run import judge_case, trials_of_case, win_trial

METRICS = Metrics((Metric("quality", threshold=0.7),))


class Agent:
    """Replays that score what they are told to, one after another."""

    def __init__(self, scores: list[float | None]) -> None:
        self.scores, self.calls = scores, 0

    def __call__(self, case, context) -> hk.ReplayResult:
        value = self.scores[min(self.calls, len(self.scores) - 1)]
        self.calls += 1
        return hk.ReplayResult(f"again-{id(self)}-{self.calls}", scores={} if value is None else {"quality": value})


def harness(root: Path, agent: Agent, fingerprint: str | None = "v1") -> hk.Harness:
    made = hk.Harness.create(
        hk.HarnessConfig(harness_root=str(root), capture_eval_cases=True), replay=agent, fingerprint=fingerprint
    )
    if not made.evalset.cases():
        made.evalset.capture(
            session_id="s-1", kind="failure", signature=("breach:quality",), baseline_scores={"quality": 0.2},
            replay_input={"task": "refund"},
        )  # fmt: skip
    return made


def tried(made: hk.Harness, **how):
    case = made.evalset.cases()[0]
    asked = Asked(PromotionPolicy(), METRICS, blocking=True)
    return finish(win_trial(made._side, case.id, asked, **how))


@pytest.mark.parametrize(
    ("scores", "verdict", "calls", "stopped"),
    [
        ([0.9], "promote", 7, DECIDED),
        ([0.2], "retire", 5, DECIDED),
        ([0.2] + [0.9] * 14, "promote", 14, DECIDED),
        ([0.9, 0.2, 0.9, 0.2, 0.9], "retire", 5, DECIDED),
    ],
)
def test_a_case_is_run_until_it_is_decided(
    tmp_path: Path, scores: list[float | None], verdict: str, calls: int, stopped: str
):
    agent = Agent(scores)
    found = tried(harness(tmp_path, agent))
    assert (found.verdict, agent.calls, found.stopped, found.guard_kind) == (verdict, calls, stopped, "case")


def test_the_runs_are_the_control_bank_of_the_case(tmp_path: Path):
    made = harness(tmp_path, Agent([0.9]))
    found = tried(made)
    bank = bank_of(tmp_path, dict(found.fingerprint))
    assert len(bank.runs[found.guard_id]) == 7


def test_the_stored_runs_give_the_same_verdict(tmp_path: Path):
    found = tried(harness(tmp_path, Agent([0.9])))
    again = judge_case(tmp_path, found.run_id)
    assert again.decision.evidence_hash == found.decision.evidence_hash
    assert again.decision.reasons == found.decision.reasons


def test_a_decided_case_is_not_run_again(tmp_path: Path):
    agent = Agent([0.9])
    tried(harness(tmp_path, agent))
    assert tried(harness(tmp_path, agent)).verdict == "promote"
    assert agent.calls == 7
    assert len(trials_of_case(tmp_path, harness(tmp_path, agent).evalset.cases()[0].id)) == 1
    other = Agent([0.9])
    assert tried(harness(tmp_path, other, "v2")).verdict == "promote"
    assert other.calls == 7, "runs of another agent do not count"


def test_a_stopped_trial_goes_on_where_it_was(tmp_path: Path):
    class Stopped(Agent):
        def __call__(self, case, context) -> hk.ReplayResult:
            if self.calls == 3:
                raise KeyboardInterrupt
            return super().__call__(case, context)

    first = tried(harness(tmp_path, Stopped([0.9])))
    assert (first.verdict, first.stopped) == ("pending", "interrupted")
    agent = Agent([0.9])
    second = tried(harness(tmp_path, agent))
    assert (second.verdict, agent.calls) == ("promote", 4)
    assert len(trials_of_case(tmp_path, second.guard_id)) == 2


def test_without_a_fingerprint_every_trial_stands_alone(tmp_path: Path):
    agent = Agent([0.9])
    tried(harness(tmp_path, agent, None))
    tried(harness(tmp_path, agent, None))
    assert agent.calls == 14


def test_runs_that_give_nothing_end_the_trial(tmp_path: Path):
    agent = Agent([None])
    found = tried(harness(tmp_path, agent))
    assert (found.verdict, found.stopped, agent.calls) == ("pending", NOTHING, 3)


def test_without_a_threshold_one_run_is_enough_to_say_so(tmp_path: Path):
    made = harness(tmp_path, Agent([0.9]))
    case = made.evalset.cases()[0]
    found = finish(win_trial(made._side, case.id, Asked(PromotionPolicy(), Metrics(), blocking=True)))
    assert found.stopped == NO_THRESHOLD
    assert "threshold" in found.decision.reasons[0]


def test_a_policy_with_fewer_runs_spends_no_more(tmp_path: Path):
    made = harness(tmp_path, agent := Agent([0.9]))
    policy = PromotionPolicy(max_passes=6, min_passes=6, pass_chance=0.85)
    found = finish(win_trial(made._side, made.evalset.cases()[0].id, Asked(policy, METRICS, blocking=True)))
    assert (found.verdict, agent.calls) == ("promote", 6)
    assert found.stopped in (DECIDED, SPENT)


def test_it_runs_on_an_event_loop_too(tmp_path: Path):
    made = harness(tmp_path, Agent([0.9]))
    asked = Asked(PromotionPolicy(), METRICS)
    assert asyncio.run(win_trial(made._side, made.evalset.cases()[0].id, asked)).verdict == "promote"


def test_a_case_that_is_not_there_is_named(tmp_path: Path):
    made = harness(tmp_path, Agent([0.9]))
    with pytest.raises(WorkspaceError, match="no case 'nope'"):
        finish(win_trial(made._side, "nope", Asked(PromotionPolicy(), METRICS, blocking=True)))
    with pytest.raises(WorkspaceError, match="tried no case"):
        judge_case(tmp_path, "nope")
