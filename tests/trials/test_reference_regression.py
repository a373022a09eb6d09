"""Regression runs under the reference policy: the reference's scripted runs, and what happens when things go wrong."""

from __future__ import annotations

import asyncio
import json
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from trials.intended_differences import CASES, MESSY_CASES, MESSY_READ, RUNS
from trials.scripted_replays import LIMIT_S, WORKSPACES, Script, answers, config

from harnesskit.model.case import EvalCase
from harnesskit.model.config import HarnessConfig
from harnesskit.trials.reference_regression import run_reference_regression
from harnesskit.trials.regression_report import RegressionReport
from harnesskit.trials.replayer import Replayer, finish
from harnesskit.workspace.evalset_store import EvalSet
from harnesskit.workspace.journal import read_journal
from harnesskit.workspace.journal_writer import append_event
from harnesskit.workspace.journaled import journaled_runs

BLOCKS = (
    "edge", "mixed", "no_replay", "noise", "noise_cfg_sample7", "noise_margins_0.1_0.2", "noise_sample5",
    "noise_sample_neg", "same",
)  # fmt: skip


def run_block(shared: Path, workspace: str, block: str) -> tuple[RegressionReport, Script, dict[str, Any], list]:
    answer = answers(shared, workspace, "regression")[block]
    script = Script(answer["script"])
    replayer = None if block == "no_replay" else script.replayer()
    settings = config(**answer["config"])
    evalset = EvalSet(shared / "reference" / "workspaces" / WORKSPACES[workspace], settings)
    events: list[tuple[str, dict[str, Any]]] = []
    run = run_reference_regression(
        evalset.cases(), replayer, settings, sample=answer["sample"], journal=lambda t, **f: events.append((t, f))
    )
    return asyncio.run(run), script, answer, events


def expected(result: dict[str, Any], script: dict[str, Any], config: dict[str, Any]) -> dict[str, Any]:
    step = script.get(result["case_id"], {"do": "scores"})
    if result["reason"].startswith("no re"):  # not replayed at all
        return result
    for difference in CASES:
        if difference.do == step["do"]:
            result = difference.change(result, step)
    return result


@pytest.mark.filterwarnings("ignore:No replay function")
@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("workspace", ["mid", "small"])
def test_scripted_runs_are_reproduced_but_for_the_stated_differences(shared: Path, workspace: str, block: str) -> None:
    report, script, answer, events = run_block(shared, workspace, block)
    theirs = answer["ok"]["json"]
    wanted = [expected(result, answer["script"], answer["config"]) for result in theirs["results"]]
    found = report.to_dict()
    for ours, want in zip(found["results"], wanted, strict=True):
        if want["replay_session_id"] is ...:
            want["replay_session_id"] = ours["replay_session_id"]
        assert ours == want
    assert script.calls == [call["case_id"] for call in answer["call_order"]]
    counts = {status: sum(r["status"] == status for r in wanted) for status in ("improved", "unchanged", "regressed")}
    assert {name: found[name] for name in counts} == counts
    assert found["total_cases"] == theirs["total_cases"]
    assert found["replayed"] + found["skipped"] + found["inconclusive"] == found["total_cases"]
    assert found["clean"] == (theirs["clean"] and block not in RUNS)
    assert set(found) == {*theirs, "inconclusive"}
    [(kind, fields)] = events
    assert kind == "regression"
    assert fields["results"] == found["results"][:50]
    json.dumps(fields, allow_nan=False)


@pytest.mark.parametrize("block", ["edge", "noise", "noise_cfg_sample7", "noise_margins_0.1_0.2", "same"])
def test_the_text_is_the_references_when_everything_was_replayed(shared: Path, block: str) -> None:
    report, _, answer, _ = run_block(shared, "mid", block)
    assert report.text() == answer["ok"]["text"]


def test_a_run_that_changes_nothing_changes_no_number(shared: Path) -> None:
    """Without the differences in failed replays, the counts are the reference's own."""
    report, _, answer, _ = run_block(shared, "mid", "noise")
    theirs = answer["ok"]["json"]
    same = ("total_cases", "replayed", "improved", "unchanged", "regressed", "skipped", "clean")
    assert {name: report.to_dict()[name] for name in same} == {name: theirs[name] for name in same}


@pytest.mark.parametrize("block", ["same", "noise", "edge"])
def test_a_messy_workspace_differs_in_what_is_read_alone(shared: Path, block: str) -> None:
    report, _, answer, _ = run_block(shared, "messy", block)
    theirs = {result["case_id"]: result for result in answer["ok"]["json"]["results"]}
    ours = {result.case_id: result.to_dict() for result in report.results}
    assert set(ours) - set(theirs) == MESSY_READ["ours"]
    assert set(theirs) - set(ours) == MESSY_READ["theirs"]
    for case_id in set(ours) & set(theirs):
        changes, _ = MESSY_CASES.get(case_id, ({}, ""))
        want = {**theirs[case_id], **changes}
        for volatile in ("replay_session_id", "kind") if case_id == "c-m19" else ("replay_session_id",):
            want[volatile] = ours[case_id][volatile]  # calls are counted in another order
        assert ours[case_id] == want


# What goes wrong, and what is said of it.


def wins(n: int) -> list[EvalCase]:
    return [
        EvalCase(id=f"c-{i}", kind="win", session_id=f"s-{i}", baseline_scores={"q": 0.8}, replay_input={"i": i})
        for i in range(n)
    ]


