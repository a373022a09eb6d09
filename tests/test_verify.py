"""`harnesskit verify`: the verdict of a saved report, computed again from the samples that it names."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import harnesskit as hk
from harnesskit import Harness, HarnessConfig, ReplayResult
from harnesskit.model.errors import HarnesskitError


def cli(*arguments: object, code: int) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "harnesskit.cli", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done


def fixed_run(root: Path) -> str:
    """A small workspace with a control run and a run in which one win broke; the id of the run."""
    harness = Harness.create(HarnessConfig.from_env({}, harness_root=root), scorer=lambda session: {})
    for n in range(8):
        scores = {"q": 0.9, "t": 0.9}
        harness.evalset.capture(session_id=f"s-{n}", kind="win", baseline_scores=scores, replay_input={"n": n})
    for role, drop in (("control", 0.0), ("replay", 0.5)):

        def replay(case: Any, context: Any, drop: float = drop, role: str = role) -> ReplayResult:
            n, trial = case.replay_input["n"], context.trial
            low = drop if n == 3 else 0.0
            scores = {"q": 0.9 - low - 0.01 * (trial % 3), "t": 0.9 - low + 0.01 * ((n + trial) % 3)}
            return ReplayResult(f"{role}-{n}-{trial}", scores=scores)

        hk.replay(harness.evalset.cases(), replay, trials=4, role=role, root=root, progress=False)
    return str(hk.open(root).runs().query("role == 'replay'")["run_id"].iloc[0])


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The workspace, and beside it the report that was saved."""
    folder = tmp_path_factory.mktemp("verify")
    run_id = fixed_run(folder / "work")
    result = hk.open(folder / "work").regression(run_id)
    assert result.decision.verdict == "fail"
    result.report().save(folder / "report.json")
    return folder


@pytest.fixture
def here(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path / "copy")
    return tmp_path / "copy"


def edit(path: Path, change: Any) -> None:
    body = json.loads(path.read_text())
    change(body)
    path.write_text(json.dumps(body))


def test_an_honest_report_is_confirmed_with_those_who_signed_it(here: Path):
    root, report = here / "work", here / "report.json"
    done = cli("verify", report, "--root", root, code=0)
    assert "computed again: the same, fail" in done.stdout
    assert "Nobody has signed" in done.stdout
    harness = hk.open(root)
    result = harness.regression()
    result.report().save(report)  # as of this folder, which the report names
    harness.sign(result, author="Ann", approver="Bo")
    body = json.loads(cli("verify", report, "--root", root, "--json", code=0).stdout)
    assert (body["same"], body["reported"], body["recomputed"]) == (True, "fail", "fail")
    assert "by Ann, approved by Bo (signed) is of this very report" in body["signatures"][0]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda r: r["verdict"].update(verdict="pass"), "fail, not pass"),
        (lambda r: r["verdict"].update(exit_code=0), "The exit code differs: '0' in the report, '1' now"),
        (lambda r: r["verdict"]["policy"].update(tolerance=0.9), "differs"),
        (lambda r: r["evidence"]["samples"]["candidate"].pop(), "The evidence differs"),
        (lambda r: r["verdict"].update(subject="run-of-others"), "The subject differs"),
    ],
    ids=["verdict", "exit code", "policy", "a sample left out", "subject"],
)
def test_a_report_that_says_something_else_is_found_out(here: Path, change: Any, said: str):
    edit(here / "report.json", change)
    assert said in cli("verify", here / "report.json", "--root", here / "work", code=1).stdout


def test_a_score_that_was_changed_is_found_out(here: Path):
    root = here / "work"
    [file] = [f for f in root.glob("harnesskit/runs/*/samples.jsonl") if "replay-3-" in f.read_text()]
    file.write_text(file.read_text().replace('"value":0.4', '"value":0.9').replace('"value": 0.4', '"value": 0.9'))
    found = hk.open(root).verify(here / "report.json")
    assert not found.same
    assert any("evidence" in one for one in found.differences)


