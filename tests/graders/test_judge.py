"""Judges asked through plain functions: votes, quorum, keys of the cache, retries, limits, pairs."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Callable

import pandas as pd
import pytest

from harnesskit.graders.asking import AskError, Gate, Limits, Reply
from harnesskit.graders.grading import grade
from harnesskit.graders.judge import LONGEST, judge
from harnesskit.graders.pairwise import pairwise
from harnesskit.graders.questions import Question, ask_about
from harnesskit.graders.scales import Scale
from harnesskit.measures.judge_votes import judge_ledger, judge_votes
from harnesskit.measures.position_bias import position_bias
from harnesskit.model.errors import GraderError

QUICK = Limits(concurrency=4, tries=3, first_wait_s=0.0, longest_wait_s=0.0)


def said(question: Question, score: object, reason: str = "because") -> str:
    return json.dumps({"code": question.code, "reason": reason, "score": score})


def in_turn(*scores: object) -> Callable[[Question], str]:
    """A judge that gives these scores one after another; what is no score of the scale cannot be read."""
    turn = itertools.cycle(scores)
    return lambda question: said(question, next(turn))


def samples(*outputs: str | None, trial: list[int] | None = None) -> pd.DataFrame:
    frame = pd.DataFrame({"sample_id": [f"s-{i}" for i in range(len(outputs))], "output": list(outputs)})
    return frame if trial is None else frame.assign(trial=trial)


def one_vote_at_a_time(ask: Callable[..., object], **more: object):
    return judge("Right?", ask=ask, reads=["output"], limits=Limits(concurrency=1), **more)


@pytest.mark.parametrize(
    ("reduce", "scores", "value", "status"),
    [
        ("mean", (1, 2, 5), 5 / 12, "ok"),
        ("median", (1, 2, 5), 0.25, "ok"),
        ("majority", (5, 5, 1), 1.0, "ok"),
        ("majority", (5, 3, 1), None, "unscored"),
        (min, (3, 2, 5), 0.25, "ok"),
        ("mean", (5, "many", 1), 0.5, "ok"),
        ("mean", (5, "many", "many"), None, "unscored"),
    ],
)
def test_votes_are_reduced_and_a_quorum_is_needed(reduce, scores, value, status):
    row = grade(samples("a"), one_vote_at_a_time(in_turn(*scores), scale=(1, 5), votes=3, reduce=reduce)).iloc[0]
    assert row["status"] == status
    assert pd.isna(row["value"]) if value is None else row["value"] == pytest.approx(value)
    assert len(json.loads(row["details"])["votes"]) == 3


def test_a_lost_vote_makes_a_missing_quorum_an_error_and_is_asked_for_again():
    """What may change by asking again is an error; what the judge said is unscored."""
    down = True

    def ask(question: Question) -> str:
        if down and "b" in question.user.splitlines()[2]:
            raise ConnectionError("gone")
        return said(question, True)

    one = judge("Right?", ask=ask, reads=["output"], limits=QUICK)
    cache: dict[str, str] = {}
    frame = samples("a", "b")
    before = grade(frame, one, cache=cache)
    assert before["status"].tolist() == ["ok", "error"]
    assert before["reason"][1] == "unreachable: ConnectionError: gone (after 3 calls)"
    assert len(cache) == 1
    down = False
    after = grade(frame, one, cache=cache)
    assert after["status"].tolist() == ["ok", "ok"]
    assert judge_votes(after)["kept"].tolist() == [True, False]


def test_the_key_holds_everything_that_matters():
    """Another rubric, scale, setting, version, trial, text or vote is another verdict; more votes keep the old ones."""
    asked: list[str] = []

    def ask(question: Question) -> str:
        asked.append(question.user)
        return said(question, True)

    def other(question: Question) -> str:
        asked.append("other")
        return said(question, True)

    cache: dict[str, str] = {}

    def calls(frame: pd.DataFrame, rubric: str = "Right?", **more: object) -> int:
        asked.clear()
        grade(frame, judge(rubric, **{"ask": ask, "reads": ["output"], **more}), cache=cache)
        return len(asked)

    frame = samples("a", trial=[1])
    assert calls(frame) == 1
    assert calls(frame) == 0
    assert calls(frame.assign(sample_id="elsewhere")) == 0
    for changed in (
        {"rubric": "Polite?"}, {"settings": {"model": "b"}}, {"version": "2"}, {"seed": 1}, {"ask": other},
        {"scale": {"no": 0, "yes": 1}},
    ):  # fmt: skip
        assert calls(frame, **changed) == 1, changed
    assert calls(samples("b", trial=[1])) == 1
    assert calls(samples("a", trial=[2])) == 1
    assert calls(frame, votes=3) == 2
    assert calls(frame, votes=3, reduce="median") == 0
    assert calls(samples("c", "c")) == 2, "repeats without a trial number are two samples"


def test_a_kept_record_that_cannot_be_read_is_asked_for_again():
    cache: dict[str, str] = {}
    one = judge("Right?", ask=in_turn(True), reads=["output"])
    grade(samples("a", trial=[1]), one, cache=cache)
    for damage in ("", "[1, 2]", '["{}", 1, 1, null]', "null"):
        cache = dict.fromkeys(cache, damage)
        assert not judge_votes(grade(samples("a", trial=[1]), one, cache=cache))["kept"].any()


def test_only_transient_errors_are_tried_again_and_every_call_is_counted():
    plan = {
        "limited": [AskError("slow", outcome="rate_limited", retry_after_s=0.0), None],
        "late": [TimeoutError(), TimeoutError(), None],
        "wrong": [ValueError("no such model")],
        "number": [7],
    }

    def ask(question: Question) -> object:
        step = plan[json.loads("\n".join(question.user.splitlines()[1:-3]))["output"]].pop(0)
        if isinstance(step, Exception):
            raise step
        return step or Reply(said(question, True), input_tokens=5, output_tokens=2, cost_usd=0.25)

    grades = grade(samples(*plan), judge("Right?", ask=ask, reads=["output"], limits=QUICK))
    assert grades["status"].tolist() == ["ok", "ok", "error", "error"]
    assert grades["reason"][2] == "failed: ValueError: no such model"
    assert "returned a value of type int" in grades["reason"][3]
    ledger = judge_ledger(grades).iloc[0]
    found = {name: int(ledger[name]) for name in ("answered", "rate_limited", "timed_out", "failed", "n_calls")}
    assert found == {"answered": 2, "rate_limited": 1, "timed_out": 2, "failed": 2, "n_calls": 7}
    assert (ledger["input_tokens"], ledger["output_tokens"], ledger["cost_usd"]) == (10, 4, 0.5)


def test_a_bare_text_costs_an_unknown_amount_and_the_ledger_says_so():
    ledger = judge_ledger(grade(samples("a"), judge("Right?", ask=in_turn(True), reads=["output"]))).iloc[0]
    assert ledger["n_uncounted"] == 1
    assert pd.isna(ledger["cost_usd"])


class Clock:
    """Time that passes only by sleeping."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def ask_gate(limits: Limits, ask: Callable[[Question], object], n: int = 1) -> tuple[Clock, list[object]]:
    clock = Clock()
    gate = Gate(limits, clock=lambda: clock.now, sleep=clock.sleep, draw=lambda: 0.5)
    question = ask_about({"output": "a"}, "Right?", Scale.pass_fail())

    async def run() -> list[object]:
        return [await gate.ask(ask, question) for _ in range(n)]

    return clock, asyncio.run(run())