def run(cases: list[EvalCase], replay: Any, scores: dict[str, float] | None = None, **fields: Any) -> RegressionReport:
    replayer = Replayer(replay, lambda session: {"q": 0.8} if scores is None else scores, blocking=True)
    return finish(run_reference_regression(cases, replayer, config(), **fields))


def test_without_a_replay_function_everything_is_skipped_with_one_warning() -> None:
    with pytest.warns(UserWarning, match="No replay function") as caught:
        report = finish(run_reference_regression(wins(3), None, HarnessConfig()))
    assert len(caught) == 1
    assert (report.skipped, report.clean, report.decision.exit_code) == (3, False, 3)
    assert report.text().endswith("INCONCLUSIVE: nothing could be compared")


def test_held_regressed_and_inconclusive_add_up_to_all_cases() -> None:
    def replay(case: EvalCase) -> str:
        i = case.replay_input["i"]
        if i in (16, 17):
            raise ValueError("no tool")
        return f"low-{i}" if i >= 12 and i < 16 else f"new-{i}"

    cases = wins(18)
    replayer = Replayer(replay, lambda session: {"q": 0.1 if session.startswith("low") else 0.8}, blocking=True)
    report = finish(run_reference_regression(cases, replayer, config()))
    assert (report.unchanged, report.regressed, report.inconclusive) == (12, 4, 2)
    assert "regressed 4, skipped 0, inconclusive 2" in report.text().splitlines()[0]
    assert report.decision.verdict == "fail"


def test_an_error_everywhere_is_inconclusive_not_clean() -> None:
    def replay(case: EvalCase) -> str:
        raise SystemExit(1)

    report = run(wins(2), replay)
    assert [r.reason for r in report.results] == ["replay failed: SystemExit: 1"] * 2
    assert (report.clean, report.decision.exit_code) == (False, 3)


def test_no_shared_metric_is_inconclusive() -> None:
    report = run(wins(1), lambda case: "new", {"agent_reliability": 0.9})
    assert [r.status for r in report.results] == ["inconclusive"]
    assert report.results[0].replay_scores == {"agent_reliability": 0.9}
    assert not report.clean


def test_the_original_session_is_no_replay() -> None:
    report = run(wins(1), lambda case: case.session_id)
    assert report.results[0].status == "inconclusive"
    assert "captured from" in report.results[0].reason


def test_a_scorer_that_fails_says_so() -> None:
    def scorer(session: str) -> dict[str, float]:
        raise ConnectionError("refused")

    report = finish(run_reference_regression(wins(1), Replayer(lambda c: "new", scorer, blocking=True), config()))
    assert report.results[0].reason == "scoring failed: ConnectionError: refused"


def test_a_stopped_run_journals_what_it_had_and_stops() -> None:
    def replay(case: EvalCase) -> str:
        if case.id == "c-0":
            raise KeyboardInterrupt
        return f"new-{case.id}"

    events: list[dict[str, Any]] = []
    with pytest.raises(KeyboardInterrupt):
        run(wins(3), replay, journal=lambda kind, **fields: events.append(fields))
    [event] = events
    assert (event["total"], event["replayed"], event["skipped"], event["clean"]) == (3, 2, 1, False)
    assert event["interrupted"] is True


def test_a_cancelled_run_journals_what_it_had() -> None:
    async def go() -> list[dict[str, Any]]:
        begun = asyncio.Event()

        async def replay(case: EvalCase) -> str:
            begun.set()
            await asyncio.sleep(60)
            return "never"

        events: list[dict[str, Any]] = []
        settings = HarnessConfig()
        running = asyncio.ensure_future(
            run_reference_regression(
                wins(2), Replayer(replay), settings, journal=lambda kind, **fields: events.append(fields)
            )
        )
        await begun.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        return events

    [event] = asyncio.run(go())
    assert (event["skipped"], event["interrupted"]) == (2, True)


def test_a_metric_where_lower_is_better_regresses_as_it_rises() -> None:
    report = run(wins(1), lambda case: "new", {"q": 0.9}, lower_is_better={"q"})
    assert report.results[0].status == "regressed"


def test_a_decision_names_the_cases_and_what_was_left_out() -> None:
    def replay(case: EvalCase) -> str:
        if case.id == "c-0":
            raise ValueError("no tool")
        return case.id + "-new"

    decision = run(wins(2), replay, {"q": 0.5}).decision
    assert decision.verdict == "fail"
    assert decision.reasons == [
        "c-1 fell by 0.30 in q.",
        "1 of 1 compared got worse.",
        "1 of 2 cases inconclusive: replay failed: ValueError: no tool (1).",
    ]
    assert decision.checks["state"].tolist() == ["unmet"]


def test_what_is_journaled_is_read_back_as_it_was(tmp_path: Path) -> None:
    def replay(case: EvalCase) -> str:
        if case.id == "c-0":
            raise ValueError("no tool")
        if case.id == "c-1":
            time.sleep(2 * LIMIT_S)
        return f"new-{case.id}"

    report = run(wins(4), replay, {"q": 0.5}, journal=partial(append_event, tmp_path))
    journal = read_journal(tmp_path / "journal.jsonl")
    rows = journaled_runs(journal.events)
    assert [*journal.problems, *rows.problems] == []
    assert {row.case_id: row.status for row in rows.samples} == {
        "c-0": "error", "c-1": "timeout", "c-2": "scored", "c-3": "scored",
    }  # fmt: skip
    [kept] = rows.runs
    assert json.loads(kept.parameters or "")["inconclusive"] == report.inconclusive == 2
