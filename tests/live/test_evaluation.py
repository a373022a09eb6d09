"""Who is asked for scores, when, and what a scorer or verifier that fails leaves behind."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest
from made_live import GOOD, Live

from harnesskit.replays.trace_scores import MetricScore, TraceScores


class Traces:
    """A scorer of traces that notes what it is asked."""

    def __init__(self, *tier1, tier2=0.1):
        self.tier1, self.tier2, self.asked = list(tier1), tier2, []

    def new_traces(self, session_id, known):
        return [f"t-{i}" for i in range(len(self.tier1)) if f"t-{i}" not in known]

    def score_traces(self, trace_ids, metrics):
        self.asked.append((list(trace_ids), list(metrics)))
        if "coherence" not in metrics and isinstance(self.tier2, Exception):
            raise self.tier2
        value = {f"t-{i}": score for i, score in enumerate(self.tier1)}
        first = "coherence" in metrics
        return [TraceScores(t, {m: MetricScore(value[t] if first else self.tier2) for m in metrics}) for t in trace_ids]


def test_tier_2_is_asked_of_the_newest_trace_only_when_the_gate_fired(tmp_path):
    scorer = Traces(0.9, 0.9)
    live = Live(tmp_path, scorer=scorer, enable_tier3=True)
    live.hook.on_turn_end_now({"session_id": "s-1"})
    scorer.tier1 += [0.9, 0.1]
    outcome = live.hook.on_turn_end_now({"session_id": "s-1", "end_state": {"task": 1}})
    tier1, tier2 = ["task_completion", "coherence"], ["tool_correctness", "argument_correctness"]
    tier3 = ["plan_adherence", "plan_quality", "step_efficiency"]
    assert scorer.asked == [
        (["t-0", "t-1"], tier1),
        (["t-2", "t-3"], tier1),  # those before are known
        (["t-3"], tier2),
        (["t-3"], tier3),  # tier 2 breached
    ]
    assert outcome.severity == "breach"
    assert live.pending()[0]["flagged_traces"] == ["t-3"]
    assert live.cases.kept[0].baseline_scores == {
        **dict.fromkeys(tier1, 0.1), **dict.fromkeys(tier2, 0.1), **dict.fromkeys(tier3, 0.1)
    }  # fmt: skip


def test_tier_3_is_left_alone_without_a_breach(tmp_path):
    scorer = Traces(0.9, 0.1, tier2=0.9)
    live = Live(tmp_path, scorer=scorer, enable_tier3=True)
    assert live.hook.on_turn_end_now({"session_id": "s-1"}).severity == "trend"
    assert len(scorer.asked) == 2


def test_tier_2_that_fails_leaves_the_trend_and_says_what_is_unscored(tmp_path):
    live = Live(tmp_path, scorer=Traces(0.9, 0.1, tier2=OSError("platform is down")))
    outcome = live.hook.on_turn_end_now({"session_id": "s-1"})
    assert outcome.severity == "trend"
    (event,) = live.events("turn_unscored")
    assert event["metrics"] == ["argument_correctness", "tool_correctness"]
    assert "platform is down" in event["reason"]


def test_traces_that_got_no_score_are_asked_for_again(tmp_path):
    scorer = Traces(None)
    live = Live(tmp_path, scorer=scorer)
    assert live.hook.on_turn_end_now({"session_id": "s-1"}).status == "unscored"
    scorer.tier1[0] = 0.9
    assert live.hook.on_turn_end_now({"session_id": "s-1"}).status == "scored"
    outcome = live.hook.on_turn_end_now({"session_id": "s-1"})
    assert (outcome.status, outcome.reason) == ("unscored", "the session has no new completed trace")


@pytest.mark.parametrize(
    ("verifier", "signatures"),
    [
        (lambda session_id, payload: payload == {"done": True}, ()),
        (lambda payload: payload["done"], ()),
        (lambda case, session: case.replay_input is None, ("breach:outcome_correct",)),
        (lambda session_id, payload: 0.5, ("breach:outcome_correct",)),
        (lambda session_id, payload: None, ()),
    ],
)
def test_a_verifier_gives_the_outcome_of_every_turn(tmp_path, verifier, signatures):
    live = Live(tmp_path, verifier=verifier)
    assert live.end("s-1", {"done": True}, **GOOD).signatures == signatures


def test_a_verifier_that_raises_leaves_the_outcome_unscored(tmp_path):
    live = Live(tmp_path, verifier=lambda payload: payload["no such key"])
    assert live.end(**GOOD).status == "scored"
    assert live.events("turn_unscored")[0]["metrics"] == ["outcome_correct"]


def test_an_async_scorer_and_verifier_are_awaited(tmp_path):
    async def scorer(session_id):
        await asyncio.sleep(0)
        return GOOD

    async def verifier(session_id, payload):
        await asyncio.sleep(0)
        return False

    live = Live(tmp_path, scorer=scorer, verifier=verifier)
    expected = ("breach:outcome_correct",)
    assert asyncio.run(live.hook.on_turn_end({"session_id": "s-1"})).signatures == expected
    assert live.hook.on_turn_end_now({"session_id": "s-2"}).signatures == expected


def test_a_scorer_that_hangs_is_given_up(tmp_path):
    stop = threading.Event()
    live = Live(tmp_path, scorer=lambda session: stop.wait(30), barrier_timeout_s=0.05)
    began = time.monotonic()
    outcome = live.hook.on_turn_end_now({"session_id": "s-1"})
    stop.set()
    assert time.monotonic() - began < 10
    assert (outcome.status, "longer than 0.05 s" in outcome.reason) == ("unscored", True)


def test_the_health_of_the_scorer_is_journaled_once(tmp_path):
    class Sick(Traces):
        def health(self):
            return "no key"

    live = Live(tmp_path, scorer=Sick(0.9, 0.9))
    for _ in range(2):
        live.hook.on_turn_end_now({"session_id": "s-1"})
    assert [(event["ok"], event["reason"]) for event in live.events("health")] == [(False, "no key")]
