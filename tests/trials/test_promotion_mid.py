"""The rules of the reference's own workspace tried here: each gets a verdict or a reason, none from failed replays."""

from __future__ import annotations

import json
import random
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

import harnesskit as hk
from harnesskit import Harness, HarnessConfig, ReplayResult

METRICS = ("argument_correctness", "coherence", "task_completion", "tool_correctness")
ON_NO_GROUNDS = {"raise", "timeout", "unread", "no_scores"}


@pytest.fixture(scope="module")
def mid(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The workspace, with every rule put back to candidate."""
    root = tmp_path_factory.mktemp("mid") / "mid"
    shutil.copytree(shared / "reference" / "workspaces" / "mid", root, copy_function=shutil.copyfile)
    for path in [root, *root.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    again = (shared / "reference" / "expected" / "mid" / "whatif_rules.jsonl").read_text()
    with (root / "rules.jsonl").open("a") as file:
        file.write(again)
    return root


@pytest.fixture(scope="module")
def planted(shared: Path) -> dict[str, str]:
    """Rule to what its replays did in the reference's world."""
    truth = json.loads((shared / "reference" / "expected" / "mid" / "replay_truth.json").read_text())
    return {one["rule_id"]: one["effect"] for one in truth["replays"] if one["rule_id"]}


class World:
    """Replays as in the reference's world: some rules make them crash, hang, stay unread or end without a score."""

    def __init__(self, planted: dict[str, str]) -> None:
        self.planted = planted
        self.calls = 0

    def __call__(self, case: Any, context: Any) -> ReplayResult:
        self.calls += 1
        rule = context.candidate_rule_id
        effect = self.planted.get(rule, "none")
        if rule is not None and effect != "unread":
            context.task_tools.call("harness_rules_search", {"query": "rule"})
        if effect == "raise":
            raise RuntimeError("boom")
        if effect == "timeout":
            time.sleep(0.05)
        draw = random.Random(f"{case.id}/{rule}/{context.trial}")
        gain = 0.3 if effect == "improve" and case.kind == "failure" else 0.0
        base = 0.45 if case.kind == "failure" else 0.85
        scores = {metric: min(1.0, max(0.0, base + gain + draw.gauss(0, 0.07))) for metric in METRICS}
        return ReplayResult(f"s-{self.calls}", scores={} if effect == "no_scores" else scores)


@pytest.fixture(scope="module")
def results(mid: Path, planted: dict[str, str]) -> dict[str, Any]:
    config = HarnessConfig.from_env({}, harness_root=mid, replay_timeout_s=0.03)
    harness = Harness.create(config, replay=World(planted), scorer=lambda session: {}, fingerprint="mid")
    assert len(harness.rules.candidates()) == 20
    return {one.rule_id: one for one in harness.validate_candidates_now(policy="budgeted:20")}


def test_every_candidate_gets_a_verdict_or_a_reason(results: dict[str, Any]):
    assert len(results) == 20
    for one in results.values():
        assert one.verdict in ("promote", "retire", "pending")
        assert one.decision.reason in hk_reasons() or one.verdict != "pending"
        assert one.decision.reasons[0]


def hk_reasons() -> tuple[str, ...]:
    from harnesskit.model.decision import PENDING_REASONS

    return PENDING_REASONS


def test_replays_that_crashed_hung_or_gave_nothing_decide_nothing(results: dict[str, Any], planted: dict[str, str]):
    reasons = {
        "raise": {"replay_inconclusive"}, "timeout": {"replay_inconclusive"}, "no_scores": {"replay_inconclusive"},
        "unread": {"candidate_not_exercised"},
    }  # fmt: skip
    seen = set()
    for rule, effect in planted.items():
        if effect in ON_NO_GROUNDS:
            assert results[rule].verdict == "pending", results[rule].decision.reasons
            assert results[rule].decision.reason in reasons[effect], results[rule].decision.reasons
            seen.add(effect)
    assert seen == ON_NO_GROUNDS


def test_rules_that_help_are_promoted_and_none_that_does_nothing(results: dict[str, Any], planted: dict[str, str]):
    helped = [rule for rule, effect in planted.items() if effect == "improve"]
    assert sum(results[rule].verdict == "promote" for rule in helped) >= len(helped) - 1
    assert not [rule for rule, one in results.items() if rule not in helped and one.verdict == "promote"]


def test_what_the_reference_promoted_on_such_grounds_is_pending_and_it_is_said_why(
    shared: Path, planted: dict[str, str]
):
    harness = hk.open(shared / "reference" / "workspaces" / "mid")
    guards = harness.guards().set_index("id")
    promoted = [rule for rule, effect in planted.items() if effect in ON_NO_GROUNDS]
    for rule in promoted:
        assert guards.loc[rule, "verdict"] == "pending"
        assert any("The reference promoted it" in reason for reason in harness.evidence(rule).decision.reasons)
    crashed = next(rule for rule, effect in planted.items() if effect == "raise")
    assert any("never begun, or crashed" in reason for reason in harness.evidence(crashed).decision.reasons)


def test_stored_verdicts_are_those_given(mid: Path, results: dict[str, Any]):
    opened = hk.open(mid)
    for rule, one in list(results.items())[::5]:
        later = opened.evidence(rule)
        assert (later.verdict, later.decision.reason) == (one.verdict, one.decision.reason) or one.run_id is None
        if one.run_id is not None:
            assert later.evidence.equals(one.evidence)
