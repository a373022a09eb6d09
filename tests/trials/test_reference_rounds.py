"""Rounds of validation: what is judged, in which order, what is journaled, and what is written to the rules."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from harnesskit.model.config import HarnessConfig
from harnesskit.replays.context import ReplayContext
from harnesskit.trials.reference_forward import observe_session
from harnesskit.trials.reference_rounds import ReferenceRounds
from harnesskit.trials.replayer import Replayer, finish
from harnesskit.trials.verdict import verdicts_exit_code
from harnesskit.workspace.evalset_store import EvalSet
from harnesskit.workspace.events import EVENT_FIELDS
from harnesskit.workspace.journal import read_journal
from harnesskit.workspace.rule_book import RuleBook


class Clock:
    """A clock that ticks a second at every look."""

    def __init__(self) -> None:
        self.at = datetime(2026, 6, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.at += timedelta(seconds=1)
        return self.at


class World:
    """A workspace with an eval set and a rule book, and a way to run rounds in it."""

    def __init__(self, root: Path, **config: Any) -> None:
        self.root = root
        self.config = HarnessConfig(**{"replay_timeout_s": 5.0, **config})
        self.clock = Clock()
        self.book = RuleBook(root, self.config, self.clock)
        self.evalset = EvalSet(root, self.config, clock=self.clock)
        self.score = 0.9
        self.rounds = self.new_rounds(self.reads)

    def new_rounds(self, replay: Any, **fields: Any) -> ReferenceRounds:
        replayer = None if replay is None else Replayer(replay, lambda session: {"q": self.score}, blocking=True)
        return ReferenceRounds(self.book, self.evalset, replayer, self.config, **fields)

    def reads(self, case: Any, context: ReplayContext) -> str:
        context.task_tools.call("harness_rule_status", {"rule_id": context.candidate_rule_id})
        return f"new-{case.id}-{self.clock()}"

    def failure(self, n: int = 1) -> None:
        self.evalset.capture(
            session_id=f"s-{n}", kind="failure", signature=["breach:q"], baseline_scores={"q": 0.3}, replay_input={}
        )

    def events(self, *, without: tuple[str, ...] = ("evalset_capture", "rule_add")) -> list[dict[str, Any]]:
        journal = self.root / "journal.jsonl"
        lines = journal.read_text().splitlines() if journal.exists() else []
        found = [json.loads(line) for line in lines]
        return [event for event in found if event["type"] not in without]

    def types(self) -> list[str]:
        return [event["type"] for event in self.events()]


RULES = ("Look the order up first.", "Confirm the amount aloud.", "Never guess a date of birth.")


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_a_round_promotes_and_says_so_as_the_reference_does(world: World) -> None:
    rule_id = world.book.add(RULES[0], metric="q")
    world.failure()
    [verdict] = finish(world.rounds.run())
    assert (verdict.outcome, verdict.validator, verdict.applied) == ("promote", "replay", True)
    assert world.types() == [
        "validation_round_started", "validation_candidate_started", "validation_replay_case", "validation_verdict",
        "rule_promote", "validation_round_finished",
    ]  # fmt: skip
    started, candidate, replayed, said, promoted, finished = world.events()
    assert (started["queued_rule_ids"], started["budget_s"], started["has_replay"]) == ([rule_id], None, True)
    assert (candidate["validator"], candidate["sessions_needed"], "reason" in candidate) == ("replay", 5, False)
    assert (replayed["outcome"], replayed["candidate_surfaced"]) == ("scored", True)
    assert {**verdict.to_dict(), "ts": said["ts"], "type": "validation_verdict"} == said
    assert (promoted["status"], promoted["reason"]) == ("active", verdict.reason)
    counts = ("decided", "pending", "promoted", "retired", "budget_exhausted", "elapsed_s")
    assert [finished[name] for name in counts] == [1, 0, 1, 0, False, None]
    rule = world.book.get(rule_id)
    assert rule is not None
    assert (rule.status, rule.trial_verdict) == ("active", f"promoted:{verdict.reason}")
    assert verdicts_exit_code([verdict]) == 0


def test_a_rule_without_effect_is_retired_with_its_evidence(world: World) -> None:
    rule_id = world.book.add(RULES[0], metric="q")
    world.failure()
    world.score = 0.3
    [verdict] = finish(world.rounds.run())
    retired = world.events()[-2]
    assert (retired["type"], retired["id"], retired["evidence"]) == ("rule_retire", rule_id, verdict.details)
    assert verdicts_exit_code([verdict]) == 1
    assert finish(world.rounds.run()) == []  # nothing is left to judge, nothing is said
    assert world.types()[-1] == "validation_round_finished"


def test_what_is_journaled_is_what_readers_know(world: World) -> None:
    world.book.add(RULES[0], metric="q")
    world.failure()
    world.score = 0.3
    finish(world.rounds.run())
    journal = read_journal(world.root / "journal.jsonl")
    assert journal.problems == []
    assert {event.type for event in journal.events} <= set(EVENT_FIELDS)


def test_without_a_replay_function_it_is_announced_once(world: World) -> None:
    world.book.add(RULES[0], metric="q")
    rounds = world.new_rounds(None)
    [verdict] = finish(rounds.run())
    finish(rounds.run())
    assert world.types().count("validation") == 1
    assert world.events()[0] == {
        **world.events()[0], "mode": "forward_trial", "reason": "no replay function wired", "type": "validation",
    }  # fmt: skip
    assert (verdict.validator, verdict.pending_reason) == ("forward_trial", "trial_in_progress")
    assert verdicts_exit_code([verdict]) == 3


def test_a_pending_replay_is_journaled_before_the_forward_trial(world: World) -> None:
    world.book.add(RULES[0], metric="q")
    world.failure()
    [verdict] = finish(world.new_rounds(lambda case: f"unread-{case.id}").run())
    said = [event for event in world.events() if event["type"] == "validation_verdict"]
    assert [event["pending_reason"] for event in said] == ["candidate_not_exercised", "trial_in_progress"]
    assert verdict.replay is not None
    assert verdict.replay.pending_reason == "candidate_not_exercised"
    finished = world.events()[-1]
    assert (finished["pending"], finished["decided"]) == (1, 0)


def test_an_attempt_is_used_up_only_by_a_replay(world: World) -> None:
    rule_id = world.book.add(RULES[0], metric="q")
    for _ in range(4):
        finish(world.rounds.run())  # no case matches
    assert world.book.get(rule_id).replay_attempts == 0
    world.failure()
    unread = world.new_rounds(lambda case: f"unread-{world.clock()}")
    for _ in range(5):
        finish(unread.run())
    assert world.book.get(rule_id).replay_attempts == 3
    assert world.types().count("validation_replay_case") == 3


def test_rounds_begin_one_further_on_each_time(world: World) -> None:
    ids = [world.book.add(rule, metric="q") for rule in RULES]
    rounds = world.new_rounds(None)
    orders = [[verdict.rule_id for verdict in finish(rounds.run())] for _ in range(4)]
    assert orders == [ids, [*ids[1:], ids[0]], [*ids[2:], *ids[:2]], ids]


def test_rotation_goes_on_after_a_head_that_was_decided(world: World) -> None:
    ids = [world.book.add(rule, metric="q") for rule in RULES]
    rounds = world.new_rounds(None)
    finish(rounds.run())
    world.book.record(ids[0], status="retired")
    assert [verdict.rule_id for verdict in finish(rounds.run())] == ids[1:]


def test_a_spent_budget_leaves_the_forward_trial_and_says_so(tmp_path: Path) -> None:
    world = World(tmp_path, validation_round_budget_s=10.0)
    for rule in RULES[:2]:
        world.book.add(rule, metric="q")
    world.failure()
    seconds = iter([0.0, 1.0, 20.0, 21.0])
    verdicts = finish(world.new_rounds(world.reads, monotonic=lambda: next(seconds)).run())
    assert [verdict.outcome for verdict in verdicts] == ["promote", "pending"]
    assert verdicts[1].replay is not None
    assert verdicts[1].replay.pending_reason == "round_budget_exhausted"
    last = [event for event in world.events() if event["type"] == "validation_candidate_started"][-1]
    assert (last["validator"], last["reason"]) == ("forward_trial", "round_budget_exhausted")
    finished = world.events()[-1]
    assert (finished["budget_exhausted"], finished["elapsed_s"]) == (True, 21.0)
    assert world.book.get(verdicts[1].rule_id).replay_attempts == 0


def test_a_rule_decided_by_somebody_else_meanwhile_is_left_alone(world: World) -> None:
    rule_id = world.book.add(RULES[0], metric="q")
    world.failure()

    def replay(case: Any, context: ReplayContext) -> str:
        world.book.record(rule_id, status="retired", reason="operator: not ours")
        return world.reads(case, context)

    [verdict] = finish(world.new_rounds(replay).run())
    assert (verdict.outcome, verdict.applied) == ("promote", False)
    assert world.book.get(rule_id).status == "retired"


# The forward trial.


def test_five_healthy_sessions_promote_and_unscored_ones_do_not(world: World) -> None:
    rule_id = world.book.add(RULES[0], metric="q")
    rounds = world.new_rounds(None)
    for n in range(5):
        assert observe_session(world.book, world.config, f"down-{n}", [], scored=False) == []
    assert world.book.get(rule_id).observed_sessions == ()
    for n in range(6):
        observe_session(world.book, world.config, f"s-{n}", ["stall:other"], scored=True)
    assert len(world.book.get(rule_id).observed_sessions) == 5
    [verdict] = finish(rounds.run())
    assert verdict.reason == "forward-trial: breach rate 0.00 vs baseline 1.00 over 5 sessions"
    assert verdict.outcome == "promote"


def test_a_session_in_the_window_may_still_breach(world: World) -> None:
    rule_id = world.book.add(RULES[0], metric="q")
    observe_session(world.book, world.config, "s-1", [], scored=True)
    assert observe_session(world.book, world.config, "s-1", [], scored=True) == []
    assert observe_session(world.book, world.config, "s-1", ["breach:q"], scored=True) == [rule_id]
    assert observe_session(world.book, world.config, "s-1", ["breach:q"], scored=True) == []
    rule = world.book.get(rule_id)
    assert (rule.observed_sessions, rule.breached_sessions) == (("s-1",), ("s-1",))
    assert rule.trial["observed_breaches"] == 1


def test_no_session_at_all_promotes_nothing(tmp_path: Path) -> None:
    world = World(tmp_path, rule_trial_min_sessions=0)
    world.book.add(RULES[0], metric="q")
    [verdict] = finish(world.new_rounds(None).run())
    assert (verdict.outcome, verdict.reason) == ("pending", "trial in progress: 0/1 sessions observed")
