"""The guards of a workspace at a glance, their pairs and plans, the A/A check of a promotion, and the commands."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from made_promotion import RuleAgent, banked, rule_id, workspace

import harnesskit as hk
from harnesskit.model.decision import GUARD_VERDICTS
from harnesskit.model.promotion_policy import PromotionPolicy
from harnesskit.model.promotion_results import GUARDS, PAIRS
from harnesskit.trials.promotion_cases import choose_cases

AGENT = """
import json
from harnesskit import ReplayResult
CALLS = []
def replay(case, context):
    CALLS.append(case.id)
    found = context.candidate_rule_id in context.task_tools.call("harness_rules_search", {"query": "order"})\
        if context.candidate_rule_id else False
    failure = case.replay_input["kind"] == "failure"
    base = (0.4 if failure else 0.8) + (0.3 if found and failure else 0.0) + 0.01 * (context.trial % 5)
    return ReplayResult(f"s-{len(CALLS)}", scores={"q": base, "r": base})
"""


def cli(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "harnesskit.cli", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def test_every_guard_has_a_row_and_looking_starts_no_agent(tmp_path: Path):
    banked(tmp_path)
    agent = RuleAgent(0.25)
    harness = workspace(tmp_path, agent)
    other = harness.rules.add("Say please.", metric="politeness", signatures=("breach:politeness",))
    untried = harness.rules.add("Quote the amount exactly.", metric="q", signatures=("breach:q",))
    harness.validate_now(rule_id(harness))
    calls = len(agent.calls)
    guards = harness.guards()
    assert list(guards.columns) == list(GUARDS.columns)
    row = guards.set_index("id")
    assert row.loc[rule_id(harness), "verdict"] == "promote"
    assert row.loc[rule_id(harness), "looks"] >= 1
    assert row.loc[other, "reason"] == "no_matching_replayable_case"
    assert row.loc[untried, "reason"] == "insufficient_evidence"
    assert row.loc[untried, "runs_needed"] > 0
    assert row.loc[untried, "cost_estimate"] == pytest.approx(0.02 * row.loc[untried, "runs_needed"])
    harness.evidence(rule_id(harness))
    harness.plan(rule_id(harness), draws=2)
    assert len(agent.calls) == calls


def test_pairs_show_inputs_outputs_and_scores_worst_first(tmp_path: Path):
    harness = workspace(tmp_path, RuleAgent(0.2))
    harness.validate_now(rule_id(harness), policy="budgeted:12")
    pairs = harness.pairs(rule_id(harness))
    assert set(PAIRS.columns) <= set(pairs.columns)
    assert pairs["delta"].is_monotonic_increasing
    assert pairs["candidate_output"].notna().all()
    assert pairs["input"].str.contains("failure").all()


def test_a_plan_says_the_chance_and_the_cost_of_each_verdict(tmp_path: Path):
    banked(tmp_path)
    harness = workspace(tmp_path, None)
    plan = harness.plan(rule_id(harness), "budgeted:20", draws=60)
    assert plan["effect"].tolist() == [0.0, 0.05, 0.10, 0.20]
    assert np.allclose(plan[["promote", "retire", "pending"]].sum(axis=1), 1.0)
    assert plan["promote"].iloc[0] < 0.2 < 0.7 < plan["promote"].iloc[3]
    assert plan["retire"].iloc[0] > 0.6
    assert (plan["replays"] <= 20).all()
    assert plan.equals(harness.plan(rule_id(harness), "budgeted:20", draws=60))
    assert plan["controls"].iloc[0] == 5


def test_a_rule_that_does_nothing_rarely_passes_and_the_check_says_how_often():
    rng = np.random.default_rng(3)
    rows = [
        (f"c{case}", "failure" if case < 5 else "win", metric, float(np.clip(0.6 + rng.normal(0, 0.1), 0, 1)), trial)
        for case in range(17)
        for trial in range(5)
        for metric in ("q", "r")
    ]
    scores = pd.DataFrame(rows, columns=["case_id", "kind", "metric", "value", "trial"])
    found = hk.aa_check(scores, policy=PromotionPolicy.budgeted(20), draws=60, target_metric="q")
    assert tuple(found["verdict"]) == GUARD_VERDICTS
    assert found["n"].sum() == 60
    row = found.set_index("verdict")
    assert row.loc["promote", "low"] < 0.06
    assert row.loc["retire", "share"] > 0.6
    assert found.equals(hk.aa_check(scores, policy="budgeted:20", draws=60, target_metric="q"))
    few = hk.aa_check(scores[scores["trial"] == 0], policy="budgeted")
    assert few["draws"].tolist() == [0, 0, 0]
    assert few["warning"].str.startswith("no draw").all()


def test_wins_that_share_something_with_the_rule_come_first_and_then_at_random(tmp_path: Path):
    harness = workspace(tmp_path, None, wins=30)
    harness.evalset.capture(
        session_id="near", kind="win", signature=("stall:q",), baseline_scores={"q": 0.9}, replay_input={"n": "near"}
    )
    rule = harness.rules.rules()[0]
    orders = [
        [case.id for case in choose_cases(rule, harness.evalset, PromotionPolicy(), seed).wins] for seed in (0, 1)
    ]
    assert orders[0][0] == orders[1][0] == next(c.id for c in harness.evalset.cases() if c.session_id == "near")
    assert orders[0] != orders[1]
    assert sorted(orders[0]) == sorted(orders[1])
    chosen = choose_cases(rule, harness.evalset, PromotionPolicy(max_failures=2), 0)
    assert (len(chosen.failures), len(chosen.held_out), chosen.n_wins) == (2, 1, 31)


def test_an_active_rule_is_hidden_in_control_when_it_is_tried_again(tmp_path: Path):
    agent = RuleAgent(0.3)
    harness = workspace(tmp_path, agent)
    rule = rule_id(harness)
    harness.rules.record(rule, status="active", reason="by hand")
    result = harness.validate_now(rule)
    assert result.verdict == "promote", result.decision.reasons
    assert harness.rules.get(rule).status == "active"


def test_the_command_line_reaches_the_same_verdict(tmp_path: Path):
    root, agent = tmp_path / "w", tmp_path / "agent.py"
    harness = workspace(root, None)
    agent.write_text(AGENT)
    plan = cli("validate", "--root", root, "--plan", "--json")
    assert plan.returncode == 0, plan.stderr
    assert len(json.loads(plan.stdout)["plan"][rule_id(harness)]) == 4
    done = cli("validate", rule_id(harness), "--root", root, "--replay", agent, "--scorer", "none", "--json")
    verdict = json.loads(done.stdout)["verdicts"][0]
    later = hk.open(root).evidence(rule_id(harness))
    assert (verdict["verdict"], verdict["evidence_hash"]) == (later.verdict, later.decision.evidence_hash)
    assert done.returncode == later.exit_code, done.stderr
    listed = cli("guards", "--root", root, "--json")
    assert listed.returncode == 0
    assert json.loads(listed.stdout)["guards"][0]["verdict"] == later.verdict
    nothing = cli("validate", "--root", root, "--scorer", "none")
    assert nothing.returncode == 3
    assert nothing.stderr.count("No replay function") == 1
    assert cli("validate", "r-none", "--root", root, "--replay", agent, "--scorer", "none").returncode == 2