async def limited(question: Question) -> str:
    raise AskError("slow down", outcome="rate_limited")


def test_waits_double_up_to_the_longest_and_are_drawn():
    clock, _ = ask_gate(Limits(tries=6, first_wait_s=1, longest_wait_s=5), limited)
    assert clock.slept == [0.5, 1.0, 2.0, 2.5, 2.5]


def test_the_time_limit_of_a_reply_ends_the_tries():
    clock, (asked,) = ask_gate(Limits(tries=100, first_wait_s=4, longest_wait_s=4, deadline_s=7), limited)
    assert clock.now <= 7
    assert (asked.reply, len(asked.calls)) == (None, 4)


def test_a_rate_is_kept_and_a_wait_that_was_asked_for_holds_for_everybody():
    clock, _ = ask_gate(Limits(per_minute=30), lambda question: "said", n=4)
    assert clock.now == pytest.approx(6.0)

    told = iter([AskError("slow", outcome="rate_limited", retry_after_s=9.0)])

    async def once(question: Question) -> str:
        for error in told:
            raise error
        return "said"

    clock, _ = ask_gate(Limits(first_wait_s=0), once)
    assert clock.now >= 9.0


def test_no_more_calls_at_once_than_allowed():
    at_once, most = 0, 0

    async def ask(question: Question) -> str:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        await asyncio.sleep(0)
        at_once -= 1
        return said(question, True)

    one = judge("Right?", ask=ask, reads=["output"], votes=3, limits=Limits(concurrency=3))
    assert grade(samples(*"abcdefgh"), one, concurrency=8)["status"].eq("ok").all()
    assert most == 3


