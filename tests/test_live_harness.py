"""The seed's own code, with only the import changed, and the verbs that meet a live agent."""

from __future__ import annotations

import asyncio
import json
import random
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import harnesskit as hk
from harnesskit import EvalCase, Harness, HarnessConfig, ReplayContext

METRICS = ("task_completion", "coherence", "tool_correctness", "argument_correctness")


def steady(session_id: str) -> dict[str, float]:
    """Scores around .85 that depend on the session only."""
    draw = random.Random(session_id)
    return {metric: round(0.85 + draw.uniform(-0.02, 0.02), 3) for metric in METRICS}


def collapsed(session_id: str) -> dict[str, float]:
    """As steady, but .65 lower in every replay of the changed agent."""
    lower = 0.65 if session_id.startswith("new-") else 0.0
    return {metric: round(value - lower, 3) for metric, value in steady(session_id).items()}


async def replay(case: EvalCase, context: ReplayContext) -> str:
    """A replay function written for the reference."""
    assert context.task_tools.specs()
    assert context.candidate_rule_id is None or isinstance(context.candidate_rule_id, str)
    context.mark_execution_started()
    replay.count = getattr(replay, "count", 0) + 1
    return f"new-{case.id}-{replay.count}"


def made(root: Path, **given) -> Harness:
    harness = Harness.create(HarnessConfig.from_env({}, harness_root=root, capture_eval_cases=True), **given)
    for index in range(6):
        harness.evalset.capture(
            session_id=f"s-{index}", kind="win", signature=("healthy",), baseline_scores=steady(f"s-{index}"),
            replay_input={"task": f"charge ${index} for order 10{index}"},
        )  # fmt: skip
    return harness


def test_the_seed_s_code_runs_with_only_the_import_changed(tmp_path: Path):
    harness = made(tmp_path, replay=replay, scorer=steady)
    failure = harness.evalset.capture(
        session_id="s-bad", kind="failure", signature=("breach:tool_correctness",),
        baseline_scores={"tool_correctness": 0.2}, replay_input=None,
    )  # fmt: skip
    harness.evalset.attach_input(failure.id, {"task": "charge $42 for order 1017"})
    assert len(harness.evalset.cases()) == 7
    assert len(harness.evalset.cases(kind="win")) == 6
    assert [case.id for case in harness.evalset.matching(("breach:tool_correctness",))] == [failure.id]

    async def live():
        async with harness.turn("live-1"):
            pass
        outcome = await harness.on_turn_end({"session_id": "live-1", "end_state": {"step": 2}})
        assert outcome.status == "scored"
        report = await harness.run_regression(policy="reference")
        assert report.clean
        verdicts = await harness.validate_candidates()
        assert verdicts == []

    asyncio.run(live())


@pytest.mark.parametrize("policy", ["reference", "default", "fixed:3", "floor:0.5"])
def test_a_run_that_changes_nothing_is_clean_and_a_collapse_is_not(tmp_path: Path, policy: str):
    assert made(tmp_path / "a", replay=replay, scorer=steady).run_regression_now(policy=policy).clean
    broken = made(tmp_path / "b", replay=replay, scorer=collapsed).run_regression_now(policy=policy)
    assert broken.decision.verdict == "fail"
    assert not broken.clean


def test_blocking_twins_work_inside_a_running_loop(tmp_path: Path):
    harness = made(tmp_path, replay=replay, scorer=steady)

    async def cell():
        first = harness.run_regression_now(policy="reference")
        second = harness.run_regression_now(policy="default")
        return first.clean, second.clean, harness.validate_candidates_now()

    assert asyncio.run(cell()) == (True, True, [])


def test_every_attempt_of_a_run_is_stored_and_counted_once(tmp_path: Path):
    harness = made(tmp_path, replay=replay, scorer=steady)
    harness.evalset.capture(session_id="bare", kind="win", baseline_scores={"coherence": 0.9})
    result = harness.run_regression_now(policy="reference")
    samples = harness.sql(
        "SELECT status, count(*) AS n FROM samples WHERE run_id = $r GROUP BY status", r=result.run_id
    )
    assert dict(samples.values.tolist()) == {"scored": 6, "skipped": 1}
    assert harness.runs()["run_id"].tolist() == [result.run_id]  # the journal's record of it is not a second run
    assert harness.runs()["n_asked"].tolist() == [7]
    event = harness.events(types="regression")["payload"].tolist()
    assert json.loads(event[0])["total"] == 7


def test_without_a_replay_function_everything_is_skipped_and_said_once(tmp_path: Path):
    harness = made(tmp_path, scorer=steady)
    for policy in ("reference", "default"):
        with pytest.warns(UserWarning, match="replay function") as said:
            result = harness.run_regression_now(policy=policy)
        assert len(said) == 1
        assert result.decision.verdict == "inconclusive"
        assert set(result.deltas["status"]) == {"skipped"}


