"""`verify` of reports on checks and forward trials: what came later changes nothing, what was changed is found out."""

from __future__ import annotations

import itertools
import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from matplotlib.figure import Figure

import harnesskit as hk
from harnesskit.model.errors import ReportError, WorkspaceError
from harnesskit.reports.document import Chart
from harnesskit.reports.promotion_sections import path_chart
from harnesskit.workspace.online import write_online
from tests.test_check_verbs import workspace
from tests.test_forward_verbs import played, score, with_rule
from tests.test_verify import cli, edit

LATER = datetime(2030, 1, 1, tzinfo=UTC)


def label(root: Path, session: str, *, failed: bool) -> None:
    with (root / "harnesskit" / "labels.jsonl").open("a", encoding="utf-8") as file:
        row = {"session_id": session, "rater": "bo", "at": LATER.isoformat(), "failed": failed}
        file.write(json.dumps(row) + "\n")


def online(root: Path, metric: str, value: float, *, n: int = 40) -> None:
    rows = [
        {"sample_id": f"later{i}", "session_id": f"later{i}", "occurred_at": LATER + timedelta(hours=i),
         "status": "scored", "metric": metric, "grader": "judge", "value": value, "score_status": "ok"}
        for i in range(n)
    ]  # fmt: skip
    write_online(root, "later", pa.Table.from_pylist(rows))


@pytest.fixture
def check(tmp_path: Path) -> Path:
    """A workspace with a check, and beside it its report."""
    root = tmp_path / "work"
    workspace(root)
    (root / "harnesskit" / "metrics.toml").write_text("[metrics.tone]\nthreshold = 0.5\n", encoding="utf-8")
    found = hk.open(root).evidence("tone")
    assert found.verdict == "promote"
    found.report().save(tmp_path / "report.json")
    return root


def test_a_check_is_judged_by_the_samples_and_labels_that_it_had(check: Path):
    report = check.parent / "report.json"
    assert "the same, promote" in cli("verify", report, "--root", check, code=0).stdout
    online(check, "tone", 0.1)
    for i in range(300):
        label(check, f"s{i}", failed=i % 10 != 0)
    assert hk.open(check).evidence("tone").verdict != "promote"
    assert hk.open(check).verify(report).same


def test_a_label_that_was_changed_is_found_out(check: Path):
    labels = check / "harnesskit" / "labels.jsonl"
    labels.write_text(labels.read_text().replace("true", "false", 1))
    with pytest.raises(WorkspaceError, match="1 of the 300 labels that the report rests on are not there"):
        hk.open(check).verify(check.parent / "report.json")


def test_a_report_on_a_check_must_name_its_labels(check: Path):
    report = check.parent / "report.json"
    edit(report, lambda body: body["evidence"]["check"].pop("labels"))
    with pytest.raises(ReportError, match="must list the labels of its check"):
        hk.open(check).verify(report)


def test_a_bar_that_was_edited_is_found_out(check: Path):
    report = check.parent / "report.json"
    edit(report, lambda body: body["evidence"]["check"].update(bar=0.9))
    assert "The evidence differs" in cli("verify", report, "--root", check, code=1).stdout


def test_checks_of_several_graders_have_names_of_their_own(tmp_path: Path):
    root = tmp_path / "work"
    workspace(root, graders=("a", "b"))
    (root / "harnesskit" / "metrics.toml").write_text("[metrics.tone]\nthreshold = 0.5\n", encoding="utf-8")
    told = cli("report", "--guard", "tone", "--out", tmp_path / "x.html", "--root", root, code=2).stderr
    assert "name one as grader=, or the check as 'tone@a'" in told
    cli("report", "--guard", "tone@a", "--out", tmp_path / "report.json", "--root", root, code=0)
    assert "tone@a: computed again: the same" in cli("verify", tmp_path / "report.json", "--root", root, code=0).stdout


@pytest.fixture
def forward(tmp_path: Path) -> tuple[Path, str]:
    """A workspace with a forward trial, and beside it its report."""
    root = tmp_path / "work"
    made, rule = with_rule(root)
    score(root, played(made, rule, 40, effect=0.25), at=datetime.now(UTC))
    made.refresh()
    found = made.evidence(rule)
    assert found.verdict == "promote"
    found.report().save(tmp_path / "report.json")
    return root, rule


