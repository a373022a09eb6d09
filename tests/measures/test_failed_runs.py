"""A change that makes the agent crash or hang does not look better by its worst replays dropping out."""

from __future__ import annotations

import pandas as pd
import pytest

import harnesskit as hk
from harnesskit.model.policy import RegressionPolicy
from harnesskit.model.results import LEDGER

CASES = [f"c{i:02d}" for i in range(12)]


def sides(lost: int, status: str = "timeout", reason: str | None = "timed_out: after 300 s"):
    """Three trials of 12 wins, pass or fail and a judge's score; the candidate loses all trials of `lost` wins."""
    rows = [(case, m, t, v) for case in CASES for t in range(3) for m, v in (("passed", 1.0), ("judge", 0.8 + t / 50))]
    before = pd.DataFrame(rows, columns=["case_id", "metric", "trial", "value"])
    before.loc[(before["case_id"] == "c11") & (before["metric"] == "passed"), "value"] = [1.0, 0.0, 1.0]
    after = before.assign(status="ok", reason=None)
    gone = after["case_id"].isin(CASES[:lost])
    replays = after[gone & (after["metric"] == "judge")].assign(metric=None, value=None, status=status, reason=reason)
    return before, pd.concat([after[~gone], replays], ignore_index=True).astype({"value": float, "metric": object})


def of(frame: pd.DataFrame, case: str, metric: str) -> pd.Series:
    return frame.set_index(["case_id", "metric"]).loc[(case, metric)]


def test_a_timeout_fails_the_yes_or_no_metric_and_only_that():
    deltas = hk.case_deltas(*sides(2))
    outcome, judged = of(deltas, "c00", "passed"), of(deltas, "c00", "judge")
    assert (outcome["candidate"], outcome["delta"], outcome["n_candidate"], outcome["n_unscored"]) == (0.0, -1.0, 3, 0)
    assert outcome["note"] == "3 candidate trials ended in an error or a timeout: counted as failed"
    assert (judged["n_candidate"], judged["n_unscored"]) == (0, 3)
    assert pd.isna(judged["delta"])
    assert judged["reason"] == "no candidate score: timed_out: after 300 s"


def test_the_ledger_says_how_many_and_adds_up():
    ledger = hk.evidence_ledger(*sides(2))
    assert list(ledger.columns) == list(LEDGER.columns)
    mine = ledger[(ledger["side"] == "candidate") & (ledger["metric"] == "passed")].set_index("state")
    assert mine.loc["counted as failed", ["n_cases", "n_trials", "reason"]].tolist() == [2, 6, "timed_out: after 300 s"]
    assert mine["n_cases"].sum() == 12
    judged = ledger[(ledger["side"] == "candidate") & (ledger["metric"] == "judge")].set_index("state")
    assert judged.loc["unscored", "n_trials"] == 6


def test_crashes_of_many_wins_fail_the_run_and_the_reasons_say_why():
    before, after = sides(4, "error", "raised: KeyError: 'order'")
    decision = hk.decide_regression(hk.case_deltas(before, after), missing=hk.missing_bounds(before, after))
    assert decision.verdict == "fail"
    assert any("counted as failed" in reason for reason in decision.reasons)


def test_the_policy_can_leave_them_unscored():
    before, after = sides(4)
    policy = RegressionPolicy(failed_runs="unscored")
    deltas = hk.case_deltas(before, after, policy=policy)
    assert pd.isna(of(deltas, "c00", "passed")["delta"])
    assert hk.decide_regression(deltas, policy=policy).verdict == "inconclusive"
    assert not hk.evidence_ledger(before, after, policy=policy)["state"].eq("counted as failed").any()
    bound = hk.missing_bounds(before, after, policy=policy).set_index("metric")
    assert bound["missing_candidate"].round(3).to_dict() == {"judge": 0.333, "passed": 0.333}
    assert hk.missing_bounds(before, after).set_index("metric").loc["passed", "missing_candidate"] == 0


@pytest.mark.parametrize("policy", ["reference", "floor:0.5"])
def test_rules_without_statistics_leave_them_unscored(policy: str):
    assert pd.isna(of(hk.case_deltas(*sides(2), policy=policy), "c00", "passed")["candidate"])


@pytest.mark.parametrize(
    ("status", "reason"),
    [("error", "interrupted"), ("timeout", "env_wait_timeout: not ready after 5 s"), ("unscored", "judge fell over"),
     ("error", "bad_session_id: the original session")],
)  # fmt: skip
def test_a_replay_that_was_not_made_says_nothing_of_the_agent(status: str, reason: str):
    assert pd.isna(of(hk.case_deltas(*sides(2, status, reason)), "c00", "passed")["delta"])


def test_when_nothing_at_all_was_scored_nothing_was_compared():
    before, after = sides(12)
    deltas = hk.case_deltas(before, after)
    assert deltas["delta"].isna().all()
    assert hk.decide_regression(deltas).verdict == "inconclusive"


def test_a_control_run_that_timed_out_stays_unscored():
    before, after = sides(2)
    deltas = hk.case_deltas(after, before)
    assert pd.isna(of(deltas, "c00", "passed")["baseline"])


def test_a_grader_that_failed_is_not_the_agent():
    before, after = sides(0)
    broken = after.assign(status=after["status"].mask(after["case_id"] == "c00", "error"))
    broken.loc[broken["case_id"] == "c00", "value"] = None
    assert pd.isna(of(hk.case_deltas(before, broken), "c00", "passed")["delta"])
