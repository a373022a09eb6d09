"""Adaptive regression runs through the harness: bank, budget, interruption, resumption, and a verdict that stays."""

from __future__ import annotations

import asyncio
import json
import random
from pathlib import Path

import pytest

import harnesskit as hk
from harnesskit import Harness, HarnessConfig, ReplayResult
from harnesskit.model.errors import HarnesskitError

METRICS = ("coherence", "task_completion")


class AgentOf:
    """A replay function with its own noise, drawn from case and trial; `drop` lowers the cases in `worse`."""

    def __init__(
        self, name: str, drop: float = 0.0, worse: tuple[str, ...] = (), stop_after: int | None = None
    ) -> None:
        self.name, self.drop, self.worse, self.stop_after = name, drop, worse, stop_after
        self.replay_identity = "agent"
        self.calls = 0

    def __call__(self, case, context):
        self.calls += 1
        if self.stop_after is not None and self.calls > self.stop_after:
            raise KeyboardInterrupt
        draw = random.Random(f"{self.name}{case.replay_input['n']}{self.calls}")
        low = self.drop if case.replay_input["n"] in self.worse else 0.0
        scores = {metric: min(1.0, max(0.0, 0.85 - low + draw.gauss(0, 0.05))) for metric in METRICS}
        return ReplayResult(f"{self.name}-{case.id}-{self.calls}", scores=scores)


def workspace(root: Path, replay, *, control=None, wins: int = 12, failures: int = 2, fingerprint="v2") -> Harness:
    harness = Harness.create(
        HarnessConfig.from_env({}, harness_root=root), replay=replay, scorer=lambda session: {}, control=control,
        fingerprint=fingerprint,
    )  # fmt: skip
    for n in range(wins + failures):
        if len(harness.evalset.cases()) == n:
            kind = "win" if n < wins else "failure"
            harness.evalset.capture(
                session_id=f"s-{n}", kind=kind, signature=("x",), baseline_scores=dict.fromkeys(METRICS, 0.9),
                replay_input={"n": str(n)},
            )  # fmt: skip
    return harness


def banked(root: Path, runs: int = 5, fingerprint="v1") -> None:
    """A control bank of some runs per case under one fingerprint."""
    harness = workspace(root, AgentOf("old"))
    hk.replay(
        harness.evalset.cases(), AgentOf("bank"), role="control", trials=runs, root=root, fingerprint=fingerprint,
        progress=False,
    )  # fmt: skip


def test_a_broken_win_is_found_within_the_budget_and_the_verdict_stays(tmp_path: Path):
    banked(tmp_path)
    harness = workspace(tmp_path, AgentOf("new", 0.4, ("3",)), control=AgentOf("old"))
    result = harness.run_regression_now()
    assert result.decision.verdict == "fail"
    worse = result.deltas[result.deltas["status"] == "regressed"]
    (case_id,) = set(worse["case_id"])
    assert harness.evalset.get(case_id).replay_input == {"n": "3"}
    assert set(result.deltas["case_id"]) == {case.id for case in harness.evalset.cases()}  # every case has a row
    samples = harness.sql("SELECT * FROM samples WHERE run_id = $r", r=result.run_id)
    wins = samples[samples["round"].notna()]
    assert len(wins) <= 24
    assert sorted(set(samples[samples["round"].isna()]["case_id"])) == sorted(
        case.id for case in harness.evalset.cases(kind="failure")
    )
    later = harness.regression(result.run_id)
    assert later.deltas.equals(result.deltas)
    assert later.decision.reasons == result.decision.reasons
    assert later.decision.evidence_hash == result.decision.evidence_hash


