"""The end of a turn: what alerts, what is posted and captured, what is only recorded; nothing reaches the agent."""

from __future__ import annotations

import asyncio
import threading
from functools import partial

import pytest
from made_live import BREACH, GOOD, LOW, Live

import harnesskit as hk
from harnesskit.model.metrics import Metric, Metrics
from harnesskit.replays.trace_scores import MetricScore


def fire(live: Live, session: str = "s-1", state=None, **scores):
    """Two low turns: the second fires the gate."""
    live.end(session, state, **LOW)
    return live.end(session, state, **{**BREACH, **scores})


@pytest.mark.parametrize(
    ("scores", "severity", "signatures"),
    [
        (BREACH, "breach", {"breach:tool_correctness", "breach:argument_correctness", "stall:coherence"}),
        ({**LOW, "tool_correctness": 0.5}, "trend", {"stall:coherence"}),  # at the threshold is not below it
        ({**LOW, "plan_quality": 0.0}, "trend", {"stall:coherence"}),  # tier 3 never breaches
        ({**LOW, "outcome_correct": 0.89}, "breach", {"breach:outcome_correct", "stall:coherence"}),
        ({**GOOD, "outcome_correct": 0.89}, "breach", {"breach:outcome_correct"}),  # independent of the gate
        ({**GOOD, "outcome_correct": 0.9}, None, set()),
        ({**GOOD, "tool_correctness": 0.1}, None, set()),  # tier 2 counts only when the gate fired
        ({"tool_correctness": 0.1}, "breach", {"breach:tool_correctness"}),  # nothing to gate it with
        ({**LOW, "home_made": 0.0}, "trend", {"stall:coherence"}),  # of no tier: recorded only
    ],
)
def test_what_alerts_and_how_severe_it_is(tmp_path, scores, severity, signatures):
    live = Live(tmp_path)
    live.end(**LOW)
    outcome = live.end(**scores)
    assert (outcome.status, outcome.severity) == ("scored", severity)
    assert set(outcome.signatures) - {"stall:task_completion"} == signatures
    assert [notice["severity"] for notice in live.pending()] == ([severity] if severity else [])
    assert [case.signature for case in live.cases.kept] == ([outcome.signatures] if severity == "breach" else [])


def test_thresholds_come_from_the_settings_then_the_scorer_then_the_declaration(tmp_path):
    metrics = Metrics([Metric("tool_correctness", threshold=0.05), Metric("argument_correctness", threshold=0.05)])
    live = Live(tmp_path, thresholds={"tool_correctness": 0.3}, metrics=metrics)
    live.end(**LOW)
    live.hook.on_turn_end_now(
        {
            "session_id": "s-1",
            "scores": {
                **LOW,
                "tool_correctness": MetricScore(0.2, threshold=0.1),
                "argument_correctness": {"value": 0.2, "threshold": 0.25},
            },
        }
    )
    (notice,) = live.pending()
    assert {one["name"]: one["threshold"] for one in notice["metrics"] if one["tier"] == 2} == {
        "tool_correctness": 0.3,
        "argument_correctness": 0.25,
    }


def test_a_declared_metric_with_lower_is_better_breaches_above(tmp_path):
    metrics = Metrics([Metric("cost", low=0, high=None, higher_is_better=False, threshold=1.0, tolerance=0.1, tier=0)])
    live = Live(tmp_path, metrics=metrics)
    assert live.end(**GOOD, cost=0.5).signatures == ()
    assert live.end(**GOOD, cost=1.5).signatures == ("breach:cost",)


def test_a_condition_is_noticed_once_until_it_is_new_again(tmp_path):
    live = Live(tmp_path, circuit_breaker_max_notices=0)
    posted = [
        live.end(**{**GOOD, **scores}).notice_id is not None
        for scores in (
            {"outcome_correct": 0.1},
            {"outcome_correct": 0.1},
            {"outcome_correct": 0.1, "task_completion": 0.1},  # regression: new
            {"outcome_correct": 0.1},  # fewer
            {"outcome_correct": 0.1, "task_completion": 0.1},  # more again
            {"outcome_correct": 1.0},  # recovered
            {"outcome_correct": 0.1},
        )
    ]
    assert posted == [True, False, True, False, True, False, True]
    assert [event["session_id"] for event in live.events("recovery")] == ["s-1"]
    assert len(live.cases.kept) == 2  # the set dedups by session and signature


