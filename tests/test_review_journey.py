"""From a trial to a promoted guard, with the real runner: validated, signed, promoted, verified, taken back."""

from __future__ import annotations

import contextlib
import json
import random
import subprocess
import sys
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


PROMOTER = """
import sys
from pathlib import Path
from test_review import TEXT, judged
import harnesskit as hk
from harnesskit.trials.promotion_frozen import text_hash
harness = hk.open(sys.argv[1])
for i in range(1000):
    text = f"{sys.argv[2]} {i} is a rule of its own, unlike any other."
    rule = harness.rules.add(text, metric="q", force=True)
    harness.sign(judged(rule, guard_hash=text_hash(text)), author="Ann")
    print(rule, flush=True)
    harness.promote(rule)
"""


@pytest.mark.long
def test_killed_while_promoting_a_rule_is_promoted_whole_or_not_at_all(tmp_path: Path):
    root, draw = tmp_path / "work", random.Random(3)
    workspace(root, RuleAgent(), fingerprint=None)
    for turn in range(20):
        command = [sys.executable, "-c", PROMOTER, str(root), f"turn{turn}"]
        child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parent)
        assert child.stdout is not None
        for _ in range(draw.randint(1, 3)):
            child.stdout.readline()
        with contextlib.suppress(subprocess.TimeoutExpired):  # so that the kill may come anywhere in promote()
            child.wait(draw.uniform(0, 0.03))
        child.kill()
        child.wait(30)
        child.stdout.close()
    harness = hk.open(root)
    harness.rules.add("The next write to the rules.")
    harness.refresh()
    problems = harness.problems()
    assert problems[problems["severity"] == "problem"].empty
    done = harness.decisions().query("action == 'promote'")["subject"].tolist()
    active = [rule.rule_id for rule in harness.rules.active()]
    told = [json.loads(line) for line in (root / "journal.jsonl").read_text().splitlines()]
    assert sorted(done) == sorted(active) == sorted(e["id"] for e in told if e["type"] == "rule_promote")
    assert len(active) >= 10
