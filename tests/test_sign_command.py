"""`harnesskit sign` and `decisions`: the review from the shell."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import harnesskit as hk
from harnesskit.demo import demo_root
from tests.test_verify import cli, edit

GOOD = "r-c4bd987e46"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    shutil.copytree(demo_root(), tmp_path / "work")
    return tmp_path / "work"


def test_a_saved_report_is_signed_promoted_and_listed(root: Path, tmp_path: Path):
    report = tmp_path / "page.json"
    cli("report", "--guard", GOOD, "--out", report, "--root", root, code=0)
    signed = cli("sign", report, "--author", "Ann <b>", "--approver", "Bo", "--review-by", "2999-01-01",
                 "--root", root, "--json", code=0)  # fmt: skip
    decision_id = json.loads(signed.stdout)["decision_id"]
    assert f"Signed as {decision_id}: {GOOD}: PROMOTE" in signed.stderr
    cli("promote", GOOD, "--root", root, code=0)
    listed = json.loads(cli("decisions", "--root", root, "--json", code=0).stdout)["decisions"]
    assert [(one["author"], one["verdict"]) for one in listed[:1]] == [("Ann <b>", "promote")]
    assert hk.open(root).sql("SELECT status FROM rules WHERE rule_id = $id", id=GOOD)["status"].tolist() == ["active"]


def test_a_guard_and_a_run_are_signed_by_their_ids(root: Path):
    cli("sign", GOOD, "--author", "Ann", "--root", root, code=0)
    cli("sign", "candidate", "--author", "Ann", "--root", root, code=0)
    shown = cli("decisions", "--root", root, code=0).stdout
    assert GOOD in shown
    assert "candidate" in shown


def test_what_cannot_be_signed_is_refused_and_leaves_nothing(root: Path, tmp_path: Path):
    report = tmp_path / "page.json"
    cli("report", "--guard", GOOD, "--out", report, "--root", root, code=0)
    edit(report, lambda body: body["verdict"].update(verdict="retire"))
    told = cli("sign", report, "--author", "Ann", "--root", root, code=2).stderr
    assert "is not what its evidence says, so it is not signed" in told
    assert "no rule 'nope'" in cli("sign", "nope", "--author", "Ann", "--root", root, code=2).stderr
    assert "review_by must be a date" in cli(
        "sign", GOOD, "--author", "Ann", "--review-by", "soon", "--root", root, code=2
    ).stderr  # fmt: skip
    assert "author" in cli("sign", GOOD, "--author", " ", "--root", root, code=2).stderr
    assert "Nobody has signed" in cli("decisions", "--root", root, "--json", code=0).stderr


def test_a_report_under_another_policy_is_not_signed_for_the_frozen_one(root: Path, tmp_path: Path):
    report = tmp_path / "page.json"
    cli("report", "--guard", GOOD, "--policy", "budgeted:80", "--out", report, "--root", root, code=0)
    told = cli("sign", report, "--author", "Ann", "--root", root, code=2).stderr
    assert "is sound, but not what is known" in told


def test_a_review_that_was_edited_is_listed_as_altered(root: Path):
    cli("sign", GOOD, "--author", "Ann", "--root", root, code=0)
    log = root / "harnesskit" / "decisions.jsonl"
    log.write_text(log.read_text().replace("Ann", "Bob"))
    listed = json.loads(cli("decisions", "--root", root, "--json", code=0).stdout)["decisions"]
    assert [one["status"] for one in listed] == ["altered"]
    assert "altered" not in set(hk.open(demo_root()).decisions()["status"])