def test_nothing_that_is_added_later_changes_a_verdict(tmp_path: Path):
    banked(tmp_path)
    harness = workspace(tmp_path, AgentOf("new", 0.4, ("3",)), control=AgentOf("old"))
    before = harness.run_regression_now()
    banked(tmp_path, 3)
    harness.evalset.capture(session_id="more", kind="win", baseline_scores={"coherence": 0.9}, replay_input={"n": "99"})
    harness.run_regression_now(policy="thorough")
    folder = tmp_path / "harnesskit"
    (folder / "metrics.toml").write_text("[metrics.coherence]\nhigher_is_better = false\n")
    opened = hk.open(tmp_path)
    after = opened.regression(before.run_id)
    assert after.deltas.equals(before.deltas)
    assert after.decision.evidence_hash == before.decision.evidence_hash
    frozen = json.loads((folder / "runs" / before.run_id / "run.json").read_text())["parameters"]["frozen"]
    assert {"policy", "wins", "controls", "families", "budget", "seed"} <= set(frozen)
    assert frozen["baseline"]["fingerprint"]["version"] == "v1"


def test_a_run_that_changes_nothing_passes(tmp_path: Path):
    banked(tmp_path)
    result = workspace(tmp_path, AgentOf("new"), control=AgentOf("old")).run_regression_now(policy="thorough")
    assert result.clean, result.decision.reasons
    assert result.deltas["interval_kind"].dropna().str.startswith("repeated interval").any()


def test_without_a_control_function_the_bank_alone_decides(tmp_path: Path):
    banked(tmp_path)
    result = workspace(tmp_path, AgentOf("new", 0.4, ("3",))).run_regression_now()
    assert result.decision.verdict == "fail"
    samples = hk.open(tmp_path).sql("SELECT DISTINCT arm FROM samples WHERE run_id = $r", r=result.run_id)
    assert samples["arm"].tolist() == ["candidate"]
    assert any("No control function" in reason for reason in result.decision.reasons)


def test_another_fingerprint_is_no_control(tmp_path: Path):
    banked(tmp_path, 5, "v0")
    banked(tmp_path, 2, "v1")
    result = workspace(tmp_path, AgentOf("new")).run_regression_now()
    assert int(result.deltas.query("kind == 'win'")["n_baseline"].max()) == 2


def test_stopped_by_the_user_it_has_a_verdict_and_goes_on(tmp_path: Path):
    banked(tmp_path)
    agent = AgentOf("new", 0.4, ("3",), stop_after=7)
    harness = workspace(tmp_path, agent, control=AgentOf("old"))
    stopped = harness.run_regression_now()
    assert stopped.decision.verdict == "inconclusive"
    assert any("interrupted" in reason for reason in stopped.decision.reasons)
    agent.stop_after = None
    resumed = harness.run_regression_now(resume=stopped.run_id)
    assert resumed.run_id == stopped.run_id
    assert resumed.decision.verdict == "fail"
    samples = harness.sql("SELECT * FROM samples WHERE run_id = $r AND counts", r=resumed.run_id)
    first = samples[samples["round"] == 1]
    assert first["case_id"].is_unique
    assert len(first) == 12


def test_a_time_limit_ends_a_run_with_a_verdict(tmp_path: Path):
    banked(tmp_path)
    result = workspace(tmp_path, AgentOf("new"), control=AgentOf("old")).run_regression_now(time_limit_s=1e-9)
    assert result.decision.verdict == "inconclusive"
    assert any("time limit" in reason for reason in result.decision.reasons)


def test_a_stale_bank_is_noticed(tmp_path: Path):
    banked(tmp_path)
    agents = AgentOf("new", 0.5, tuple(map(str, range(12)))), AgentOf("old", 0.5, tuple(map(str, range(12))))
    result = workspace(tmp_path, agents[0], control=agents[1]).run_regression_now(policy="thorough")
    assert any("stale" in reason for reason in result.decision.reasons)
    assert result.decision.verdict != "fail"


def test_the_async_form_gives_the_same(tmp_path: Path):
    banked(tmp_path)
    harness = workspace(tmp_path, AgentOf("new", 0.4, ("3",)), control=AgentOf("old"))
    result = asyncio.run(harness.run_regression(policy="classic"))
    assert result.decision.verdict == "fail"
    assert result.decision.policy["name"] == "classic"


