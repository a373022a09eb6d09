"""The page on a guard of a workspace: every story of the demo can be read in it, and it knows how it stands."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from scipy import stats

import harnesskit as hk
from harnesskit.cli import main
from harnesskit.demo_world.trials import PLANS

STORIES = {
    "good": ("r-c4bd987e46", "# PROMOTE:", ["27 of 27 protected wins were replayed."]),
    "useless": ("r-63ceca8b45", "# RETIRE:", ["An improvement worth having (0.1 or more) is ruled out"]),
    "harmful": ("r-28357d038c", "# RETIRE:", ["The rule harms protected wins", "c-8ce6c6494a"]),
    "thin": ("r-fc24d68bef", "# PENDING:", ["About 26 more replays would settle it.", "they ended: time limit"]),
}  # fmt: skip


@pytest.fixture(scope="module")
def pages(demo_root) -> dict[str, hk.Report]:
    harness = hk.open(demo_root)
    return {name: harness.evidence(rule).report() for name, (rule, *_) in STORIES.items()}


@pytest.fixture
def copied(demo_root, tmp_path) -> Path:
    return Path(shutil.copytree(demo_root, tmp_path / "demo"))


def text(report: hk.Report) -> str:
    return report.render(".md").decode("utf-8")


@pytest.mark.parametrize("name", STORIES)
def test_each_story_of_the_demo_is_told(pages, name):
    said = text(pages[name])
    _, first, sentences = STORIES[name]
    assert said.startswith(first)
    for sentence in [
        *sentences,
        "gave rise to it",
        "Fixed before the first replay, 2026-06-",
        "by the harness, from notice n-",
    ]:
        assert sentence in said
    assert set(STORIES) == set(PLANS)


def test_the_page_knows_what_a_run_costs_and_what_was_answered(pages):
    tables = {table.name: table.frame for table in pages["good"].tables}
    costs = tables["costs"].set_index("quantity")
    assert costs.index.tolist() == ["duration", "tokens in", "tokens out", "cost of 1,000 runs"]
    assert (costs["n_cases"] == 31).all()
    assert tables["pairs"]["control_output"].notna().all()  # answers of the bank are those of another run
    assert tables["others"]["id"].tolist() == ["r-046822515e", "r-61867fb412", "r-d30351a5c6"]


def test_a_page_is_a_draft_then_signed_then_superseded(copied):
    harness = hk.open(copied)
    result = harness.evidence("r-c4bd987e46")
    assert "Draft: nobody has signed it." in text(result.report())
    first = harness.sign(result, author="Ann Lee", approver="Bo Park", review_by="2999-12-31")
    assert "Signed by Ann Lee, approved by Bo Park" in text(result.report())
    assert "To be reviewed by: 2999-12-31." in text(result.report())
    other = harness.evidence("r-c4bd987e46", policy="budgeted:20")
    assert "of other evidence" in text(other.report())
    harness.sign(other, author="Cy Dow")
    assert f"review {first}." in text(result.report())
    assert "Superseded by" in text(result.report())


def test_after_promoting_the_page_names_the_way_back_and_what_is_due(copied):
    harness = hk.open(copied)
    harness.sign(harness.evidence("r-c4bd987e46"), author="Ann Lee")
    harness.promote("r-c4bd987e46", author="Ann Lee")
    said = text(harness.evidence("r-28357d038c").report())
    assert "4 other rules are active, 1 of them promoted since the last regression run." in said
    own = text(harness.evidence("r-c4bd987e46").report())
    assert "| Now | active |" in own
    assert "harnesskit promote r-c4bd987e46 --retire why" in own


def test_a_result_without_a_workspace_has_a_page(demo_root, tmp_path):
    moved = Path(shutil.copytree(demo_root, tmp_path / "demo"))
    result = hk.open(moved).evidence("r-63ceca8b45")
    shutil.rmtree(moved)
    said = text(result.report())
    assert "Be careful with tool calls" in said
    assert "other rules are active" not in said


def test_a_rule_that_was_never_tried_has_a_page(demo_root):
    said = text(hk.open(demo_root).evidence("r-6e5a6e24a2").report())
    assert "Nothing is fixed yet" in said
    assert "No change of a failing case could be measured." in said


def test_a_check_and_a_case_have_pages(demo_root):
    harness = hk.open(demo_root)
    check = text(harness.check("tool_correctness", grader="judge").report())
    assert "Stop a session whose tool_correctness is below 0.5." in check
    assert "more labels" in check
    case = text(harness.evidence("c-01090fceea").report())
    assert "Promotion of case c-01090fceea" in case


def test_the_command_line_writes_the_page_and_it_can_be_verified(demo_root, tmp_path, capsys):
    page, overview = tmp_path / "page.json", tmp_path / "guards.md"
    root = ["--root", str(demo_root)]
    assert main(["report", "--guard", "r-28357d038c", *root, "--out", str(page), "--gate", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["verdict"] == "retire"
    assert json.loads(page.read_text(encoding="utf-8"))["verdict"]["subject"] == "r-28357d038c"
    assert main(["verify", *root, str(page)]) == 0
    assert main(["guards", *root, "--out", str(overview)]) == 0
    assert "Ready to promote" in overview.read_text(encoding="utf-8")
    assert main(["report", "--guard", "r-28357d038c", "--run", "candidate", *root, "--out", str(page)]) == 2
    assert "give one of the two" in capsys.readouterr().err


def test_the_same_evidence_gives_the_same_page(demo_root, pages):
    again = hk.open(demo_root).evidence("r-fc24d68bef").report()
    for form in (".html", ".md", ".json"):
        assert again.render(form) == pages["thin"].render(form)


def test_agreement_of_the_judge_counts_labels_on_the_metric_only(copied):
    rule = "r-63ceca8b45"
    assert "people on this metric: not known." in text(hk.open(copied).evidence(rule).report())
    labels = copied / "harnesskit" / "labels.jsonl"
    rows = [json.loads(line) for line in labels.read_text(encoding="utf-8").splitlines()]
    lines = [json.dumps({**row, "metric": "tool_correctness"}) for row in rows]
    labels.write_text("\n".join(lines) + "\n", encoding="utf-8")
    said = text(hk.open(copied).evidence(rule).report())
    low, high = stats.binomtest(130, 141).proportion_ci(method="exact")
    assert f"130 of 141 labelled sessions (92 %, 95 % interval {100 * low:.0f} to {100 * high:.0f} %)" in said
