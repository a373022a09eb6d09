"""The public verb: frames in, frames out, run folders, and going on where a run was cut off."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from harnesskit.harness import open_workspace
from harnesskit.measures.deltas import case_deltas
from harnesskit.model.case import EvalCase
from harnesskit.model.errors import FrameError, WorkspaceError
from harnesskit.model.frames import SAMPLES
from harnesskit.model.replay import ReplayError, ReplayResult
from harnesskit.model.views import CASE_SCORES
from harnesskit.replays.frames import case_scores
from harnesskit.replays.recorded import recorded
from harnesskit.replays.replay import areplay, replay
from harnesskit.workspace.runs import read_run, run_folder

Make = Callable[..., list[EvalCase]]
New = Callable[[], str]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace with three cases."""
    (tmp_path / "evalset").mkdir()
    for number in range(3):
        case = {
            "id": f"c{number}", "created_at": f"2026-01-0{number + 1}T00:00:00+00:00", "session_id": f"s{number}",
            "kind": "win", "signature": ["healthy"], "baseline_scores": {"quality": 0.9},
            "replay_input": {"n": number}, "notes": "",
        }  # fmt: skip
        (tmp_path / "evalset" / f"c{number}.json").write_text(json.dumps(case), encoding="utf-8")
    return tmp_path


def test_from_the_cases_frame_to_case_deltas(root: Path, new_session: New) -> None:
    harness = open_workspace(root)
    cases = harness.table("cases")

    def agent(case: EvalCase) -> ReplayResult:
        assert case.signature == ("healthy",)
        assert case.baseline_scores == {"quality": 0.9}
        return ReplayResult(new_session(), scores={"quality": case.replay_input["n"] / 2})

    samples = replay(cases, agent, trials=2, root=root, run="now", label="a change", fingerprint="v2")
    assert tuple(samples.columns) == (*SAMPLES.columns, "role", "kind", "scores")
    assert samples["trial"].tolist() == [1, 2] * 3
    harness.refresh()
    stored = harness.table("samples").query("run_id == 'now'").set_index("sample_id")
    for name in list(SAMPLES.columns)[1:]:
        ours = samples.set_index("sample_id")[name].reindex(stored.index)
        assert ours.dtype == stored[name].dtype, name
        pd.testing.assert_series_equal(ours, stored[name], check_names=False)
    scores = case_scores(samples)
    assert tuple(scores.columns) == tuple(CASE_SCORES.columns)
    assert scores["value"].tolist() == [0.0, 0.0, 0.5, 0.5, 1.0, 1.0]
    assert case_deltas(harness.scores(role="captured"), scores)["n_candidate"].tolist() == [2, 2, 2]
    run = harness.table("runs").set_index("run_id").loc["now"]
    assert (run["label"], run["version"], run["role"]) == ("a change", "v2", "replay")
    assert not pd.isna(run["finished_at"])
    assert harness.runs()["n_asked"].tolist() == [3]


def test_a_hand_made_frame_needs_an_id_and_an_input(new_session: New) -> None:
    frame = pd.DataFrame({"case_id": ["a", "b", "c"], "replay_input": ['"text"', {"decoded": 1}, None]})
    seen: list[Any] = []

    def agent(case: EvalCase) -> str:
        seen.append(case.replay_input)
        return new_session()

    assert replay(frame, agent)["status"].tolist() == ["inconclusive", "inconclusive", "skipped"]
    assert seen == ["text", {"decoded": 1}]
    with pytest.raises(FrameError, match=r"replay\(\).*case_id"):
        replay(frame.rename(columns={"case_id": "id"}), agent)
    with pytest.raises(FrameError, match="that of 'a' is not"):
        replay(frame.assign(replay_input="{"), agent)
    with pytest.raises(ReplayError, match="given more than once: 'a'"):
        replay(frame.assign(case_id="a"), agent)