def test_what_is_added_later_changes_nothing(here: Path):
    root = here / "work"
    harness = Harness.create(HarnessConfig.from_env({}, harness_root=root), scorer=lambda session: {})
    harness.evalset.capture(session_id="more", kind="win", baseline_scores={"q": 0.1}, replay_input={"n": 99})
    low = {"q": 0.0, "t": 0.0}
    for role in ("control", "replay"):
        hk.replay(harness.evalset.cases(), lambda case, context: ReplayResult(f"x-{case.id}", scores=low),
                  role=role, root=root, progress=False)  # fmt: skip
    harness.rules.add("Say please.")
    assert hk.open(root).verify(here / "report.json").same


def test_without_its_samples_nothing_can_be_verified(here: Path):
    root = here / "work"
    [file] = [f for f in root.glob("harnesskit/runs/*/samples.jsonl") if "replay-3-" in f.read_text()]
    file.write_text("".join(line + "\n" for line in file.read_text().splitlines() if "replay-3-" not in line))
    done = cli("verify", here / "report.json", "--root", root, code=2)
    assert "4 of them cannot be found there any more" in done.stderr
    shutil.rmtree(file.parent)
    assert "There is no replay run" in cli("verify", here / "report.json", "--root", root, code=2).stderr
    assert "the folder above" in cli("verify", here / "report.json", "--root", here, code=2).stderr


@pytest.mark.parametrize(
    "content", [None, b"", b"\xff\xfe", b"{}", b"[1]", b'{"format": "harnesskit-report/1", "title": "x"', b"null"]
)
def test_what_is_no_report_is_refused(here: Path, content: bytes | None):
    path = here / "other.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(HarnesskitError, match=r"cannot read the report|is not a report as"):
        hk.open(here / "work").verify(path)


def test_a_report_without_evidence_is_refused_with_what_to_do(here: Path):
    for change, said in [
        (lambda r: r.update(evidence={}), "an older version wrote it"),
        (lambda r: r["evidence"].update(kind="regresion"), "did you mean 'regression'"),
        (lambda r: r["evidence"].update(samples=[1]), "must list the samples"),
        (lambda r: r.update(verdict=None), "holds no verdict"),
    ]:
        edited = here / "edited.json"
        shutil.copy(here / "report.json", edited)
        edit(edited, change)
        with pytest.raises(HarnesskitError, match=said):
            hk.open(here / "work").verify(edited)


def test_the_stored_runs_of_the_demo_and_the_journal_verify(demo_root: Path, shared: Path, tmp_path: Path):
    mid = shared / "reference" / "workspaces" / "mid"
    for n, (root, policy) in enumerate(
        [(demo_root, "default"), (mid, "default"), (mid, "reference"), (mid, "floor:0.5")]
    ):
        harness = hk.open(root)
        report = harness.regression(policy=policy).report().save(tmp_path / f"{n}.json")
        found = harness.verify(report)
        assert found.same, found


def test_an_adaptive_run_verifies_from_what_it_froze_and_the_samples_it_had(tmp_path: Path):
    from tests.trials.test_adaptive_run import AgentOf, banked, workspace

    root = tmp_path / "work"
    banked(root)
    agent = AgentOf("new", 0.4, ("3",), stop_after=9)
    harness = workspace(root, agent, control=AgentOf("old"))
    stopped = harness.run_regression_now()
    report = stopped.report().save(tmp_path / "r.json")
    assert json.loads(report.read_text())["evidence"]["seed"] == 0
    agent.stop_after = None
    later = harness.run_regression_now(resume=stopped.run_id)
    assert later.decision.verdict != stopped.decision.verdict
    assert harness.verify(report).same
    assert harness.verify(later.report().save(tmp_path / "later.json")).same
    banked(root, 3)
    assert harness.verify(report).same
