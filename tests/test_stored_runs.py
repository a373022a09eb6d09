"""A stored run judged against its baseline: through the harness, the command line, and on the reference's workspace."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import harnesskit as hk
from harnesskit.model.results import RUN_VERDICTS

# Where our status of a case differs from the journaled one, on purpose, and why. The rule is the reference's: a change
# of .05 in any metric decides. It compares raw floats, so a nominal change of .05 may fall on either side; here it
# counts. It calls a case "unchanged" when nothing could be compared; here it is inconclusive.
DEPARTURES: dict[tuple[str, str], tuple[str, str, str]] = {}


@pytest.fixture(scope="module")
def mid(shared: Path) -> hk.Harness:
    return hk.open(shared / "reference" / "workspaces" / "mid")


@pytest.fixture(scope="module")
def demo(demo_root: Path) -> hk.Harness:
    return hk.open(demo_root)


def journaled_runs(mid: hk.Harness) -> list[str]:
    return [run for run in mid.table("runs")["run_id"] if run.startswith("journal:")]


WORKSPACES = {
    "mid": 5,
    "messy": 6,  # its last record has no results at all
    "small/closed_loop_self_heal/workspace": 0,
    "small_0.6.3/closed_loop_self_heal/harness": 1,
}


@pytest.mark.parametrize(("name", "n_runs"), WORKSPACES.items())
def test_the_reference_policy_gives_the_journaled_statuses(shared: Path, name: str, n_runs: int):
    harness = hk.open(shared / "reference" / "workspaces" / name)
    runs = journaled_runs(harness)
    assert len(runs) == n_runs
    seen = {}
    for run in runs:
        record = harness.sql('SELECT payload FROM events WHERE "offset" = $at', at=int(run.split(":")[1]))["payload"][0]
        results = [result for result in json.loads(record)["results"] if isinstance(result, dict)]
        theirs = {result["case_id"]: result["status"] for result in results}
        ours = hk.case_statuses(harness.regression(run, policy="reference").deltas).set_index("case_id")["status"]
        assert set(ours.index) == set(theirs), run
        seen |= {(run, case): (theirs[case], ours[case]) for case in theirs if theirs[case] != ours[case]}
    assert seen == {key: (theirs, ours) for key, (theirs, ours, _) in DEPARTURES.items()}


def test_every_journaled_run_stands_in_the_overview(mid: hk.Harness):
    overview = mid.regressions()
    assert list(overview.columns) == list(RUN_VERDICTS.columns)
    assert set(overview["run_id"]) == set(journaled_runs(mid))
    assert overview["ended"].is_monotonic_decreasing
    totals = overview[["n_regressed", "n_improved", "n_unchanged", "n_inconclusive", "n_skipped"]].sum(axis=1)
    assert (totals == overview["n_kept"]).all()
    longest = overview.set_index("run_id").loc[:, ["n_asked", "n_kept"]].max()
    assert longest.tolist() == [73, 50]  # the journal keeps 50 results of a run


def test_a_run_that_replayed_nothing_is_inconclusive_never_clean(mid: hk.Harness):
    last = mid.regressions(last=1).iloc[0]
    result = mid.regression(last["run_id"])
    assert result.decision.verdict == "inconclusive"
    assert set(result.deltas["status"]) == {"skipped"}


def test_a_captured_baseline_is_said_to_be_biased_in_words(mid: hk.Harness):
    page = mid.regression().report().render(".md").decode()
    assert "biased by selection" in page
    failures = mid.regression().deltas.query("kind == 'failure'")
    assert set(failures["status"]) <= {"inconclusive", "skipped"}  # a captured score never decides about a failure


def test_what_the_journal_did_not_keep_is_said(mid: hk.Harness):
    page = mid.regression().report().render(".md").decode()
    assert "the journal keeps the results of 50" in page


def test_the_planted_regression_is_found_and_nothing_else(demo: hk.Harness):
    result = demo.regression("candidate")
    assert result.baseline_id == "baseline"
    assert result.decision.verdict == "fail"
    cases = hk.case_statuses(result.deltas).query("status == 'regressed'")["case_id"]
    assert set(cases) == {"c-34e0eb9799", "c-eeab9567e5"}


def test_any_two_runs_can_be_compared(demo: hk.Harness):
    result = demo.regression("candidate", baseline="captured")
    assert result.baseline_id == "captured"
    assert (result.deltas["baseline_source"].dropna() == "captured").all()


def test_the_steps_by_hand_give_the_same_verdict(demo: hk.Harness):
    result = demo.regression("candidate")
    deltas = hk.case_deltas(demo.scores(run="baseline"), demo.scores(run="candidate"), metrics=demo.metrics)
    assert hk.decide_regression(deltas).verdict == result.decision.verdict
    pd.testing.assert_series_equal(
        hk.case_statuses(deltas).set_index("case_id")["status"],
        hk.case_statuses(result.deltas).set_index("case_id")["status"],
    )


def test_the_same_evidence_gives_the_same_bytes(demo_root: Path):
    pages = [hk.open(demo_root).regression("candidate").report().render(suffix) for suffix in (".html", ".md", ".json")]
    again = [hk.open(demo_root).regression("candidate").report().render(suffix) for suffix in (".html", ".md", ".json")]
    assert pages == again


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"run": "candidat"}, "did you mean 'candidate'"),
        ({"run": "candidate", "baseline": "basline"}, "did you mean 'baseline'"),
    ],
)
def test_an_unknown_run_is_named_with_the_nearest(demo: hk.Harness, arguments: dict[str, str], words: str):
    with pytest.raises(hk.WorkspaceError, match=words):
        demo.regression(**arguments)


def test_an_unknown_policy_is_named(demo: hk.Harness):
    with pytest.raises(hk.PolicyError, match="fixed:3"):
        demo.regression("candidate", policy="fixd:3")


def test_a_workspace_without_runs_says_what_to_do(tmp_path: Path):
    (tmp_path / "evalset").mkdir()
    with pytest.raises(hk.WorkspaceError, match="no replay run"):
        hk.open(tmp_path).regression()


def cli(*arguments: object, code: int = 0) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "harnesskit.cli", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == code, done.stderr
    return done


def test_the_command_line_reaches_the_same_verdict(demo_root: Path, tmp_path: Path):
    page = tmp_path / "r.html"
    done = cli("report", "--root", demo_root, "--run", "candidate", "--out", page, "--gate", "--json", code=1)
    assert json.loads(done.stdout)["verdict"] == "fail"
    assert page.stat().st_size < 1_000_000
    assert done.stderr.strip().endswith(str(page))


def test_the_gate_says_inconclusive_with_3(shared: Path, tmp_path: Path):
    root = shared / "reference" / "workspaces" / "mid"
    cli("report", "--root", root, "--out", tmp_path / "r.md", "--gate", code=3)
    cli("report", "--root", root, "--out", tmp_path / "r.md")


def test_usage_and_unreadable_workspaces_exit_with_2(tmp_path: Path, demo_root: Path):
    for arguments in (
        ["report", "--root", tmp_path / "none"],
        ["report", "--root", demo_root, "--policy", "nonsense", "--out", tmp_path / "r.md"],
        ["report", "--root", demo_root, "--out", tmp_path / "r.docx"],
        ["report", "--root", demo_root, "--out", tmp_path / "no" / "folder.md"],
        ["list", "--root", demo_root, "--case", "no-such-case"],
        ["nonsense"],
        [],
    ):
        done = cli(*arguments, code=2)
        assert "Traceback" not in done.stderr


def test_load_prints_what_was_loaded_and_what_was_wrong(demo_root: Path):
    done = cli("load", "--root", demo_root, "--json")
    loaded = json.loads(done.stdout)
    assert loaded["counts"]["cases"] == 81
    assert {problem["kind"] for problem in loaded["problems"]} >= {"not_json", "torn", "not_a_number"}
    assert "c-truncated.json" in done.stderr
    cli("load", "--root", demo_root, "--strict", code=2)


def test_list_is_the_reference_s_json(shared: Path, mid: hk.Harness):
    root = shared / "reference" / "workspaces" / "mid"
    expected = json.loads((shared / "reference" / "expected" / "mid" / "cli.json").read_text())["eval_list"]["stdout"]
    assert json.loads(cli("list", "--root", root, "--json").stdout) == json.loads(expected)
    assert len(cli("list", "--root", root).stdout.splitlines()) == 1 + len(mid.table("cases"))


def test_doctor_says_what_to_do_about_each_kind(demo_root: Path):
    done = cli("doctor", "--root", demo_root, "--json")
    findings = json.loads(done.stdout)
    assert findings["sound"] is False
    assert all(finding["advice"] for finding in findings["findings"])
    assert "do:" in done.stderr


def test_export_writes_one_file_that_opens(demo_root: Path, tmp_path: Path):
    import duckdb

    cli("export", "--root", demo_root, tmp_path / "a.duckdb")
    with duckdb.connect(str(tmp_path / "a.duckdb"), read_only=True) as db:
        assert db.execute("SELECT count(*) FROM cases").fetchall() == [(81,)]
