"""Trials of rules through the harness: budget, interruption, going on, and a verdict that stays."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path

import pytest
from made_promotion import RULE, RuleAgent, banked, rule_id, workspace

import harnesskit as hk
from harnesskit.model.errors import LockedError, PolicyError, WorkspaceError
from harnesskit.model.promotion_policy import PromotionPolicy
from harnesskit.model.replay import ReplayError
from harnesskit.workspace.locking import hold


def frozen_of(root: Path, run_id: str) -> dict:
    return json.loads((root / "harnesskit" / "runs" / run_id / "run.json").read_text())["parameters"]["promotion"]


def test_a_rule_that_helps_is_promoted_and_the_verdict_stays(tmp_path: Path):
    banked(tmp_path)
    harness = workspace(tmp_path, RuleAgent(0.25))
    result = harness.validate_now(rule_id(harness))
    assert result.verdict == "promote", result.decision.reasons
    later = harness.evidence(rule_id(harness))
    assert later.evidence.equals(result.evidence)
    assert later.decision.reasons == result.decision.reasons
    assert later.decision.evidence_hash == result.decision.evidence_hash
    assert set(result.wins["case_id"]) == {case.id for case in harness.evalset.cases("win")}
    assert result.frozen["rule"]["text"] == RULE
    assert harness.rules.get(rule_id(harness)).status == "candidate"  # the verdict changes nothing


def test_a_rule_that_does_nothing_is_not_promoted_and_costs_little(tmp_path: Path):
    banked(tmp_path)
    agent = RuleAgent()
    harness = workspace(tmp_path, agent)
    result = harness.validate_now(rule_id(harness))
    assert result.verdict == "retire"
    assert len(agent.calls) < 20


def test_harm_to_wins_is_found(tmp_path: Path):
    banked(tmp_path)
    harness = workspace(tmp_path, RuleAgent(0.3, harm=0.3, harmed=tuple(str(n) for n in range(3, 11))))
    result = harness.validate_now(rule_id(harness))
    assert (result.verdict, result.decision.reason) == ("retire", "harm")


@pytest.mark.parametrize("budget", [1, 2, 5, 7, 12])
def test_the_budget_is_kept_exactly(tmp_path: Path, budget: int):
    agent = RuleAgent(0.08, sd=0.2)
    harness = workspace(tmp_path, agent)
    result = harness.validate_now(rule_id(harness), policy=PromotionPolicy.budgeted(budget), concurrency=3)
    assert len(agent.calls) == len(result.samples) <= budget
    assert result.verdict in ("pending", "promote", "retire")


def test_in_control_the_rule_is_hidden_and_the_arms_are_mixed(tmp_path: Path):
    agent = RuleAgent(0.05, sd=0.15)
    harness = workspace(tmp_path, agent)
    result = harness.validate_now(rule_id(harness))
    arms = result.samples.sort_values("round")["arm"].tolist()
    assert {rule for _, rule in agent.calls} == {None, rule_id(harness)}
    assert arms != sorted(arms)
    assert sorted(result.samples["round"]) == list(range(1, len(arms) + 1))
    control = result.samples[result.samples["arm"] == "control"]
    assert control["candidate_surfaced"].isna().all()


def test_the_same_seed_gives_the_same_trial_and_another_another_order(tmp_path: Path):
    orders = []
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        agent = RuleAgent(0.1)
        harness = workspace(tmp_path / name, agent, wins=0)
        harness.validate_now(rule_id(harness), seed=seed)
        orders.append([(case, rule is None) for case, rule in agent.calls])
    assert orders[0] == orders[1] != orders[2]


@pytest.mark.parametrize("stop", [1, 4, 9])
def test_stopped_by_the_user_and_gone_on_with_it_ends_as_if_it_had_not_been(tmp_path: Path, stop: int):
    whole = workspace(tmp_path / "whole", RuleAgent(0.2), wins=0)
    expected = whole.validate_now(rule_id(whole))
    agent = RuleAgent(0.2, stop_after=stop)
    harness = workspace(tmp_path / "cut", agent, wins=0)
    stopped = harness.validate_now(rule_id(harness))
    assert stopped.verdict == "pending"
    assert stopped.stopped == "interrupted"
    agent.stop_after = None
    result = harness.validate_now(rule_id(harness))
    assert result.run_id == stopped.run_id
    assert result.evidence.drop(columns="note").equals(expected.evidence.drop(columns="note"))
    assert (result.verdict, result.stopped) == (expected.verdict, expected.stopped)


def test_killed_between_two_replays_it_is_gone_on_with(tmp_path: Path):
    banked(tmp_path)
    harness = workspace(tmp_path, RuleAgent(0.2))
    whole = harness.validate_now(rule_id(harness))
    folder = tmp_path / "harnesskit" / "runs" / whole.run_id
    lines = (folder / "samples.jsonl").read_bytes().splitlines(keepends=True)
    run = json.loads((folder / "run.json").read_text())
    for name in ("stopped", "verdict", "replays"):
        del run["parameters"][name]
    run["finished_at"] = None
    (folder / "run.json").write_text(json.dumps(run))
    (folder / "samples.jsonl").write_bytes(b"".join(lines[:5]) + lines[5][:40])  # the sixth was being written
    agent = RuleAgent(0.2)
    again = workspace(tmp_path, agent)
    result = again.validate_now(rule_id(again))
    assert result.run_id == whole.run_id
    assert len(agent.calls) == len(lines) - 5
    assert result.evidence.equals(whole.evidence)


def test_a_time_limit_stops_between_replays_and_the_next_night_goes_on(tmp_path: Path):
    harness = workspace(tmp_path, RuleAgent(0.1, sd=0.2))
    first = harness.validate_now(rule_id(harness), policy="open_ended", time_limit_s=0.0)
    assert (first.verdict, len(first.samples)) == ("pending", 0)
    second = harness.validate_now(rule_id(harness), policy="open_ended")
    assert second.run_id == first.run_id
    assert second.stopped in ("decided", "budget spent")


def test_nothing_that_is_added_later_changes_a_verdict(tmp_path: Path):
    banked(tmp_path)
    harness = workspace(tmp_path, RuleAgent(0.25))
    before = harness.validate_now(rule_id(harness))
    harness.evalset.capture(
        session_id="more", kind="failure", signature=("breach:q",), baseline_scores={"q": 0.1}, replay_input={"n": "9"}
    )
    harness.evalset.capture(session_id="win", kind="win", baseline_scores={"q": 0.9}, replay_input={"n": "8"})
    banked(tmp_path, 2)
    for case in harness.evalset.cases("win")[:1]:
        harness.evalset.remove(case.id)
    folder = tmp_path / "harnesskit"
    (folder / "labels.jsonl").write_text('{"session_id": "s-1", "rater": "a", "failed": true}\n')
    (folder / "metrics.toml").write_text("[metrics.q]\nhigher_is_better = false\n")
    after = hk.open(tmp_path).evidence(rule_id(harness))
    assert after.evidence.equals(before.evidence)
    assert after.wins.equals(before.wins)
    assert after.decision.evidence_hash == before.decision.evidence_hash


def test_new_defaults_change_no_verdict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    banked(tmp_path)
    harness = workspace(tmp_path, RuleAgent(0.25))
    before = harness.validate_now(rule_id(harness))
    field = PromotionPolicy.model_fields["alpha"]
    monkeypatch.setattr(field, "default", 1e-9)
    PromotionPolicy.model_rebuild(force=True)
    try:
        assert PromotionPolicy().alpha == 1e-9
        after = hk.open(tmp_path).evidence(rule_id(harness))
    finally:
        monkeypatch.undo()
        PromotionPolicy.model_rebuild(force=True)
    assert after.evidence.equals(before.evidence)
    assert (after.verdict, after.decision.policy) == (before.verdict, before.decision.policy)
    assert after.decision.evidence_hash == before.decision.evidence_hash  # so that what was signed still holds


def test_a_policy_asked_for_later_is_recorded_and_listed(tmp_path: Path):
    banked(tmp_path)
    harness = workspace(tmp_path, RuleAgent(0.25))
    given = harness.validate_now(rule_id(harness))
    assert given.looks.empty
    strict = harness.evidence(rule_id(harness), PromotionPolicy(alpha=1e-6))
    assert strict.verdict == "pending"
    assert any("asked for after the evidence was there" in reason for reason in strict.decision.reasons)
    harness.evidence(rule_id(harness), PromotionPolicy(alpha=1e-6))
    looks = harness.evidence(rule_id(harness)).looks
    assert looks[["policy", "verdict"]].values.tolist() == [["budgeted, alpha=1e-06", "pending"]]
    assert harness.evidence(rule_id(harness), "budgeted").verdict == given.verdict  # the frozen one is no look
    assert len((tmp_path / "harnesskit" / "looks.jsonl").read_text().splitlines()) == 1


def test_another_text_is_another_rule_and_the_same_text_is_tried_harder(tmp_path: Path):
    banked(tmp_path)
    harness = workspace(tmp_path, RuleAgent(0.25))
    first = harness.validate_now(rule_id(harness))
    second = harness.validate_now(rule_id(harness))
    assert second.run_id != first.run_id
    assert second.frozen["policy"]["alpha"] == pytest.approx(0.025)
    assert second.lineage[["run_id", "verdict"]].values.tolist() == [[first.run_id, first.verdict]]
    assert any("trial 2 of this text" in reason for reason in second.decision.reasons)
    path = tmp_path / "rules.jsonl"
    record = json.loads(path.read_text().splitlines()[-1]) | {"rule": "Look the order up twice before any refund."}
    path.write_text(path.read_text() + json.dumps(record) + "\n")
    changed = harness.evidence(rule_id(harness))
    assert (changed.verdict, changed.decision.reason) == ("pending", "insufficient_evidence")
    third = harness.validate_now(rule_id(harness))
    assert third.frozen["policy"]["alpha"] == 0.05
    assert third.lineage["run_id"].tolist() == [first.run_id, second.run_id]


def test_captures_are_no_baseline_of_failures(tmp_path: Path):
    harness = workspace(tmp_path, RuleAgent(0.0, shift=0.2))  # the captured failures, selected low, would all improve
    result = harness.validate_now(rule_id(harness))
    assert result.verdict != "promote"
    failures = result.control[result.control["kind"] == "failure"]
    assert set(failures["source"]) == {"control"}


def test_controls_are_shared_between_candidates_and_so_is_the_error(tmp_path: Path):
    harness = workspace(tmp_path, RuleAgent(0.1))
    harness.rules.add("Never retype an amount from the message.", metric="q", signatures=("breach:q",))
    harness.rules.add("Answer in the language of the customer.", metric="r", signatures=("breach:nothing",))
    results = harness.validate_candidates_now(policy="budgeted:10")
    assert [result.decision.reason == "no_matching_replayable_case" for result in results] == [False, False, True]
    first, second = results[:2]
    assert first.frozen["policy"]["alpha"] == second.frozen["policy"]["alpha"] == 0.05
    assert first.frozen["family"]["size"] == 2
    banked_runs = {run["sample"] for runs in second.frozen["controls"].values() for run in runs}
    assert set(first.samples.loc[first.samples["arm"] == "control", "sample_id"]) <= banked_runs
    assert any("share an error budget" in reason for reason in second.decision.reasons)


def test_without_a_fingerprint_controls_are_shared_inside_the_round_only(tmp_path: Path):
    banked(tmp_path)
    harness = workspace(tmp_path, RuleAgent(0.1), fingerprint=None)
    harness.rules.add("Never retype an amount from the message.", metric="q", signatures=("breach:q",))
    first, second = harness.validate_candidates_now(policy="budgeted:10")
    assert not any(run["source"] == "control" for runs in first.frozen["controls"].values() for run in runs)
    assert second.frozen["baseline"]["source"] == "this round"
    again = harness.validate_now(rule_id(harness))
    assert not any(run["source"] == "control" for runs in again.frozen["controls"].values() for run in runs)


def test_five_candidates_are_each_tested_at_a_fiftieth(tmp_path: Path):
    harness = workspace(tmp_path, RuleAgent())
    for text in ("Refund nothing twice.", "Ask for the id.", "Read the policy first.", "Quote the amount exactly."):
        harness.rules.add(text, metric="q", signatures=("breach:q",))
    results = harness.validate_candidates_now(policy="budgeted:3")
    assert {result.frozen["policy"]["alpha"] for result in results} == {0.02}


def test_a_stale_bank_decides_nothing_and_is_not_used_again(tmp_path: Path):
    banked(tmp_path)
    harness = workspace(tmp_path, RuleAgent(0.2, shift=-0.4))
    stale = harness.validate_now(rule_id(harness), sentinels=3)
    assert (stale.verdict, stale.decision.reason) == ("pending", "stale_control")
    assert len(stale.samples) == 3
    fresh = harness.validate_now(rule_id(harness))
    assert fresh.decision.reason != "stale_control"
    banked_failures = [run for case in fresh.frozen["failures"] for run in fresh.frozen["controls"][case]]
    assert not banked_failures


def test_another_fingerprint_is_no_control_and_no_trial_to_go_on_with(tmp_path: Path):
    banked(tmp_path)
    agent = RuleAgent(0.2, stop_after=2)
    harness = workspace(tmp_path, agent, fingerprint="v2")
    stopped = harness.validate_now(rule_id(harness))
    assert stopped.frozen["baseline"]["source"] == "none"
    agent.stop_after = None
    other = workspace(tmp_path, agent, fingerprint="v3")
    refused = other.validate_now(rule_id(other), resume=stopped.run_id)
    assert (refused.verdict, refused.decision.reason) == ("pending", "fingerprint_mismatch")
    new = other.validate_now(rule_id(other))
    assert new.run_id != stopped.run_id


def test_what_never_read_the_rule_proves_nothing(tmp_path: Path):
    banked(tmp_path)
    harness = workspace(tmp_path, RuleAgent(0.4, reads=0.0))
    result = harness.validate_now(rule_id(harness))
    assert (result.verdict, result.decision.reason) == ("pending", "candidate_not_exercised")
    assert len(result.samples) <= 7


def test_no_matching_case(tmp_path: Path):
    harness = workspace(tmp_path, RuleAgent())
    other = harness.rules.add("Say please.", metric="politeness", signatures=("breach:politeness",))
    result = harness.validate_now(other)
    assert (result.verdict, result.decision.reason) == ("pending", "no_matching_replayable_case")
    assert result.run_id is None


def test_without_a_replay_function_it_is_said_once(tmp_path: Path):
    harness = workspace(tmp_path, None)
    with pytest.warns(UserWarning, match="No replay function"):
        result = harness.validate_now(rule_id(harness))
    assert (result.verdict, result.exit_code) == ("pending", 3)
    assert harness.validate_candidates_now(policy="budgeted")[0].exit_code == 3  # no second warning
    assert not (tmp_path / "harnesskit" / "runs").exists()


@pytest.mark.parametrize(
    ("fault", "reason"),
    [("raise", "replay_inconclusive"), ("wait", "env_wait_timeout"), ("none", "replay_inconclusive")],
)
def test_replays_without_scores_decide_nothing_and_stop_soon(tmp_path: Path, fault: str, reason: str):
    class Broken(RuleAgent):
        def __call__(self, case, context):
            super().__call__(case, context)
            if fault == "raise":
                raise RuntimeError("boom")
            if fault == "wait":
                threading.Event().wait(0.2)
            return hk.ReplayResult(f"s-{len(self.calls)}", scores={})

    agent = Broken()
    harness = workspace(tmp_path, agent)
    harness.config = harness.config.model_copy(update={"replay_env_wait_timeout_s": 0.01})
    harness._side.config = harness.config
    result = harness.validate_now(rule_id(harness), policy="budgeted:40")
    assert (result.verdict, result.decision.reason) == ("pending", reason), result.decision.reasons
    assert len(agent.calls) <= 19


def test_an_async_agent_in_a_running_loop_and_two_harnesses_in_threads(tmp_path: Path):
    banked(tmp_path)
    agent = RuleAgent(0.25)

    async def replay(case, context):
        await asyncio.sleep(0)
        return agent(case, context)

    async def main():
        harness = workspace(tmp_path, replay)
        awaited = await harness.validate(rule_id(harness), concurrency=2)
        blocked = harness.validate_now(rule_id(harness), policy="budgeted:6")
        return awaited, blocked

    awaited, blocked = asyncio.run(main())
    assert awaited.verdict == "promote"
    assert len(blocked.samples) <= 6
    found: list[str] = []
    harness = workspace(tmp_path, agent)
    threads = [
        threading.Thread(target=lambda n=n: found.append(harness.validate_now(rule_id(harness), seed=n).verdict))
        for n in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 2  # at once, the second says that a trial is in progress


def test_a_trial_that_is_being_made_elsewhere_is_left_alone(tmp_path: Path):
    agent = RuleAgent()
    harness = workspace(tmp_path, agent)
    lock = tmp_path / "harnesskit" / "cache" / f"trial-{rule_id(harness)}.lock"
    with hold(lock, "try rule"):
        result = harness.validate_now(rule_id(harness))
    assert (result.verdict, result.decision.reason) == ("pending", "trial_in_progress")
    assert not agent.calls
    with pytest.raises(LockedError), hold(lock, "a"), hold(lock, "b", timeout_s=0.0):
        pass


def test_errors_name_what_is_wrong(tmp_path: Path):
    harness = workspace(tmp_path, RuleAgent())
    with pytest.raises(WorkspaceError, match="no rule 'r-none'"):
        harness.validate_now("r-none")
    with pytest.raises(PolicyError, match="reference"):
        harness.validate_now(rule_id(harness), policy="reference")
    with pytest.raises(WorkspaceError, match="no trial 'nothing'"):
        harness.validate_now(rule_id(harness), resume="nothing")
    done = harness.validate_now(rule_id(harness), policy="budgeted:3")
    with pytest.raises(ReplayError, match="it has ended"):
        harness.validate_now(rule_id(harness), resume=done.run_id)


def test_a_bank_older_than_a_week_is_looked_at_first(tmp_path: Path):
    banked(tmp_path)
    for path in (tmp_path / "harnesskit" / "runs").glob("control-*/run.json"):
        run = json.loads(path.read_text()) | {"finished_at": "2020-01-01T00:00:00+00:00"}
        path.write_text(json.dumps(run))
    harness = workspace(tmp_path, RuleAgent(0.3))
    result = harness.validate_now(rule_id(harness))
    first = result.samples.sort_values("round").head(3)
    assert set(first["arm"]) == {"control"}
    assert first["case_id"].tolist() == result.frozen["sentinels"]
    row = result.evidence.set_index("check").loc["control_is_current"]
    assert row["state"] == "met"
    assert result.verdict == "promote", result.decision.reasons


def test_a_cancelled_trial_keeps_what_had_ended_and_is_gone_on_with(tmp_path: Path):
    agent = RuleAgent(0.25)
    reached = asyncio.Event

    async def main():
        at_fourth = reached()

        async def replay(case, context):
            if len(agent.calls) == 3:
                at_fourth.set()
                await asyncio.sleep(60)
            return agent(case, context)

        harness = workspace(tmp_path, replay)
        task = asyncio.ensure_future(harness.validate(rule_id(harness)))
        await at_fourth.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        agent.calls.append(("cancelled", None))
        return await harness.validate(rule_id(harness))

    result = asyncio.run(main())
    assert result.verdict == "promote"
    reasons = result.samples["reason"].fillna("")
    assert (reasons == "interrupted").sum() == 1
    assert sorted(result.samples.loc[reasons != "interrupted", "round"]) == list(range(1, len(result.samples)))