def test_the_cooldown_lets_the_same_conditions_be_noticed_again(tmp_path):
    live = Live(tmp_path, alert_cooldown_turns=2)
    posted = [live.end(**GOOD, outcome_correct=0.1).notice_id is not None for _ in range(7)]
    assert posted == [True, False, False, True, False, False, True]


def test_the_breaker_calls_a_person_once_and_then_is_silent_until_the_window_drained(tmp_path):
    live = Live(tmp_path, circuit_breaker_max_notices=2, circuit_breaker_window_s=100)
    outcomes = [live.end(f"s-{i}", outcome_correct=0.1) for i in range(4)]
    assert [outcome.severity for outcome in outcomes] == ["breach", "breach", "needs_human", "breach"]
    assert [outcome.reason for outcome in outcomes] == ["", "", "", "circuit_breaker"]
    assert [case.session_id for case in live.cases.kept] == ["s-0", "s-1"]  # a call for a person is never captured
    assert live.hook.skips == {"circuit_breaker": 1}
    (call,) = [notice for notice in live.pending() if notice["severity"] == "needs_human"]
    assert call["dump_path"] == ""
    assert call["summary"].startswith("2 notices in 100 s")
    live.now = 101.0
    assert live.end("s-9", outcome_correct=0.1).severity == "breach"
    assert live.pending()[-1]["session_id"] == "s-9"


def test_any_recovery_closes_the_breaker(tmp_path):
    live = Live(tmp_path, circuit_breaker_max_notices=1)
    for i in range(3):
        live.end(f"s-{i}", outcome_correct=0.1)
    live.end("s-0", outcome_correct=1.0)
    assert live.end("s-5", outcome_correct=0.1).notice_id is not None


def test_observing_only_journals_and_neither_posts_nor_captures(tmp_path):
    live = Live(tmp_path, observe_only=True)
    outcome = fire(live)
    (event,) = live.events("notice")
    assert (event["observe_only"], event["dump_path"], event["id"]) == (True, "", outcome.notice_id)
    assert live.pending() == live.cases.kept == []
    assert not (tmp_path / "mailbox").exists()
    assert not (tmp_path / "traces").exists()


def test_capture_is_off_unless_asked_for(tmp_path):
    live = Live(tmp_path, capture_eval_cases=False)
    assert fire(live).notice_id is not None
    assert live.cases.kept == []


def test_the_replay_input_is_the_latest_end_state_that_was_not_empty(tmp_path):
    live = Live(tmp_path)
    live.end("s-1", {"task": "first"}, **LOW)
    state = {"task": "second"}
    live.end("s-1", state, **LOW)
    state["task"] = "changed after the turn"
    live.end("s-1", {}, **BREACH)
    live.end("s-2", **LOW)
    live.end("s-2", {}, **BREACH)
    assert {case.session_id: case.replay_input for case in live.cases.kept} == {"s-1": {"task": "second"}, "s-2": None}


def test_the_end_state_of_a_turn_that_was_not_admitted_does_not_count(tmp_path):
    live = Live(tmp_path, eval_sample_every=2)
    live.end("s-1", {"task": "seen"}, **LOW)
    live.end("s-1", {"task": "not sampled"}, **LOW)
    live.end("s-1", **BREACH)
    assert [case.replay_input for case in live.cases.kept] == [{"task": "seen"}]


def test_a_payload_that_is_no_json_costs_the_case_and_not_the_notice(tmp_path):
    live = Live(tmp_path)
    outcome = fire(live, state={"connection": object()})
    assert outcome.notice_id is not None
    assert outcome.case_id is None
    (failed,) = live.events("capture_failed")
    assert (failed["notice_id"], failed["session_id"]) == (outcome.notice_id, "s-1")
    assert "not JSON serializable" in failed["reason"]


@pytest.mark.parametrize(
    ("scorer", "reason"),
    [
        (None, "there is no scorer"),
        (lambda session: {"task_completion": None, "coherence": float("nan")}, "there is no value"),
        (lambda session: {}, "the turn brought no scores"),
        (lambda session: 0.9, "must be a mapping"),
        (lambda session: 1 / 0, "ZeroDivisionError"),
    ],
)
def test_a_turn_that_could_not_be_scored_is_unscored_and_never_healthy(tmp_path, scorer, reason):
    live = Live(tmp_path, scorer=scorer)
    live.end("s-1", **GOOD, outcome_correct=0.1)
    outcome = live.hook.on_turn_end_now({"session_id": "s-1"})
    assert outcome.status == "unscored"
    assert reason in outcome.reason
    (event,) = live.events("turn_unscored")
    assert (event["session_id"], event["turn_index"], event["reason"]) == ("s-1", 2, outcome.reason)
    assert live.events("recovery") == []


