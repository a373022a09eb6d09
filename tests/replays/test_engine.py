"""How attempts end: statuses and reasons, limits, retries, sessions, copies, order."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import re
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harnesskit.model.case import EvalCase
from harnesskit.model.records import RuleRecord
from harnesskit.model.replay import REASONS, STATUSES, ReplayError, ReplayResult
from harnesskit.replays.engine import areplay_cases, replay_cases
from harnesskit.replays.setup import InconclusiveError, Record

Make = Callable[..., list[EvalCase]]
New = Callable[[], str]


def run(cases: list[EvalCase], replay: Any, **options: Any) -> list[Record]:
    """Replay, and hold every record to the closed sets."""
    records = replay_cases(cases, replay, run_id="r", **options)
    for record in records:
        assert record.sample.status in STATUSES
        assert record.sample.reason is None or record.sample.reason.split(":")[0] in REASONS
        assert (record.sample.reason is None) == (record.sample.status == "scored")
    return records


def one(cases: list[EvalCase], replay: Any, **options: Any) -> Any:
    return run(cases[:1], replay, **options)[0].sample


def ends(records: list[Record]) -> list[str]:
    return [record.sample.status for record in records]


def test_every_kind_of_function_is_replayed(make_cases: Make, new_session: New) -> None:
    cases = make_cases(1)

    async def later(case: EvalCase, context: Any) -> str:
        return new_session()

    class Agent:
        def __call__(self, case: EvalCase) -> str:
            return new_session()

    class AsyncAgent:
        async def __call__(self, case: EvalCase, context: Any) -> ReplayResult:
            return ReplayResult(new_session())

    def gives_a_coroutine(case: EvalCase) -> Any:
        return later(case, None)

    def runs_a_loop(case: EvalCase) -> str:
        return asyncio.run(later(case, None))

    plain = [lambda case: new_session(), lambda case, context: new_session(), lambda *given: new_session()]
    functions = [*plain, later, Agent(), AsyncAgent(), gives_a_coroutine, runs_a_loop]
    functions += [functools.partial(later, context=None), functools.partial(lambda extra, case: new_session(), 1)]
    for function in functions:
        records = run(cases, function, scorer=lambda session: {"quality": 1.0})
        assert ends(records) == ["scored"], function
    assert ends(asyncio.run(areplay_cases(cases, later, run_id="r", scorer=lambda s: {"q": 1}))) == ["scored"]


def test_a_run_inside_a_running_loop_and_in_a_thread(make_cases: Make, new_session: New) -> None:
    cases = make_cases(2)

    async def later(case: EvalCase) -> ReplayResult:
        return ReplayResult(new_session(), scores={"quality": 1})

    async def cell() -> list[list[str]]:
        return [ends(run(cases, later)), ends(run(cases, later)), ends(await areplay_cases(cases, later, run_id="r"))]

    assert asyncio.run(cell()) == [["scored"] * 2] * 3
    found: list[str] = []
    thread = threading.Thread(target=lambda: found.extend(ends(run(cases, later))))
    thread.start()
    thread.join()
    assert found == ["scored"] * 2


def test_what_is_bound_to_an_event_loop_stays_usable(make_cases: Make, new_session: New) -> None:
    """As an HTTP client is: one made in the first replay is used in the second, and in the next run."""
    kept: list[asyncio.Queue[int]] = []

    async def later(case: EvalCase) -> ReplayResult:
        if not kept:
            kept.append(asyncio.Queue())
        asyncio.get_running_loop().call_later(0.001, kept[0].put_nowait, 1)
        await kept[0].get()  # fails on another loop than that of the first wait
        return ReplayResult(new_session(), scores={"quality": 1})

    assert ends(run(make_cases(3), later)) == ["scored"] * 3
    assert ends(run(make_cases(2), later)) == ["scored"] * 2


def test_no_function_skips_everything_with_one_warning(make_cases: Make) -> None:
    with pytest.warns(UserWarning, match="No replay function") as caught:
        records = run(make_cases(3), None)
    assert len(caught) == 1
    assert {(record.sample.status, record.sample.reason) for record in records} == {("skipped", "no_replay_function")}


def test_a_case_without_input_is_skipped_and_false_is_an_input(make_cases: Make, new_session: New) -> None:
    sample = one(make_cases(1, replay_input=None), lambda case: new_session())
    assert (sample.status, sample.reason, sample.duration_s) == ("skipped", "no_replay_input", None)
    assert one(make_cases(1, replay_input=False), lambda case: new_session()).reason == "no_scores"


@pytest.mark.parametrize("raised", [RuntimeError("tool server gone"), SystemExit(3), asyncio.CancelledError()])
def test_a_crash_says_type_and_message_and_stops_nothing(
    make_cases: Make, new_session: New, raised: BaseException
) -> None:
    def crashes(case: EvalCase) -> str:
        if case.id == "c0":
            raise raised
        return new_session()

    async def crashes_later(case: EvalCase) -> str:
        return crashes(case)

    for function in (crashes, crashes_later):
        first, second = (record.sample for record in run(make_cases(2), function))
        said = f"{type(raised).__name__}: {raised}" if str(raised) else type(raised).__name__
        assert (first.status, first.reason, first.error) == ("error", f"raised: {said}", said)
        assert second.status == "inconclusive"
    samples = [r.sample for r in asyncio.run(areplay_cases(make_cases(2), crashes_later, run_id="r"))]
    assert [sample.status for sample in samples] == ["error", "inconclusive"]


def test_an_exception_that_cannot_be_shown_is_still_named(make_cases: Make) -> None:
    class SilentError(Exception):
        def __str__(self) -> str:
            raise ValueError

    def crashes(case: EvalCase) -> str:
        raise SilentError

    assert one(make_cases(1), crashes).reason == "raised: SilentError: (its text cannot be read)"


def test_a_function_that_waits_blocks_or_eats_its_cancellation_ends_at_its_limit(
    make_cases: Make, new_session: New, gate: threading.Event
) -> None:
    async def stuck(case: EvalCase) -> ReplayResult:
        if case.id == "c0":
            await asyncio.Event().wait()
        if case.id == "c1":
            gate.wait()
        if case.id == "c2":
            while not gate.is_set():
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.sleep(60)
        if case.id == "c3":
            await asyncio.to_thread(gate.wait)
        return ReplayResult(new_session(), scores={"quality": 1})

    begun = time.monotonic()
    for concurrency in (1, 5):
        records = run(make_cases(5), stuck, timeout_s=1.0, concurrency=concurrency)
        assert ends(records) == ["timeout"] * 4 + ["scored"]
        assert {record.sample.reason for record in records[:4]} == {"timed_out: after 1 s"}
        assert all(1.0 <= (record.sample.duration_s or 0) < 5 for record in records[:4])
    assert time.monotonic() - begun < 20


def test_on_the_callers_loop_what_awaits_is_bounded_and_what_is_not_async_goes_to_a_thread(
    make_cases: Make, new_session: New, gate: threading.Event
) -> None:
    async def waits(case: EvalCase) -> ReplayResult:
        if case.id == "c0":
            await asyncio.Event().wait()
        return ReplayResult(new_session(), scores={"loop": float(asyncio.get_running_loop() is loops[0])})

    def blocks(case: EvalCase) -> str:
        gate.wait()
        return new_session()

    loops: list[Any] = []

    async def main() -> list[Record]:
        loops.append(asyncio.get_running_loop())
        found = await areplay_cases(make_cases(2), waits, run_id="r", timeout_s=1.0)
        return found + await areplay_cases(make_cases(1), blocks, run_id="r", timeout_s=0.1)

    records = asyncio.run(main())
    assert ends(records) == ["timeout", "scored", "timeout"]
    assert records[1].scores[0].value == 1.0


def test_waiting_for_an_environment_has_a_limit_of_its_own(make_cases: Make, new_session: New) -> None:
    async def slow_environment(case: EvalCase, context: Any) -> ReplayResult:
        if case.id == "never":
            await asyncio.Event().wait()
        await asyncio.sleep(0.2)
        context.mark_execution_started()
        if case.id == "hangs":
            await asyncio.Event().wait()
        return ReplayResult(new_session(), scores={"quality": 1})

    cases = [EvalCase(id=name, replay_input=1) for name in ("ready", "never", "hangs")]
    ready, never, hangs = (r.sample for r in run(cases, slow_environment, timeout_s=1.0, env_wait_s=2.0))
    assert ready.status == "scored"
    assert ready.env_wait_s >= 0.2 > ready.duration_s
    assert (never.status, never.reason) == ("timeout", "env_wait_timeout: not ready after 2 s")
    assert (never.duration_s, never.env_wait_s >= 2) == (0.0, True)
    assert (hangs.status, hangs.reason) == ("timeout", "timed_out: after 1 s")
    assert 0.2 <= hangs.env_wait_s < 2


def test_a_crash_before_the_start_signal_is_no_wait_and_the_grace_is_for_every_case(make_cases: Make) -> None:
    started: list[bool] = []

    async def crashes(case: EvalCase, context: Any) -> str:
        started.append(context.execution_started)
        context.mark_execution_started()
        raise RuntimeError("host gone")

    def never_signals(case: EvalCase) -> str:
        raise RuntimeError("host gone")

    assert ends(run(make_cases(3), crashes, env_wait_s=5.0)) == ["error"] * 3
    assert started == [False] * 3
    assert one(make_cases(1), never_signals, env_wait_s=5.0).reason == "raised: RuntimeError: host gone"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (None, "found None"),
        (7, "found 7 (int)"),
        (b"x", "(bytes)"),
        ("", "empty"),
        (" ", "empty"),
        ("original", "the session the case was captured from"),
    ],
)
def test_a_session_id_that_is_none_is_an_error(make_cases: Make, given: Any, said: str) -> None:
    for answer in (given, ReplayResult(given)):
        sample = one(make_cases(1), lambda case, answer=answer: answer)
        assert sample.status == "error"
        assert sample.reason.startswith("bad_session_id: ")
        assert said in sample.reason


def test_a_session_returned_twice_counts_once(make_cases: Make) -> None:
    records = run(make_cases(2), lambda case: ReplayResult("same", scores={"q": 1}))
    assert ends(records) == ["scored", "error"]
    assert "another replay of this run" in str(records[1].sample.reason)


def test_the_case_is_a_copy(make_cases: Make, new_session: New) -> None:
    def spoils(case: EvalCase) -> str:
        case.replay_input["n"] = "spoilt"
        case.baseline_scores.clear()
        return new_session()

    cases = make_cases(1)
    sample = one(cases, spoils)
    assert cases[0].replay_input == {"n": 0}
    assert cases[0].baseline_scores == {"quality": 0.9}
    assert json.loads(sample.input) == {"n": 0}


def test_retries_are_attempts_of_the_same_trial(make_cases: Make, new_session: New) -> None:
    calls: list[str] = []

    def flaky(case: EvalCase) -> ReplayResult:
        calls.append(case.id)
        if calls.count(case.id) < 3 and case.id == "c0":
            raise ConnectionError("rate limited")
        return ReplayResult(new_session(), scores={"q": 0.0})

    samples = [record.sample for record in run(make_cases(2), flaky, retries=5)]
    assert [(s.case_id, s.trial, s.attempt, s.status) for s in samples] == [
        ("c0", 1, 1, "error"),
        ("c0", 1, 2, "error"),
        ("c0", 1, 3, "scored"),
        ("c1", 1, 1, "scored"),
    ]
    assert len({s.sample_id for s in samples}) == 4


def test_scoring(make_cases: Make, new_session: New, gate: threading.Event) -> None:
    async def judge(session: str) -> dict[str, Any]:
        return {"good": 0.5, "broken": float("nan"), "text": "0.9"}

    def fails(session: str) -> dict[str, float]:
        raise ConnectionError("judge gone")

    def hangs(session: str) -> dict[str, float]:
        gate.wait()
        return {}

    def replay(case: EvalCase) -> str:
        return new_session()

    record = run(make_cases(1), replay, scorer=judge, verifier=lambda case, session: True)[0]
    assert {(row.metric, row.grader): (row.status, row.value) for row in record.scores} == {
        ("good", "judge"): ("ok", 0.5),
        ("broken", "judge"): ("unscored", None),
        ("text", "judge"): ("unscored", None),
        ("outcome_correct", "verifier"): ("ok", 1.0),
    }
    record = run(make_cases(1), replay, scorer=fails, verifier=lambda case, session: True)[0]
    assert record.sample.reason == "scoring_failed: ConnectionError: judge gone"
    assert [row.metric for row in record.scores] == ["outcome_correct"]
    assert one(make_cases(1), replay, scorer=lambda s: [1]).reason.startswith("scoring_failed: scores must be a map")
    late = one(make_cases(1), replay, scorer=hangs, scoring_timeout_s=0.1)
    assert late.reason == "scoring_failed: no answer after 0.1 s"
    assert one(make_cases(1), replay, scorer=lambda s: {"q": None}).reason == "no_scores"


def test_scores_of_the_replay_itself_keep_the_scorer_out(make_cases: Make, new_session: New) -> None:
    asked: list[str] = []
    record = run(
        make_cases(1), lambda case: ReplayResult(new_session(), scores={"q": 1, "bad": True}), scorer=asked.append
    )[0]
    assert not asked
    assert [(row.metric, row.grader, row.status) for row in record.scores] == [
        ("bad", "replay", "unscored"),
        ("q", "replay", "ok"),
    ]


def test_what_a_replay_reports_is_kept_as_plain_data(make_cases: Make, new_session: New) -> None:
    sample = one(
        make_cases(1),
        lambda case: ReplayResult(
            new_session(), output={"x": float("nan"), "at": object}, steps=[("call", 1)], input_tokens=7, cost_usd=0.5
        ),
    )
    assert json.loads(sample.output)["x"] == "nan"
    assert json.loads(sample.steps) == [["call", 1]]
    assert (sample.input_tokens, sample.output_tokens, sample.cost_usd) == (7, None, 0.5)


def test_a_replay_may_say_that_it_proves_nothing(make_cases: Make) -> None:
    def nothing(case: EvalCase) -> str:
        raise InconclusiveError("the tool was switched off")

    sample = one(make_cases(1), nothing)
    assert (sample.status, sample.reason) == ("inconclusive", "no_scores: the tool was switched off")


def test_the_ledger_of_read_rules_is_per_replay(make_cases: Make, new_session: New) -> None:
    rules = [RuleRecord(rule_id="r-1", status="candidate", rule="Look first.", scope="orders")]

    def reads_once(case: EvalCase, context: Any) -> str:
        assert context.candidate_rule_id == "r-1"
        if case.id == "c0":
            context.task_tools.call("harness_rules_read", {"scope": "orders"})
        return new_session()

    samples = [r.sample for r in run(make_cases(2), reads_once, rules=rules, rule="r-1")]
    assert [sample.candidate_surfaced for sample in samples] == [True, False]
    assert one(make_cases(1), lambda case: new_session(), rules=rules).candidate_surfaced is None


def test_seeds_are_of_the_case_and_trial_and_not_of_the_order(make_cases: Make, new_session: New) -> None:
    def seen_in(cases: list[EvalCase], seed: int) -> dict[tuple[str, int], int]:
        found: dict[tuple[str, int], int] = {}

        def replay(case: EvalCase, context: Any) -> str:
            found[case.id, context.trial] = context.seed
            return new_session()

        run(cases, replay, trials=2, seed=seed)
        return found

    first = seen_in(make_cases(3), 1)
    assert first == seen_in(make_cases(3)[::-1], 1)
    assert len(set(first.values())) == 6
    assert first != seen_in(make_cases(3), 2)


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 6), st.integers(1, 3), st.integers(1, 8), st.randoms())
def test_row_order_never_depends_on_concurrency(count: int, trials: int, concurrency: int, random: Any) -> None:
    cases = [EvalCase(id=f"c{i}", replay_input=i) for i in range(count)]

    async def later(case: EvalCase, context: Any) -> ReplayResult:
        for _ in range(random.randrange(4)):
            await asyncio.sleep(0)
        return ReplayResult(f"{case.id}-{context.trial}", scores={"q": context.seed % 2})

    records = run(cases, later, trials=trials, concurrency=concurrency)
    assert [(r.sample.case_id, r.sample.trial) for r in records] == [
        (case.id, trial) for case in cases for trial in range(1, trials + 1)
    ]
    again = run(cases, later, trials=trials)
    assert [r.scores for r in records] == [r.scores for r in again]


def test_attempts_reach_the_sink_as_they_end_and_its_failure_stops_the_run(make_cases: Make, new_session: New) -> None:
    heard: list[str] = []

    def sink(sample: Any, scores: Any) -> None:
        heard.append(sample.case_id)
        if len(heard) == 2:
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        run(make_cases(5), lambda case: new_session(), sink=sink)
    assert heard == ["c0", "c1"]


def test_an_interrupt_from_inside_stops_the_run_and_keeps_what_had_ended(make_cases: Make, new_session: New) -> None:
    kept: list[Any] = []

    async def interrupted(case: EvalCase) -> str:
        if case.id == "c2":
            raise KeyboardInterrupt
        if case.id not in ("c0", "c2") and concurrency > 1:
            await asyncio.Event().wait()
        return new_session()

    for concurrency in (1, 3):
        kept.clear()
        with pytest.raises(KeyboardInterrupt):
            run(make_cases(9), interrupted, sink=lambda s, _: kept.append(s), concurrency=concurrency, timeout_s=30)
        ended = {sample.case_id: sample.reason for sample in kept}
        assert ended["c0"] == "no_scores"
        assert ended["c2"] == "interrupted"
        assert ended["c1"] == ("no_scores" if concurrency == 1 else "interrupted")
        assert len(kept) <= 4


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"trials": 0}, "trials must be a whole number from 1 up; found 0"),
        ({"concurrency": 1000}, "from 1 to 256; found 1000"),
        ({"retries": True}, "retries must be"),
        ({"timeout_s": 0}, "timeout_s must be a number of seconds above 0"),
        ({"env_wait_s": -1}, "env_wait_s must be"),
        ({"rule": "r-9"}, "'r-9' is no candidate or active rule"),
    ],
)
def test_settings_out_of_range_are_refused(make_cases: Make, options: dict[str, Any], said: str) -> None:
    with pytest.raises(ReplayError, match=re.escape(said)):
        run(make_cases(1), lambda case: "s", **options)


def test_the_same_case_twice_is_refused(make_cases: Make) -> None:
    with pytest.raises(ReplayError, match="'c0' was given more than once"):
        run(make_cases(1) * 2, lambda case: "s")