def test_an_eval_set_and_a_list_are_cases_too_and_no_cases_are_no_rows(make_cases: Make, new_session: New) -> None:
    class Set:
        def cases(self) -> list[EvalCase]:
            return make_cases(2)

    assert len(replay(Set(), lambda case: new_session())) == 2
    empty = replay([], lambda case: new_session())
    assert (len(empty), list(case_scores(empty).columns)) == (0, list(CASE_SCORES.columns))
    assert len(asyncio.run(areplay(make_cases(2), lambda case: new_session()))) == 2
    with pytest.raises(ReplayError, match="found str"):
        replay("c-1", lambda case: new_session())
    with pytest.raises(ReplayError, match="'set' cannot be written as JSON"):
        replay([EvalCase(id="set", replay_input={"x": object()})], lambda case: new_session())


def test_one_sided_failures_stay_visible_as_rows(make_cases: Make, new_session: New) -> None:
    def agent(case: EvalCase) -> ReplayResult:
        if case.id == "c1":
            raise RuntimeError("gone")
        return ReplayResult(new_session(), scores={"quality": 1})

    scores = case_scores(replay(make_cases(2), agent))
    assert scores[["case_id", "metric", "status", "reason"]].to_numpy().tolist() == [
        ["c0", "quality", "ok", None],
        ["c1", None, "unscored", "raised: RuntimeError: gone"],
    ]


def test_resume_runs_only_what_is_missing(make_cases: Make, new_session: New, tmp_path: Path) -> None:
    calls: list[str] = []
    broken = {"c1"}

    def agent(case: EvalCase) -> ReplayResult:
        calls.append(case.id)
        if case.id in broken:
            raise ConnectionError("rate limited")
        return ReplayResult(new_session(), scores={"quality": 1})

    first = replay(make_cases(3), agent, root=tmp_path, run="r")
    assert first["status"].tolist() == ["scored", "error", "scored"]
    broken.clear()
    again = replay(make_cases(4), agent, root=tmp_path, resume="r", trials=2)
    assert calls[3:] == ["c1", "c3", "c0", "c1", "c2", "c3"]
    told = again[["case_id", "trial", "attempt", "status", "counts"]].to_numpy().tolist()
    assert told[:4] == [
        ["c0", 1, 1, "scored", True],
        ["c0", 2, 1, "scored", True],
        ["c1", 1, 1, "error", False],
        ["c1", 1, 2, "scored", True],
    ]
    _, samples, scores, problems = read_run(run_folder(tmp_path, "r"))
    assert (len(samples), len(scores), problems) == (9, 8, [])
    assert replay(make_cases(4), agent, root=tmp_path, resume="r", trials=2).equals(again)
    assert len(calls) == 9


def test_resume_refuses_what_changed_and_says_what(make_cases: Make, new_session: New, tmp_path: Path) -> None:
    def agent(case: EvalCase) -> str:
        return new_session()

    def other(case: EvalCase) -> str:
        return new_session() + "!"

    def judge(session: str) -> dict[str, float]:
        return {"quality": 1.0}

    replay(make_cases(2), agent, root=tmp_path, run="r", scorer=judge)
    refused: list[tuple[Any, Any, dict[str, Any], str]] = [
        (make_cases(2), other, {"scorer": judge}, "the replay function changed"),
        (make_cases(2), agent, {}, "the scorer changed"),
        (make_cases(2), agent, {"scorer": judge, "timeout_s": 5}, r"timeout_s changed \(was 300.0, is now 5\)"),
        (make_cases(2), agent, {"scorer": judge, "fingerprint": "v2"}, "the fingerprint changed"),
        (make_cases(2, replay_input={"n": 1}), agent, {"scorer": judge}, "the replay input of case 'c0' changed"),
        (make_cases(1), agent, {"scorer": judge}, "case 'c1' is not among the cases"),
    ]
    for cases, function, options, said in refused:
        with pytest.raises(ReplayError, match=f"cannot resume run 'r': .*{said}"):
            replay(cases, function, root=tmp_path, resume="r", **options)
    with pytest.raises(WorkspaceError, match=r"no run 'R' .* the runs are r"):
        replay(make_cases(2), agent, root=tmp_path, resume="R", scorer=judge)
    with pytest.raises(ReplayError, match="needs root="):
        replay(make_cases(2), agent, resume="r")
    with pytest.raises(WorkspaceError, match="another id, or resume it"):
        replay(make_cases(2), agent, root=tmp_path, run="r")
    assert len(replay(make_cases(2), agent, root=tmp_path, resume="r", scorer=judge)) == 2