def test_failing_replays_cost_budget_and_are_never_a_score(tmp_path: Path):
    banked(tmp_path)

    def broken(case, context):
        raise RuntimeError("no server")

    result = workspace(tmp_path, broken, control=AgentOf("old")).run_regression_now()
    assert result.decision.verdict == "inconclusive"
    assert not result.deltas["status"].isin(["regressed", "unchanged"]).any()


def test_the_plan_is_there_before_anything_is_spent(tmp_path: Path):
    banked(tmp_path)
    agent = AgentOf("new")
    harness = workspace(tmp_path, agent, control=AgentOf("old"))
    plan = harness.plan_regression(policy="thorough")
    assert agent.calls == 0
    assert plan["drop"].tolist() == [0.05, 0.10, 0.20] * 2
    together = plan[plan["where"] == "all metrics"]
    assert together["chance_end"].is_monotonic_increasing
    assert together["chance_end"].iloc[-1] > 0.9
    assert plan["budget"].unique().tolist() == [36]


def test_what_cannot_be_resumed_is_said(tmp_path: Path):
    banked(tmp_path)
    harness = workspace(tmp_path, AgentOf("new"), control=AgentOf("old"))
    with pytest.raises(HarnesskitError, match="no adaptive run"):
        harness.run_regression_now(resume="no-such-run")
    with pytest.raises(HarnesskitError, match="adaptive policy"):
        harness.run_regression_now(policy="floor:0.5", resume="no-such-run")


class Hanging(AgentOf):
    """An agent that raises in some cases, and says whether its outcome was right in the others."""

    def __call__(self, case, context):
        if case.replay_input["n"] in self.worse:
            raise TimeoutError
        found = super().__call__(case, context)
        return ReplayResult(found.session_id, scores={**found.scores, "outcome_correct": 1.0})


def banked_outcomes(root: Path, **given) -> Harness:
    harness = workspace(root, Hanging("old"), **given)
    hk.replay(
        harness.evalset.cases(), Hanging("bank"), role="control", trials=5, root=root, fingerprint="v1", progress=False
    )
    return harness


def test_a_win_whose_replays_all_raise_is_regressed_in_its_outcome(tmp_path: Path):
    banked_outcomes(tmp_path)
    result = workspace(tmp_path, Hanging("new", 0.0, ("3",))).run_regression_now(policy="thorough")
    rows = result.deltas[result.deltas["n_unscored"] > 0].set_index("metric")
    worse = result.deltas[result.deltas["status"] == "regressed"]
    assert worse["metric"].tolist() == ["outcome_correct"]
    assert (worse["case_id"].iloc[0], worse["candidate"].iloc[0]) == (rows["case_id"].iloc[0], 0.0)
    assert set(rows.index) == set(METRICS)
    assert result.decision.verdict == "fail"
    counted = result.ledger[result.ledger["state"] == "counted as failed"]
    assert counted["n_trials"].sum() == worse["n_candidate"].iloc[0] >= 3


class Raising(AgentOf):
    """An agent that raises in some cases."""

    def __call__(self, case, context):
        if case.replay_input["n"] in self.worse:
            raise RuntimeError("down")
        return super().__call__(case, context)


def test_a_pass_of_an_adaptive_run_must_hold_with_the_missing_scores_at_their_worst(tmp_path: Path):
    banked(tmp_path)
    lost = ("0", "1", "2", "3", "4")
    policy = hk.RegressionPolicy(min_coverage=0.5, budget_per_win=4)
    result = workspace(tmp_path, Raising("new", worse=lost)).run_regression_now(policy=policy)
    checks = result.decision.checks.set_index("check")
    bound = hk.missing_bounds(result.before, result.after).set_index(["kind", "metric"]).loc["win"]
    for metric in METRICS:
        row = checks.loc[f"holds with the missing scores at their worst: {metric}"]
        assert (row["state"], row["estimate"]) == ("unknown", bound.loc[metric, "drop_worst"])
    assert result.decision.verdict == "inconclusive"
    later = hk.open(tmp_path).regression(result.run_id)
    assert later.decision.checks.equals(result.decision.checks)
    assert later.decision.evidence_hash == result.decision.evidence_hash
