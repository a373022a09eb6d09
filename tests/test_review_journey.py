"""From a trial to a promoted guard, with the real runner: validated, signed, promoted, verified, taken back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from made_promotion import RULE, RuleAgent, banked, rule_id, workspace

import harnesskit as hk
from harnesskit import ReplayResult
from harnesskit.model.errors import PromotionRefusedError


def test_a_rule_that_helps_from_its_trial_to_the_active_set_and_back(tmp_path: Path):
    root = tmp_path / "work"
    banked(root)
    harness = workspace(root, RuleAgent(0.25))
    rule = rule_id(harness)
    result = harness.validate_now(rule)
    assert result.verdict == "promote"
    page = result.report().save(tmp_path / "page.json")
    signature = harness.sign(result, author="Ann", approver="Bo", review_by="2999-01-01")
    row = harness.decisions().iloc[0]
    assert (row["guard_hash"], row["evidence_hash"]) == (result.frozen["rule"]["sha256"], result.decision.evidence_hash)
    found = harness.verify(page)
    assert found.same, found
    assert signature in found.signatures[0]
    change = harness.promote(rule)
    assert (change.status, change.signature_id, change.notes[:-1]) == ("active", signature, ())
    assert harness.verify(page).same  # what was promoted changes no verdict already given
    assert harness.retire(rule, "too slow").status == "retired"


@pytest.mark.parametrize("what", ["verdict", "sample", "score"])
def test_a_page_on_a_rule_that_says_something_else_is_found_out(tmp_path: Path, what: str):
    root = tmp_path / "work"
    banked(root)
    harness = workspace(root, RuleAgent(0.25))
    result = harness.validate_now(rule_id(harness))
    page = result.report().save(tmp_path / "page.json")
    body = json.loads(page.read_text())
    if what == "verdict":
        body["verdict"]["verdict"] = "retire"
    if what == "sample":
        body["evidence"]["samples"]["trial"].pop()
    if what == "score":
        samples = root / "harnesskit" / "runs" / result.run_id / "samples.jsonl"
        lines = [json.loads(line) for line in samples.read_text().splitlines()]
        for line in lines:
            for score in line["scores"]:
                score["value"] = 0.5
        samples.write_text("".join(json.dumps(line) + "\n" for line in lines))
    page.write_text(json.dumps(body))
    assert not hk.open(root).verify(page).same


def test_a_rule_whose_text_changed_after_its_trial_is_refused(tmp_path: Path):
    root = tmp_path / "work"
    banked(root)
    harness = workspace(root, RuleAgent(0.25))
    rule = rule_id(harness)
    harness.sign(harness.validate_now(rule), author="Ann")
    record = json.loads((root / "rules.jsonl").read_text().splitlines()[-1])
    with (root / "rules.jsonl").open("a") as file:
        file.write(json.dumps({**record, "rule": RULE + " Twice."}, sort_keys=True) + "\n")
    with pytest.raises(PromotionRefusedError, match="is older than the text of the rule"):
        harness.promote(rule)
    other = workspace(root, RuleAgent(0.25), fingerprint="v9")
    with pytest.raises(PromotionRefusedError, match="another fingerprint: version='v1'; here it is version='v9'"):
        other.promote(rule)


def test_replays_of_ones_own_are_signed_when_they_read_the_text_that_stands(tmp_path: Path):
    root = tmp_path / "work"
    harness = workspace(root, RuleAgent(0.3))
    rule = rule_id(harness)
    for arm, trials in (("control", 5), ("candidate", 5)):
        hk.replay(
            harness.evalset.cases(), RuleAgent(0.3, sd=0.05), role=arm, rule=rule if arm == "candidate" else None,
            trials=trials, root=root, fingerprint="v1", progress=False,
        )  # fmt: skip
    harness.refresh()
    result = harness.evidence(rule)
    page = result.report().save(tmp_path / "page.json")
    harness.sign(result, author="Ann")
    assert harness.verify(page).same
    assert harness.decisions()["guard_hash"].notna().all()
    if result.verdict == "promote":
        assert harness.promote(rule).status == "active"
    else:
        with pytest.raises(PromotionRefusedError, match=f"says {result.verdict}") as refused:
            harness.promote(rule)
        assert len(refused.value.reasons) == 1


def test_a_fixed_case_becomes_a_win_held_against_its_fresh_runs(tmp_path: Path):
    root = tmp_path / "work"

    def fixed(case, context):
        return ReplayResult(
            f"fresh-{case.id}-{context.trial}-{len(list(root.rglob('*')))}", scores={"q": 0.95, "r": 0.9}
        )

    fixed.replay_identity = "fixed"
    harness = workspace(root, fixed, failures=1, wins=2)
    (root / "harnesskit").mkdir(exist_ok=True)
    (root / "harnesskit" / "metrics.toml").write_text("[metrics.q]\nthreshold = 0.5\n")
    harness = workspace(root, fixed, failures=1, wins=2)
    [case] = harness.evalset.cases("failure")
    result = harness.validate_now(case.id)
    page = result.report().save(tmp_path / "page.json")
    harness.sign(result, author="Ann")
    assert harness.verify(page).same
    assert result.verdict == "promote", result.decision.reasons
    assert harness.promote(case.id).status == "win"
    now = harness.evalset.get(case.id)
    assert (now.kind, now.baseline_scores) == ("win", {"q": pytest.approx(0.95), "r": pytest.approx(0.9)})
    assert harness.retire(case.id, "flaky").status == "failure"
    assert harness.evalset.get(case.id).baseline_scores == case.baseline_scores