def test_a_forward_trial_is_judged_by_the_sessions_that_it_had(forward: tuple[Path, str]):
    root, rule = forward
    report = root.parent / "report.json"
    assert "the same, promote" in cli("verify", report, "--root", root, code=0).stdout
    made = hk.open(root)
    arms = {f"t{i}": made.trial_arm(rule, f"v{i}", session_id=f"t{i}") for i in range(60)}
    low = {session: 0.1 if arm == "candidate" else 0.9 for session, arm in arms.items()}
    rows = [
        {"sample_id": f"x-{session}", "session_id": session, "occurred_at": LATER, "status": "scored",
         "metric": "coherence", "grader": "judge", "value": value, "score_status": "ok"}
        for session, value in low.items()
    ]  # fmt: skip
    write_online(root, "later", pa.Table.from_pylist(rows))
    reported = json.loads(report.read_text())["verdict"]["evidence_hash"]
    assert hk.open(root).evidence(rule).decision.evidence_hash != reported
    assert hk.open(root).verify(report).same


def test_sessions_of_a_forward_trial_that_are_gone_are_named(forward: tuple[Path, str]):
    root, _ = forward
    edit(root.parent / "report.json", lambda body: body["evidence"]["sessions"].append("never"))
    with pytest.raises(WorkspaceError, match="1 of the 41 sessions of the forward trial"):
        hk.open(root).verify(root.parent / "report.json")


def test_the_page_on_a_forward_trial_counts_sessions(forward: tuple[Path, str]):
    root, rule = forward
    found = hk.open(root).evidence(rule)
    page = found.report().render(".html").decode()
    assert re.search(r"benefit: [0-9.]+ after \d+ sessions, at or beyond the boundary of 20", page)
    [chart] = path_chart(found.path, ("e",), "Evidence", unit="session")
    assert isinstance(chart, Chart)
    assert chart.plot(chart.frame, ax=Figure().subplots()).get_xlabel().startswith("live sessions in the trial")


def test_another_text_of_the_rule_does_not_hide_its_earlier_trial(forward: tuple[Path, str]):
    root, _ = forward
    rules = root / "rules.jsonl"
    rules.write_text(rules.read_text().replace("Say what was done.", "Say what was done, briefly."))
    assert hk.open(root).verify(root.parent / "report.json").recomputed == "promote"


def rescore(root: Path, change: dict[str, float]) -> None:
    """Write other scores of online samples over the stored ones, as somebody with an editor would."""
    for file in root.glob("harnesskit/online/**/*.parquet"):
        table = pa.parquet.read_table(file, partitioning=None)
        rows = [row | {"value": change.get(row["sample_id"], row["value"])} for row in table.to_pylist()]
        pa.parquet.write_table(pa.Table.from_pylist(rows, schema=table.schema), file)


def test_a_score_that_a_check_rests_on_and_was_changed_is_found_out(check: Path):
    rescore(check, {f"x{i}": 0.8 for i in range(0, 100, 10)})
    told = cli("verify", check.parent / "report.json", "--root", check, code=1).stdout
    assert "The evidence differs" in told


def test_a_score_that_a_forward_trial_rests_on_and_was_changed_is_found_out(forward: tuple[Path, str]):
    root, _ = forward
    rescore(root, {"x-s3": 0.0})
    assert "The evidence differs" in cli("verify", root.parent / "report.json", "--root", root, code=1).stdout


def test_a_run_that_a_win_rests_on_and_was_changed_is_found_out(tmp_path: Path):
    root, report = tmp_path / "work", tmp_path / "report.json"
    made = hk.Harness.create(hk.HarnessConfig(harness_root=str(root)), replay=steady, scorer=lambda session: {})
    made.evalset.capture(
        session_id="s-0", kind="failure", signature=("breach:q",), baseline_scores={"q": 0.2}, replay_input={"n": 1}
    )
    (root / "harnesskit").mkdir(exist_ok=True)
    (root / "harnesskit" / "metrics.toml").write_text("[metrics.q]\nthreshold = 0.5\n", encoding="utf-8")
    made = hk.Harness.create(hk.HarnessConfig(harness_root=str(root)), replay=steady, scorer=lambda session: {})
    [case] = made.evalset.cases("failure")
    made.validate_now(case.id).report().save(report)
    assert "the same, promote" in cli("verify", report, "--root", root, code=0).stdout
    page = made.evidence(case.id).report().render(".md").decode()
    assert "Runs of it that fail: from now on every regression run replays it." in page
    assert "seed (None)" not in page
    [file] = root.glob("harnesskit/runs/*/samples.jsonl")
    changed = file.read_text().replace("0.95", "0.15", 1)
    assert changed != file.read_text()
    file.write_text(changed)
    assert "differs" in cli("verify", report, "--root", root, code=1).stdout


def steady(case: Any, context: Any) -> hk.ReplayResult:
    """An agent that does well each time."""
    return hk.ReplayResult(f"fresh-{next(_SESSIONS)}", scores={"q": 0.95})


_SESSIONS = itertools.count()