def test_a_sample_that_is_too_long_is_not_cut():
    row = grade(samples("x" * LONGEST), judge("Right?", ask=in_turn(True), reads=["output"])).iloc[0]
    assert (row["status"], row["details"]) == ("unscored", None)


def test_a_sample_without_what_is_read_is_unscored_and_optional_columns_may_be_missing():
    seen: list[dict[str, object]] = []

    def ask(question: Question) -> str:
        seen.append(json.loads("\n".join(question.user.splitlines()[1:-3])))
        return said(question, True)

    frame = samples("a", None).assign(expected=[None, "x"])
    grades = grade(frame, judge("Right?", ask=ask, reads=["output"], optional=["expected"]))
    assert grades["status"].tolist() == ["ok", "unscored"]
    assert seen == [{"output": "a"}]


@pytest.mark.parametrize(
    "wrong",
    [
        {"rubric": " "}, {"votes": 0}, {"quorum": 2}, {"reduce": "best"}, {"reads": "output"}, {"reads": ["my column"]},
        {"ask": "gpt"}, {"scale": "stars"},
    ],
)  # fmt: skip
def test_what_cannot_judge_is_refused(wrong: dict[str, object]):
    told = {"rubric": "Right?", "ask": in_turn(True), **wrong}
    with pytest.raises(GraderError):
        judge(told.pop("rubric"), **told)


def pairs(n: int = 30) -> pd.DataFrame:
    frame = pd.DataFrame({"sample_id": [f"p-{i}" for i in range(n)], "case_id": [f"c-{i}" for i in range(n)]})
    long, short = ([f"{words} {i}" for i in range(n)] for words in ("a long answer", "short"))
    return frame.assign(candidate_output=long, control_output=short)


def pick(choose: Callable[[str, str], str]):
    def ask(question: Question) -> str:
        sample = json.loads("\n".join(question.user.splitlines()[1:-3]))
        return said(question, choose(sample["answer_1"], sample["answer_2"]))

    return pairwise("The longer is better.", ask=ask, reads=[], metric="preferred")


def test_a_judge_that_sees_the_difference_agrees_with_itself():
    grades = grade(pairs(), pick(lambda one, two: "answer_1" if len(one) > len(two) else "answer_2"))
    assert grades["value"].eq(1.0).all()
    bias = position_bias(grades).iloc[0]
    assert (bias["n_consistent"], bias["n_first"], bias["n_second"], bias["warning"]) == (30, 0, 0, None)
    turned = pairs().rename(columns={"candidate_output": "control_output", "control_output": "candidate_output"})
    assert grade(turned, pick(lambda one, two: "answer_1" if len(one) > len(two) else "answer_2"))["value"].eq(0).all()


@pytest.mark.parametrize(("place", "first"), [("answer_1", 1.0), ("answer_2", 0.0)])
def test_a_judge_that_favours_a_place_decides_nothing_and_is_found_out(place: str, first: float):
    grades = grade(pairs(), pick(lambda one, two: place))
    assert grades["value"].eq(0.5).all()
    bias = position_bias(grades).iloc[0]
    assert (bias["consistent"], bias["first"]) == (0.0, first)
    assert bias["p_value"] == pytest.approx(2 * 0.5**30)
    assert "favours what stands" in bias["warning"]


def test_ties_agree_with_themselves():
    grades = grade(pairs(3), pick(lambda one, two: "tie"))
    assert grades["value"].tolist() == [0.5] * 3
    assert position_bias(grades).iloc[0]["n_consistent"] == 3