def test_the_old_version_can_be_the_control(tmp_path: Path):
    async def old(case: EvalCase, context: ReplayContext) -> str:
        return "old-" + await replay(case, context)

    harness = made(tmp_path, replay=replay, scorer=collapsed, control=old)
    result = harness.run_regression_now()
    assert result.decision.verdict == "fail"
    assert harness.runs()["role"].tolist() == ["replay", "control"]
    assert result.baseline_id == harness.runs()["run_id"].tolist()[1]


def test_a_breach_in_a_live_turn_becomes_a_case_and_a_row(tmp_path: Path):
    harness = made(tmp_path, scorer=steady)
    scores = {"task_completion": 0.1, "coherence": 0.9}
    for turn in range(6):
        harness.on_turn_end_now(
            {"session_id": "live", "scores": {**scores, "tool_correctness": 0.1}, "end_state": {"turn": turn}}
        )
    failures = harness.evalset.cases(kind="failure")
    assert [case.session_id for case in failures] == ["live"]
    assert failures[0].replay_input is not None
    harness.refresh()
    assert harness.table("notices")["session_id"].tolist() == ["live"]
    assert harness.problems().query("severity == 'problem'").empty


def test_a_candidate_rule_is_written_judged_and_counted(tmp_path: Path):
    harness = made(tmp_path, replay=replay, scorer=steady)
    rule_id = harness.rules.add("Look the order up first.", metric="tool_correctness", signatures=["breach:x"])
    assert harness.table("rules").loc[0, ["rule_id", "status"]].tolist() == [rule_id, "candidate"]
    (verdict,) = harness.validate_candidates_now()
    assert (verdict.outcome, verdict.pending_reason) == ("pending", "trial_in_progress")
    assert verdict.replay.pending_reason == "no_matching_replayable_case"
    harness.on_turn_end_now({"session_id": "live", "scores": steady("live")})
    harness.refresh()
    assert harness.table("rules")["observed_sessions"].tolist() == [["live"]]


def test_create_makes_the_folders_of_the_reference_and_nothing_else(tmp_path: Path):
    Harness.create(HarnessConfig(harness_root=tmp_path / "w"), scorer=steady)
    found = sorted(path.relative_to(tmp_path / "w").as_posix() for path in (tmp_path / "w").rglob("*"))
    assert found == ["evalset", "mailbox", "mailbox/pending", "mailbox/processed", "rules", "state", "traces"]


REPLAYS = {
    "good": "def replay(case, context):\n    return hk.ReplayResult(f'n-{case.id}', scores={'q': 0.9})",
    "bad": "def replay(case, context):\n    return hk.ReplayResult(f'n-{case.id}', scores={'q': 0.1})",
    "error": "def replay(case, context):\n    raise RuntimeError('no server')",
}


def cli(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "harnesskit.cli", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize(
    ("name", "policy", "code"),
    [("good", "floor:0.8", 0), ("bad", "floor:0.8", 1), ("error", "floor:0.8", 3), ("good", "reference", 0),
     ("bad", "reference", 1), ("error", "reference", 3)],
)  # fmt: skip
def test_28_the_exit_code_is_the_verdict(shared: Path, tmp_path: Path, name: str, policy: str, code: int):
    import shutil

    shutil.copytree(shared / "cases" / "28-exit-code" / "evalset", tmp_path / "evalset")
    (tmp_path / "agent.py").write_text(f"import harnesskit as hk\n{textwrap.dedent(REPLAYS[name])}\n")
    done = cli(
        "regression", "--root", tmp_path, "--replay", tmp_path / "agent.py", "--scorer", "none", "--policy", policy,
        "--json",
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    assert json.loads(done.stdout)["verdict"] == {0: "pass", 1: "fail", 3: "inconclusive"}[code]


def test_28_no_replay_function_and_no_folder(shared: Path, tmp_path: Path):
    import shutil

    shutil.copytree(shared / "cases" / "28-exit-code" / "evalset", tmp_path / "evalset")
    done = cli("regression", "--root", tmp_path, "--scorer", "none")
    assert done.returncode == 3
    assert done.stderr.count("warning") == 1
    assert cli("regression", "--root", tmp_path / "none").returncode == 2
    assert cli("regression", "--root", tmp_path, "--replay", tmp_path / "no.py").returncode == 2
    assert cli("validate", "--root", tmp_path, "--scorer", "none").returncode == 3


def test_replay_stores_attempts_and_resumes(shared: Path, tmp_path: Path):
    import shutil

    shutil.copytree(shared / "cases" / "28-exit-code" / "evalset", tmp_path / "evalset")
    (tmp_path / "agent.py").write_text(f"import harnesskit as hk\n{REPLAYS['good']}\n")
    agent = ["--root", tmp_path, "--replay", tmp_path / "agent.py", "--scorer", "none", "--json"]
    done = cli("replay", *agent, "--label", "first")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["attempts"] == {"scored": 2}
    again = cli("replay", *agent, "--resume", json.loads(done.stdout)["run"])
    assert again.returncode == 0, again.stderr
    assert len(hk.open(tmp_path).sql("SELECT * FROM samples WHERE run_id <> 'captured'")) == 2
    assert cli("replay", *agent, "--case", "no-such").returncode == 2