def test_a_condition_whose_metric_was_not_scored_is_neither_over_nor_new(tmp_path):
    live = Live(tmp_path)
    fire(live)
    outcome = live.end(**{**GOOD, "tool_correctness": None, "argument_correctness": 0.9})
    assert outcome.status == "scored"
    assert live.events("recovery") == []
    assert live.events("turn_unscored")[-1]["metrics"] == ["tool_correctness"]
    live.end(**{**GOOD, "tool_correctness": 0.9})
    assert len(live.events("recovery")) == 1


def test_turns_left_out_are_counted_and_the_budget_is_journaled_once(tmp_path):
    live = Live(tmp_path, eval_sample_every=2, session_min_eval_interval_s=10, max_evals_per_run=2)
    statuses = []
    for at in (0, 1, 2, 20, 21, 40, 41):
        live.now = float(at)
        statuses.append(live.end(**GOOD).reason or "scored")
    assert statuses == ["scored", "sampling", "interval", "sampling", "scored", "sampling", "budget"]
    live.now = 100.0
    live.end("s-2", **GOOD)
    assert live.hook.skips == {"sampling": 3, "interval": 1, "budget": 2}
    assert [event["reason"] for event in live.events("skip")] == ["budget"]


@pytest.mark.parametrize("event", [None, {}, {"session_id": ""}, {"session_id": 7}, {"session_id": "s", "scores": 3}])
def test_an_event_that_cannot_be_used_never_raises_into_the_agent(tmp_path, event):
    live = Live(tmp_path)
    assert live.hook.on_turn_end_now(event).status == "unscored"
    assert len(live.events("turn_unscored")) == 1


def test_a_journal_that_cannot_be_written_never_raises_into_the_agent(tmp_path, caplog):
    live = Live(tmp_path)
    (tmp_path / "journal.jsonl").mkdir()
    assert fire(live).status == "unscored"
    assert "The journal could not be written." in caplog.text


def test_a_notice_that_could_not_be_posted_is_due_again(tmp_path):
    live = Live(tmp_path)
    live.end(**LOW)
    (tmp_path / "mailbox").write_text("in the way")
    assert live.end(**BREACH).status == "unscored"
    (tmp_path / "mailbox").unlink()
    assert live.end(**BREACH).notice_id is not None


def test_sessions_at_once_keep_apart(tmp_path):
    live = Live(tmp_path, circuit_breaker_max_notices=0)

    async def session(name):
        for scores in (LOW, BREACH, GOOD):
            await live.hook.on_turn_end({"session_id": name, "end_state": {"of": name}, "scores": scores})

    async def both():
        await asyncio.gather(*(session(f"s-{i}") for i in range(6)))

    asyncio.run(both())
    assert sorted(notice["session_id"] for notice in live.pending()) == [f"s-{i}" for i in range(6)]
    assert {case.session_id: case.replay_input for case in live.cases.kept} == {
        f"s-{i}": {"of": f"s-{i}"} for i in range(6)
    }
    assert len(live.events("recovery")) == 6


def test_threads_at_once_keep_apart(tmp_path):
    live = Live(tmp_path, circuit_breaker_max_notices=0)
    threads = [threading.Thread(target=partial(fire, live, f"s-{i}")) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(live.pending()) == len(live.cases.kept) == 4


def test_no_more_evaluations_than_allowed_run_at_once(tmp_path):
    running, most = 0, 0

    async def scorer(session_id):
        nonlocal running, most
        running, most = running + 1, max(most, running + 1)
        await asyncio.sleep(0)
        running -= 1
        return GOOD

    live = Live(tmp_path, scorer=scorer, max_concurrent_evals=2)

    async def many():
        await asyncio.gather(*(live.hook.on_turn_end({"session_id": f"s-{i}"}) for i in range(8)))

    asyncio.run(many())
    assert most == 2


def test_what_was_seen_live_is_there_after_loading(tmp_path):
    live = Live(tmp_path)
    fire(live)
    harness = hk.open(tmp_path)
    assert harness.table("notices")["severity"].tolist() == ["breach"]
    values = harness.scores(role="online", metric="tool_correctness")["value"].tolist()
    assert values == [0.1]