def test_nothing_is_written_when_a_setting_is_refused(make_cases: Make, tmp_path: Path) -> None:
    for options in ({"trials": 0}, {"role": "captured"}, {"timeout_s": -1}, {"rule": "r-9"}):
        with pytest.raises(ReplayError):
            replay(make_cases(1), lambda case: "s", root=tmp_path, run="r", **options)
    assert not list(tmp_path.iterdir())


def test_records_replay_like_the_agent_that_made_them(make_cases: Make, new_session: New) -> None:
    def agent(case: EvalCase, context: Any) -> ReplayResult:
        if case.id == "c1" and context.trial == 2:
            raise RuntimeError("gone")
        return ReplayResult(new_session(), output=case.id, scores={"quality": context.trial / 4}, input_tokens=3)

    made = replay(make_cases(3), agent, trials=2)
    again = replay(make_cases(4), recorded(made), trials=2)
    assert again["status"].tolist() == ["scored"] * 3 + ["inconclusive"] + ["scored"] * 2 + ["inconclusive"] * 2
    assert again["reason"].dropna().iloc[0] == "no_scores: there is no record of case 'c1', trial 2"
    both = made[made["status"] == "scored"]["output"].tolist(), again[again["status"] == "scored"]["output"].tolist()
    assert both[0] == both[1]
    values = [case_scores(one).query("status == 'ok'")["value"].tolist() for one in (made, again)]
    assert values[0] == values[1]
    assert replay(make_cases(1), recorded(case_scores(made)), trials=2)["status"].tolist() == ["scored"] * 2


KILLED = """
import os, signal, sys
from pathlib import Path
from harnesskit.model.case import EvalCase
from harnesskit.model.replay import ReplayResult
from harnesskit.replays.replay import replay

root, resume = Path(sys.argv[1]), sys.argv[2]

def agent(case):
    with open(root / "calls", "a") as file:
        file.write(case.id + "\\n")
    if resume == "no" and case.id == "c7":
        os.kill(os.getpid(), signal.SIGKILL)
    return ReplayResult("new-" + case.id, scores={"quality": 1.0})

cases = [EvalCase(id=f"c{i}", replay_input=i) for i in range(12)]
options = {"resume": "r"} if resume == "yes" else {"run": "r"}
print((replay(cases, agent, root=root, **options)["status"] == "scored").sum())
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_a_killed_run_is_taken_up_where_it_ended(tmp_path: Path) -> None:
    def go(resume: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", KILLED, str(tmp_path), resume]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=os.environ)

    assert go("no").returncode == -signal.SIGKILL
    with (run_folder(tmp_path, "r") / "samples.jsonl").open("ab") as file:
        file.write(b'{"sample_id": "torn')  # as a crash in the middle of a write leaves it
    done = go("yes")
    assert done.stdout.strip() == "12", done.stderr
    calls = (tmp_path / "calls").read_text().split()
    assert calls == [f"c{i}" for i in (*range(8), *range(7, 12))]


INTERRUPTED = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell in the background ignores it
from pathlib import Path
from harnesskit.model.case import EvalCase
from harnesskit.replays.replay import replay

def agent(case):
    if case.id == "c2":
        print("waiting", flush=True)
        import threading; threading.Event().wait()
    return "new-" + case.id

cases = [EvalCase(id=f"c{i}", replay_input=i) for i in range(5)]
replay(cases, agent, root=Path(sys.argv[1]), run="r")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGINT")
def test_ctrl_c_stops_a_blocked_run_and_keeps_what_had_ended(tmp_path: Path) -> None:
    command = [sys.executable, "-c", INTERRUPTED, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "waiting\n"
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert process.returncode == -signal.SIGINT
    assert errors.rstrip().endswith("KeyboardInterrupt")
    run, samples, _, problems = read_run(run_folder(tmp_path, "r"))
    assert [(sample.case_id, sample.reason) for sample in samples] == [
        ("c0", "no_scores"),
        ("c1", "no_scores"),
        ("c2", "interrupted"),
    ]
    assert (run.finished_at, problems) == (None, [])
