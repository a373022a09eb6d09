"""Health and study of a workspace: the verbs, the commands and their pages say the same."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from matplotlib.figure import Figure

import harnesskit as hk

ROOT = Path(__file__).resolve().parent.parent


def cli(*arguments: object, code: int = 0) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "harnesskit.cli", *map(str, arguments)]
    done = subprocess.run(line, capture_output=True, text=True, cwd=ROOT, timeout=120, check=False)
    assert done.returncode == code, done.stderr
    return done


def records(path: Path, arm: str, outcomes: dict[str, list[bool | None]]) -> None:
    """A run of the benchmark study; None is a trial that raised."""
    path.mkdir(parents=True)
    manifest = {"schema_version": 2, "run_id": path.name, "arm": arm, "benchmark": "b", "model": "m"}
    (path / "manifest.json").write_text(json.dumps(manifest))
    lines = [
        {"run_id": path.name, "benchmark": "b", "arm": arm, "phase": "eval", "task_id": task, "seed": 1, "trial": trial,
         "passed": bool(passed), "error": None if passed is not None else "boom", "wall_time_s": 2.0,
         "usage": {"cost_usd": 0.5, "input_tokens": 10, "output_tokens": 5}}
        for task, trials in outcomes.items() for trial, passed in enumerate(trials)
    ]  # fmt: skip
    (path / "records.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_the_command_and_the_verb_say_the_same(demo_root: Path, tmp_path: Path) -> None:
    out = tmp_path / "health.json"
    said = json.loads(cli("health", "--root", demo_root, "--json", "--out", out).stdout)
    found = hk.open(demo_root).health()
    assert [row["action"] for row in said["cases"]] == found.cases["action"].tolist()
    assert len(said["coverage"]) == len(found.coverage)
    tables = {table["name"]: table for table in json.loads(out.read_text())["tables"]}
    assert len(tables["todo"]["rows"]) == 14


def test_the_study_command_gives_rates_differences_and_costs(demo_root: Path, tmp_path: Path) -> None:
    out = tmp_path / "study.md"
    said = json.loads(
        cli("study", "--root", demo_root, "--k", "1,3", "--metric", "coherence", "--json", "--out", out).stdout
    )
    assert said["runs"] == ["baseline", "candidate"]
    assert [(row["arm"], row["k"]) for row in said["rates"]] == [
        ("candidate", 1), ("candidate", 3), ("control", 1), ("control", 3),
    ]  # fmt: skip
    assert {row["quantity"] for row in said["costs"]} == {"cost_usd", "duration_s", "input_tokens", "output_tokens"}
    page = out.read_text(encoding="utf-8")
    assert "candidate, coherence: of 3 trials at least one passes in 0.903 of cases" in page
    assert "--metric coherence --k 1,3" in page


@pytest.mark.parametrize("bad", [("study", "--k", "two"), ("study", "--run", "nope"), ("health", "--as-of", "soon")])
def test_bad_arguments_exit_with_2_and_say_why(demo_root: Path, bad: tuple[str, ...]) -> None:
    done = cli(*bad, "--root", demo_root, code=2)
    assert bad[-1] in done.stderr
    assert "Traceback" not in done.stderr


def test_27_an_empty_eval_set_is_said_and_is_no_error(shared: Path, tmp_path: Path) -> None:
    root = tmp_path / "w"
    (root / "evalset").mkdir(parents=True)
    page = tmp_path / "h.md"
    cli("health", "--root", root, "--out", page)
    assert "There are no cases." in page.read_text(encoding="utf-8")
    assert "no control, candidate or replay run" in cli("study", "--root", root, code=2).stderr
    for name in ("one", "not_replayable"):
        copy = tmp_path / name
        shutil.copytree(shared / "cases/27-n-zero-and-one" / name, copy / "evalset")
        cli("health", "--root", copy, "--out", tmp_path / f"{name}.html")
        text = (tmp_path / f"{name}.html").read_text(encoding="utf-8")
        assert "nan" not in text.lower().replace("nan_", "").split()


def test_records_of_a_benchmark_are_a_study(tmp_path: Path) -> None:
    """Through the reader of study folders: pairs by task, trials that raised are unscored, costs by arm."""
    from harnesskit.workspace.study import read_study

    records(tmp_path / "runs/base", "baseline", {"t1": [True, False], "t2": [False, False], "t3": [True, None]})
    records(tmp_path / "runs/new", "harness", {"t1": [True, True], "t2": [True, False], "t3": [True, True]})
    rows = read_study(tmp_path / "runs")
    samples = pd.DataFrame([row._asdict() for row in rows.samples])
    scores = pd.DataFrame([row._asdict() for row in rows.scores]).merge(
        samples[["sample_id", "run_id", "case_id", "arm", "trial", "pair", "counts"]], on="sample_id"
    )
    found = hk.pass_rates(scores, by="arm", k=(1, 2)).set_index(["arm", "k"])
    assert found.loc[("baseline", 1), "pass_at_k"] == pytest.approx((0.5 + 0 + 1) / 3)
    assert found.loc[("baseline", 2), ["pass_at_k", "n_short", "n_unscored"]].tolist() == [pytest.approx(1 / 3), 1, 1]
    assert found.loc[("harness", 2), "pass_hat_k"] == pytest.approx(2 / 3)
    change = hk.pass_differences(scores, k=1).iloc[0]
    assert (change["baseline"], change["improved"], change["worse"]) == ("baseline", 2, 0)
    assert hk.trial_costs(samples).set_index(["arm", "quantity"]).loc[("harness", "cost_usd"), "total"] == 3.0


def test_reports_are_the_same_bytes_for_the_same_evidence(demo_root: Path) -> None:
    for verb in ("health", "study"):
        one, two = (getattr(hk.open(demo_root), verb)().report() for _ in range(2))
        for suffix in (".html", ".md", ".json"):
            assert one.render(suffix) == two.render(suffix)


def test_what_cases_and_traffic_hold_is_text_in_every_page() -> None:
    evil = "<script>alert(1)</script>|*x*"
    cases = pd.DataFrame({"case_id": [evil], "kind": "win", "replayable": True, "signature_key": json.dumps([evil])})
    runs = pd.DataFrame({"case_id": evil, "run_id": evil, "metric": "q", "value": [0.9, 0.1, 0.9, 0.1, 0.9]})
    traffic = pd.DataFrame({"session_id": ["s"], "signature_key": [json.dumps(["breach:" + evil])]})
    report = hk.health_report(
        hk.corpus_health(cases, runs, pass_at=0.5), hk.case_timeline(runs, pass_at=0.5), hk.coverage(cases, traffic)
    )
    study = hk.study_report(hk.pass_rates(runs.assign(metric=evil), by="run_id", k=1))
    for page in (report.render(".html"), study.render(".html")):
        assert b"<script>alert" not in page


def test_the_charts_draw_every_row_and_name_what_they_leave_out(demo_root: Path) -> None:
    found = hk.open(demo_root).health()
    axes = hk.plot_coverage(found.coverage, ax=Figure().subplots(), top=5)
    assert [label.get_text() for label in axes.get_yticklabels()][-1] == "others (19)"
    axes = hk.plot_case_timeline(found.timeline, ax=Figure().subplots(), top=10)
    marks = sum(len(points.get_offsets()) for points in axes.collections)
    shown = [label.get_text() for label in axes.get_yticklabels()]
    assert shown[-1] == "others (71)"
    assert marks == len(found.timeline[found.timeline["case_id"].isin(shown[:-1])])


def test_the_accessor_is_the_function(demo_root: Path) -> None:
    harness = hk.open(demo_root)
    scores = harness.scores(role="control")
    pd.testing.assert_frame_equal(scores.hk.pass_rates(pass_at=0.5), hk.pass_rates(scores, pass_at=0.5))
    cases = harness.table("cases")
    pd.testing.assert_frame_equal(
        cases.hk.corpus_health(scores, pass_at=0.5), hk.corpus_health(cases, scores, pass_at=0.5)
    )
