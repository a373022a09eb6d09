"""PandaProbe's command as a scorer, against a stand-in program that does what its manual says, or something else."""

from __future__ import annotations

import json
import stat
import sys
from pathlib import Path

import pytest
from made_live import Live

from harnesskit.model.config import HarnessConfig
from harnesskit.replays.command_json import CommandError, run_json
from harnesskit.replays.pandaprobe import PandaProbe
from harnesskit.replays.trace_scores import TraceScorer

STAND_IN = Path(__file__).with_name("pandaprobe_stand_in.py")


class Command:
    """The stand-in, its script of answers, and what it was called with."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "pandaprobe"
        self.path.write_text(f"#!{sys.executable} -S\n{STAND_IN.read_text()}")
        self.path.chmod(self.path.stat().st_mode | stat.S_IXUSR)
        self.slept: list[float] = []

    def scorer(self, *, script=None, **settings) -> PandaProbe:
        (self.folder / "script.json").write_text(json.dumps(script or {}))
        settings = {"cli_timeout_s": 60, "eval_retry_attempts": 2, "poll_max_attempts": 3, **settings}
        return PandaProbe(HarnessConfig(cli_binary=str(self.path), **settings), sleep=self.slept.append)

    @property
    def calls(self) -> list[list[str]]:
        log = self.folder / "calls.jsonl"
        return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


@pytest.fixture
def command(tmp_path):
    if sys.platform == "win32":
        pytest.skip("the stand-in needs a #! line")
    return Command(tmp_path)


SCORES = {"task_completion": 0.8, "coherence": 0.7, "tool_correctness": 0.4, "argument_correctness": 0.3}
METRICS = "--metrics=" + ",".join(SCORES)


def test_a_session_is_scored_on_its_newest_completed_trace(command):
    scorer = command.scorer()
    assert scorer("-s 1; rm") == SCORES
    assert [call[2:] for call in command.calls] == [
        ["traces", "list", "--session-id=-s 1; rm", "--status=COMPLETED", "--sort-by=started_at",
         "--sort-order=desc", "--limit=50"],
        ["evals", "runs", "batch", "--target=trace", METRICS, "--trace-ids=t-2"],
        ["evals", "runs", "scores", "--target=trace", "--", "e-1"],
    ]  # fmt: skip
    assert isinstance(scorer, TraceScorer)
    assert command.slept == []


def test_pending_scores_are_polled_for(command):
    assert command.scorer(script={"pending": 2}, poll_interval_s=7)("s-1") == SCORES
    assert command.slept == [7, 7]
    assert [call[4] for call in command.calls if call[2] == "evals"] == ["batch", "get", "get", "scores"]


def test_scores_that_never_come_are_unscored_and_pending(command):
    scorer = command.scorer(script={"pending": 99})
    (found,) = scorer.score_traces(["t-2"], ["coherence"])
    assert found.scores["coherence"].value is None
    assert found.scores["coherence"].pending
    assert "after 3 looks" in found.scores["coherence"].reason


def test_a_failed_run_says_why_nothing_is_scored(command):
    (found,) = command.scorer(script={"status": "FAILED", "scores": []}).score_traces(["t-2"], ["coherence"])
    assert found.scores["coherence"].reason == "the judge is out of tokens"


def test_a_failed_score_is_unscored_and_thresholds_are_taken(command):
    scores = [
        {"trace_id": "t-2", "name": "coherence", "value": None, "status": "FAILED", "reason": "refused"},
        {"trace_id": "t-2", "name": "task_completion", "value": "0.6", "metadata": {"threshold": 0.7}},
        {"trace_id": "t-2", "name": "tool_correctness", "value": "good"},
        {"trace_id": "t-2", "name": "argument_correctness", "value": "nan"},
    ]
    (found,) = command.scorer(script={"scores": scores}).score_traces(["t-2"], list(SCORES))
    assert {name: one.value for name, one in found.scores.items()} == {
        "coherence": None, "task_completion": 0.6, "tool_correctness": None, "argument_correctness": None
    }  # fmt: skip
    assert found.scores["task_completion"].threshold == 0.7
    assert found.scores["coherence"].reason == "refused"
    assert found.scores["tool_correctness"].reason == "the text 'good' is not a number"


@pytest.mark.parametrize(
    ("mode", "message"),
    [
        ("garbage", r"no usable JSON .* It begins: '<html>"),
        ("silent", "no usable JSON"),
        ("crash", "failed with exit code 1; it said: network is down"),
        ("odd", "must list traces; found an object"),
    ],
)
def test_a_command_that_fails_is_tried_again_and_then_named(command, mode, message):
    scorer = command.scorer(script={"mode": mode}, eval_retry_attempts=3, eval_retry_backoff_s=2)
    with pytest.raises(CommandError, match=message):
        scorer("s-1")
    if mode != "odd":  # well-formed, only not what was asked for
        assert command.slept == [2, 4]
        assert len(command.calls) == 3


def test_a_command_that_recovers_is_not_noticed(command):
    assert command.scorer(script={"fail_first": 1})("s-1") == SCORES
    assert command.slept == [1.0]


@pytest.mark.parametrize("code", [2, 3, 4])
def test_what_was_refused_is_not_asked_again(command, code):
    with pytest.raises(CommandError, match=f"exit code {code}"):
        command.scorer(script={"mode": "crash", "code": code})("s-1")
    assert len(command.calls) == 1


def test_a_command_that_hangs_is_killed_with_its_children(command):
    scorer = command.scorer(script={"mode": "hang"}, cli_timeout_s=0.3, eval_retry_attempts=1)
    with pytest.raises(CommandError, match=r"did not end within 0\.3 s"):
        scorer("s-1")


def test_a_missing_command_is_named_and_not_tried_again(tmp_path):
    scorer = PandaProbe(HarnessConfig(cli_binary=str(tmp_path / "none")), sleep=pytest.fail)
    with pytest.raises(CommandError, match="was not found; install it or set cli_binary"):
        scorer("s-1")
    assert "was not found" in (scorer.health() or "")


def test_a_session_without_a_completed_trace_is_waited_for_and_then_refused(command):
    scorer = command.scorer(script={"traces": [{"trace_id": "t-9", "status": "RUNNING"}]})
    with pytest.raises(CommandError, match="'s-1' has no completed trace"):
        scorer("s-1")
    assert command.slept == [1.0, 1.0]


def test_traces_are_ordered_by_time_whatever_the_order_of_the_answer(command):
    traces = [
        {"trace_id": "b", "status": "COMPLETED", "started_at": "2026-06-01T10:00:00.5Z"},
        {"trace_id": "c", "status": "COMPLETED", "started_at": "2026-06-01T12:00:00+01:30"},
        {"trace_id": "a", "status": "COMPLETED", "started_at": "2026-06-01T10:00:00Z"},
    ]
    assert command.scorer(script={"traces": traces}).new_traces("s-1", {"x"}) == ["a", "b", "c"]
    assert command.scorer(script={"traces": traces}).new_traces("s-1", {"a", "b"}) == ["c"]


def test_a_name_that_the_command_would_split_is_refused(command):
    with pytest.raises(CommandError, match="no name with a comma"):
        command.scorer().score_traces(["t-1,t-2"], ["coherence"])
    assert command.calls == []


def test_the_command_scores_live_turns_tier_by_tier(command):
    live = Live(command.folder / "workspace", scorer=command.scorer(script={"low": True}))
    (command.folder / "workspace").mkdir()
    outcome = live.hook.on_turn_end_now({"session_id": "s-1", "end_state": {"task": 1}})
    assert outcome.signatures == (
        "breach:argument_correctness", "breach:tool_correctness", "stall:coherence", "stall:task_completion",
    )  # fmt: skip
    asked = [call[6:] for call in command.calls if call[2:5] == ["evals", "runs", "batch"]]
    assert asked == [
        ["--metrics=task_completion,coherence", "--trace-ids=t-1,t-2"],
        ["--metrics=tool_correctness,argument_correctness", "--trace-ids=t-2"],
    ]
    assert live.events("health")[0]["ok"] is True
    assert live.cases.kept[0].replay_input == {"task": 1}


def test_a_command_that_is_down_leaves_live_turns_unscored(command):
    live = Live(command.folder / "workspace", scorer=command.scorer(script={"mode": "crash"}))
    (command.folder / "workspace").mkdir()
    outcome = live.hook.on_turn_end_now({"session_id": "s-1"})
    assert outcome.status == "unscored"
    assert "network is down" in outcome.reason


def test_output_of_any_length_is_bounded(monkeypatch):
    monkeypatch.setattr("harnesskit.replays.command_json.MAX_OUTPUT_BYTES", 10)
    with pytest.raises(CommandError, match="wrote more than"):
        run_json([sys.executable, "-S", "-c", "print('x' * 100)"], 60)
