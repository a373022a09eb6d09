"""When a fixed case becomes a win to protect, and when a win is none any more."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from harnesskit.decisions.promotion import decide_promotion
from harnesskit.decisions.win_promotion import decide_win
from harnesskit.measures.near_duplicates import near_duplicates
from harnesskit.measures.win_evidence import win_evidence
from harnesskit.model.errors import FrameError, PolicyError
from harnesskit.model.metrics import Metric
from harnesskit.stats.intervals import clopper_pearson

BAR = {"q": 0.7}


def runs(scores: list[float | None], **columns) -> pd.DataFrame:
    return pd.DataFrame(
        {"case_id": "c-1", "metric": "q", "value": pd.array(scores, dtype="Float64"), **columns}
    ).assign(value=lambda f: f["value"].astype(float))


def row(evidence: pd.DataFrame, check: str) -> pd.Series:
    return evidence.set_index("check").loc[check]


def decided(scores: list[float | None], **how):
    return decide_win(win_evidence(runs(scores), thresholds=BAR, **how))


@pytest.mark.parametrize(
    ("passes", "fails", "verdict", "detail"),
    [
        (4, 0, "pending", ""),
        (7, 0, "promote", "protected_win"),
        (13, 1, "promote", "protected_win"),
        (12, 1, "pending", ""),
        (2, 3, "retire", "reject"),
        (3, 2, "retire", "reject"),
        (14, 2, "retire", "reject"),
    ],
)
def test_the_published_numbers_of_passes_decide(passes: int, fails: int, verdict: str, detail: str):
    found = decided([0.71] * passes + [0.3] * fails)
    assert (found.verdict, found.detail) == (verdict, detail)
    assert found.guard_kind == "case"


@given(st.integers(0, 15), st.integers(0, 15))
def test_the_chance_is_that_of_the_beta_posterior(passes: int, fails: int):
    if not passes + fails:
        return
    found = row(win_evidence(runs([0.9] * passes + [0.1] * fails), thresholds=BAR), "pass_rate")
    assert found["evidence"] == pytest.approx(stats.beta.sf(0.8, 4 + passes, 1 + fails))
    assert (found["low"], found["high"]) == pytest.approx(clopper_pearson(passes, passes + fails))


def test_a_case_that_can_no_longer_reach_the_bar_is_rejected_before_its_runs_are_spent():
    """Two failures: 15 runs cannot show .80 with .90 any more, so the verdict after them is known already."""
    evidence = win_evidence(runs([0.9] * 6 + [0.1] * 2), thresholds=BAR)
    assert row(evidence, "pass_rate")["state"] == "unmet"
    assert "can no longer show" in row(evidence, "pass_rate")["note"]
    assert stats.beta.sf(0.8, 4 + 13, 1 + 2) < 0.9


def test_passes_still_needed_are_those_of_the_closed_form():
    assert decided([0.9] * 5).runs_needed == int(np.ceil(np.log(0.1) / np.log(0.8))) - 4 - 5
    assert decided([0.9]).runs_needed == 6
    assert "2 more passes in a row would settle it" in decided([0.9] * 5).reasons[0]


def test_scores_well_above_the_bar_make_it_provisional_and_no_more():
    assert decided([0.95, 0.94, 0.96, 0.95, 0.95]).detail == "provisional"
    assert decided([0.71, 0.72, 0.71, 0.73, 0.71]).detail == ""


def test_the_worst_metric_is_the_one_forecast():
    frame = pd.concat([runs([0.95] * 6, trial=range(6)), runs([0.72] * 6, trial=range(6)).assign(metric="p")])
    found = row(win_evidence(frame, thresholds={"q": 0.7, "p": 0.7}), "predicted_pass")
    assert found["metric"] == "p"
    assert found["evidence"] < 0.9


def test_a_missing_score_is_no_pass():
    evidence = win_evidence(runs([0.9] * 6 + [None]), thresholds=BAR)
    assert row(evidence, "pass_rate")["estimate"] == pytest.approx(6 / 7)
    assert "1 of 7 runs lack a score" in row(evidence, "missing_data")["note"]
    frame = pd.concat([runs([0.9] * 7, trial=range(7)), runs([0.9] * 5, trial=range(5)).assign(metric="p")])
    assert row(win_evidence(frame, thresholds={"q": 0.7, "p": 0.7}), "pass_rate")["estimate"] == pytest.approx(5 / 7)


def test_a_rejection_that_rests_on_missing_scores_waits():
    found = decided([0.9] * 4 + [None] * 4)
    assert (found.verdict, found.reason) == ("pending", "missing_data")
    assert decided([0.9] * 4 + [0.1] * 4).verdict == "retire"


def test_runs_that_never_reached_the_agent_are_no_runs():
    frame = runs([0.9] * 7 + [None, None]).assign(
        status=["ok"] * 7 + ["skipped", "error"], reason=[None] * 7 + ["no replay function", "env_wait_timeout: 600 s"]
    )
    evidence = win_evidence(frame, thresholds=BAR)
    assert row(evidence, "pass_rate")["n"] == 7
    assert "2 never ran" in row(evidence, "fresh_runs")["note"]


def test_only_fresh_runs_of_one_fingerprint_count():
    frame = runs(
        [0.9] * 10,
        sample_id=[f"s{i}" for i in range(10)],
        fingerprint=["old"] * 3 + ["new"] * 7,
        role=["captured"] + ["replay"] * 9,
    )
    evidence = win_evidence(frame, thresholds=BAR, shown_by=["s3"])
    assert row(evidence, "pass_rate")["n"] == 6
    note = row(evidence, "fresh_runs")["note"]
    assert all(
        part in note for part in ("1 the captured run", "1 the run that showed the fix", "2 of another fingerprint")
    )
    other = decide_win(win_evidence(frame, thresholds=BAR, fingerprint="newest"))
    assert (other.verdict, other.reason) == ("pending", "fingerprint_mismatch")


def test_lower_is_better_turns_the_threshold_round():
    slow = Metric("q", low=0, high=None, higher_is_better=False, tolerance=1.0, threshold=5.0)
    assert row(win_evidence(runs([2.0] * 7), metrics=[slow]), "pass_rate")["state"] == "met"
    assert row(win_evidence(runs([9.0] * 7), metrics=[slow]), "pass_rate")["state"] == "unmet"


def test_a_metric_of_a_later_tier_counts_where_it_was_graded():
    frame = pd.concat(
        [
            runs([0.9] * 7, trial=range(7)).assign(metric="coherence"),
            runs([0.2], trial=[0]).assign(metric="tool_correctness"),
        ]
    )
    found = row(win_evidence(frame), "pass_rate")
    assert found["estimate"] == pytest.approx(6 / 7)


def test_the_wins_there_are_make_the_prior():
    wins = pd.DataFrame({"case_id": np.repeat(["a", "b", "c"], 6), "metric": "q", "value": [0.9] * 18})
    wins.loc[::4, "value"] = 0.1
    plain = row(win_evidence(runs([0.9] * 7), thresholds=BAR), "pass_rate")
    informed = row(win_evidence(runs([0.9] * 7), thresholds=BAR, wins=wins), "pass_rate")
    assert informed["evidence"] < plain["evidence"]
    assert "from 3 wins" in informed["note"]


def test_near_duplicates_and_coverage_are_shown_and_decide_nothing():
    cases = pd.DataFrame({
        "case_id": ["c-1", "w-1", "w-2", "w-3"], "kind": ["failure", "win", "win", "win"],
        "signature": [["breach:q", "tool:refund"], ["breach:q", "tool:refund"], ["breach:q"], []],
        "replay_input": ['{"task": "refund order 1017"}', '{"task": "refund order 1018"}', '{"task": "greet"}',
                         '{"task":"refund order 1017"}'],
    })  # fmt: skip
    evidence = win_evidence(runs([0.9] * 7), thresholds=BAR, cases=cases)
    note = row(evidence, "near_duplicates")["note"]
    assert "w-1 (same signature, similar text)" in note
    assert "w-3 (same input)" in note
    assert row(evidence, "coverage")["estimate"] == 2
    assert decide_win(evidence).verdict == "promote"
    assert near_duplicates(cases, "w-2").empty
    with pytest.raises(FrameError, match="did you mean 'c-1'"):
        near_duplicates(cases, "c-11")


def test_a_win_that_became_flaky_is_demoted():
    flaky = decide_win(win_evidence(runs([0.9, 0.2, 0.9, 0.1, 0.2, 0.9, 0.3]), thresholds=BAR, protected=True))
    assert (flaky.verdict, flaky.detail) == ("retire", "demoted")
    assert decided([0.9] * 20 + [0.2] * 2, protected=True).verdict == "promote"
    doubtful = decided([0.9] * 8 + [0.2] * 2, protected=True)
    assert (doubtful.verdict, doubtful.reason) == ("pending", "insufficient_evidence")


def test_a_win_without_a_recent_run_is_stale():
    frame = runs([0.9] * 8, occurred_at=pd.Timestamp("2025-01-01", tz="UTC"))
    old = win_evidence(frame, thresholds=BAR, protected=True, as_of=datetime(2025, 6, 1, tzinfo=UTC))
    assert decide_win(old).reason == "stale_control"
    recent = win_evidence(frame, thresholds=BAR, protected=True, as_of=datetime(2025, 2, 1, tzinfo=UTC))
    assert decide_win(recent).verdict == "promote"


def test_the_verdict_is_the_same_through_decide_promotion():
    evidence = win_evidence(runs([0.9] * 7), thresholds=BAR)
    assert decide_promotion(evidence, guard_kind="case", subject="c-1").detail == "protected_win"
    with pytest.raises(PolicyError, match="made under policy 'budgeted'"):
        decide_promotion(evidence, guard_kind="case", policy="budgeted:20")


def test_what_cannot_be_weighed_is_named():
    with pytest.raises(PolicyError, match="needs a threshold"):
        win_evidence(runs([0.9]))
    with pytest.raises(FrameError, match="takes the runs of one case; found a, b"):
        win_evidence(pd.DataFrame({"case_id": ["a", "b"], "metric": "q", "value": 1.0}), thresholds=BAR)
    with pytest.raises(FrameError, match="needs numbers"):
        win_evidence(pd.DataFrame({"case_id": ["a"], "metric": "q", "value": "good"}), thresholds=BAR)
    with pytest.raises(FrameError, match="several graders"):
        win_evidence(runs([0.9, 0.8], grader=["a", "b"], trial=[1, 1]), thresholds=BAR)
