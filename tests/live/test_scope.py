"""A turn as a with block, an async with block and a decorator."""

from __future__ import annotations

import asyncio
import inspect

import pytest
from made_live import BREACH, GOOD, LOW, Live


class Scorer:
    """Low first, then a breach."""

    def __init__(self):
        self.asked = []

    def __call__(self, session_id):
        self.asked.append(session_id)
        return LOW if self.asked.count(session_id) == 1 else BREACH


def test_a_bare_turn_sends_no_replay_input(tmp_path):
    live = Live(tmp_path, scorer=Scorer())

    async def agent():
        for _ in range(2):
            async with live.hook.turn("s-1"):
                pass

    asyncio.run(agent())
    (case,) = live.cases.kept
    assert (case.session_id, case.replayable) == ("s-1", False)


def test_an_end_state_may_be_given_or_set(tmp_path):
    live = Live(tmp_path, scorer=Scorer())
    with live.hook.turn("s-1", end_state={"task": "given"}):
        pass
    with live.hook.turn("s-1") as turn:
        turn.end_state = {"task": "set"}
    assert turn.outcome.severity == "breach"
    assert [case.replay_input for case in live.cases.kept] == [{"task": "set"}]


def test_scores_may_be_set_so_that_no_scorer_is_needed(tmp_path):
    live = Live(tmp_path)
    with live.hook.turn("s-1") as turn:
        turn.scores = {**GOOD, "outcome_correct": 0.0}
    assert turn.outcome.signatures == ("breach:outcome_correct",)


@pytest.mark.parametrize("asynchronous", [False, True])
def test_an_exception_goes_on_untouched_and_the_turn_is_scored(tmp_path, asynchronous):
    live = Live(tmp_path, scorer=Scorer())
    error = RuntimeError("the agent's own")

    async def later():
        async with live.hook.turn("s-1"):
            raise error

    def now():
        with live.hook.turn("s-1"):
            raise error

    with pytest.raises(RuntimeError) as caught:
        asyncio.run(later()) if asynchronous else now()
    assert caught.value is error
    assert live.hook._evaluator.scorer.asked == ["s-1"]


def test_a_cancelled_turn_is_not_held_up_and_is_unscored(tmp_path):
    live = Live(tmp_path, scorer=Scorer())

    async def agent():
        async with live.hook.turn("s-1", turn_index=4):
            await asyncio.Event().wait()

    async def main():
        task = asyncio.create_task(agent())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert live.hook._evaluator.scorer.asked == []
    (event,) = live.events("turn_unscored")
    assert (event["session_id"], event["turn_index"]) == ("s-1", 4)
    assert "CancelledError" in event["reason"]


def test_a_with_block_works_inside_a_running_event_loop(tmp_path):
    live = Live(tmp_path, scorer=Scorer())

    async def agent():
        with live.hook.turn("s-1") as turn:
            pass
        return turn.outcome.status

    assert asyncio.run(agent()) == "scored"


def test_a_decorated_function_is_a_turn_of_its_own_each_time(tmp_path):
    live = Live(tmp_path, scorer=Scorer())

    @live.hook.turn(lambda request, **_: request["session"], lambda answer: {"answered": answer})
    def agent(request, *, loud=False):
        """Answer."""
        return request["text"].upper() if loud else request["text"]

    assert agent({"session": "s-1", "text": "a"}) == "a"
    assert agent({"session": "s-1", "text": "b"}, loud=True) == "B"
    assert agent({"session": "s-2", "text": "c"}) == "c"
    assert agent.__doc__ == "Answer."
    assert live.hook._evaluator.scorer.asked == ["s-1", "s-1", "s-2"]
    assert [case.replay_input for case in live.cases.kept] == [{"answered": "B"}]


def test_an_async_function_stays_one(tmp_path):
    live = Live(tmp_path, scorer=Scorer())

    @live.hook.turn("s-1")
    async def agent(text):
        return text

    assert inspect.iscoroutinefunction(agent)
    assert asyncio.run(agent("a")) == "a"
    assert live.hook._evaluator.scorer.asked == ["s-1"]


def test_a_session_id_or_end_state_that_cannot_be_made_does_not_reach_the_agent(tmp_path):
    live = Live(tmp_path, scorer=Scorer())

    @live.hook.turn(lambda request: request["no such key"], lambda answer: 1 / 0)
    def agent(request):
        return "answer"

    assert agent({}) == "answer"
    assert "session_id" in live.events("turn_unscored")[0]["reason"]


def test_a_generator_cannot_be_a_turn(tmp_path):
    with pytest.raises(TypeError, match="cannot decorate the generator"):

        @Live(tmp_path).hook.turn("s-1")
        def agent():
            yield 1
