"""What a verdict says where a newcomer was misled: a collapse, a plan, results that were lost, a floor out of reach."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from made_scores import made_scores

from harnesskit.decisions.regression import decide_regression
from harnesskit.measures.deltas import case_deltas
from harnesskit.model.decision import Decision


def twenty(seed: int, *, trials: int, mean: float = 0.85, sd: float = 0.03) -> pd.DataFrame:
    noise = np.random.default_rng(seed).normal(size=(20, 1, trials))
    return made_scores(mean + sd * noise, metrics=["q"])


def state(decision: Decision, check: str) -> tuple[str, str]:
    row = decision.checks.set_index("check").loc[check]
    return row["state"], row["note"]


@pytest.fixture
def collapse() -> Decision:
    captured = twenty(1, trials=1).assign(source="captured")
    return decide_regression(case_deltas(captured, twenty(2, trials=1, mean=0.35)))


def test_a_collapse_against_captured_scores_is_the_first_thing_said(collapse: Decision) -> None:
    assert collapse.verdict == "inconclusive"
    first = "20 of 20 wins scored lower than when captured, by 0.50 on average; a captured baseline cannot decide: "
    assert collapse.reasons[0].startswith(first)
    assert "Replay a control run" in collapse.reasons[0]
    assert not any("more wins would" in reason or "would settle" in reason for reason in collapse.reasons)


def test_wins_that_could_not_be_decided_are_not_met(collapse: Decision) -> None:
    assert state(collapse, "wins protected") == (
        "unknown",
        "0 of 20 wins compared got worse; 20 could not be decided",
    )
    kind, note = state(collapse, "mean drop in q")
    assert kind == "unknown"
    assert note == "0.50 mean drop against captured scores, which alone never fails a run; replay a control run"


def test_wins_that_mostly_were_decided_are_met_and_the_others_counted() -> None:
    deltas = case_deltas(twenty(1, trials=4), twenty(2, trials=4))
    deltas.loc[0, "status"] = "inconclusive"
    decision = decide_regression(deltas)
    assert state(decision, "wins protected") == ("met", "0 of 20 wins compared got worse; 1 could not be decided")
    assert decision.verdict == "pass"


@pytest.mark.parametrize("after", [twenty(2, trials=3), twenty(2, trials=3, mean=0.3)], ids=["same", "collapsed"])
def test_a_plan_that_was_not_met_is_not_judged(after: pd.DataFrame) -> None:
    before, after = twenty(1, trials=3), after[(after["case_id"] != "c004") | (after["trial"] < 3)]
    deltas = case_deltas(before, after, policy="fixed:999")
    assert set(deltas["status"]) == {"inconclusive"}
    assert deltas.loc[4, "reason"] == "the plan is not met: 2 of 999 trials"
    decision = decide_regression(deltas, policy="fixed:999")
    assert decision.verdict == "inconclusive"
    assert state(decision, "planned trials") == ("unknown", "0 of 20 wins with the planned 999 trials (have 2..3)")
    assert decision.runs_needed is None
    assert "20 would take more than 50 trials each" in "\n".join(decision.reasons)


def test_a_plan_is_judged_where_its_trials_are_there() -> None:
    before, after = twenty(1, trials=3), twenty(2, trials=3, mean=0.3)
    after = after[(after["case_id"] != "c004") | (after["trial"] < 3)]
    deltas = case_deltas(before, after, policy="fixed:3").set_index("case_id")
    assert deltas["status"].value_counts().to_dict() == {"regressed": 19, "inconclusive": 1}
    assert deltas.loc["c004", "runs_needed"] == 1
    assert decide_regression(deltas.reset_index(), policy="fixed:3").verdict == "fail"


def test_an_unscored_trial_of_a_plan_was_made() -> None:
    after = twenty(2, trials=3)
    after.loc[0, "value"] = np.nan
    assert (
        decide_regression(case_deltas(twenty(1, trials=3), after, policy="fixed:3"), policy="fixed:3").verdict == "pass"
    )


def test_results_that_are_not_known_count_as_asked() -> None:
    deltas = case_deltas(twenty(1, trials=3), twenty(2, trials=3))
    assert decide_regression(deltas, n_asked=20).verdict == decide_regression(deltas).verdict == "pass"
    decision = decide_regression(deltas, n_asked=25)
    assert decision.verdict == "inconclusive"
    assert state(decision, "wins scored") == (
        "unknown",
        "20 of 20 known wins scored on both sides; 5 of 25 results were not kept",
    )
    assert decision.checks.set_index("check").loc["wins scored", "estimate"] == pytest.approx(0.8)
    assert decision.evidence_hash != decide_regression(deltas).evidence_hash


@pytest.mark.parametrize("policy", ["reference", "floor:0.5"])
def test_results_that_are_not_known_never_pass(policy: str) -> None:
    one = twenty(1, trials=1).assign(value=0.85)
    deltas = case_deltas(one, one, policy=policy)
    assert decide_regression(deltas, policy=policy).verdict == "pass"
    assert decide_regression(deltas, policy=policy, n_asked=40).verdict == "inconclusive"


@pytest.mark.parametrize(("floor", "words"), [("floor:80", "nothing can reach it"), ("floor:-1", "everything lies")])
def test_a_floor_outside_the_scale_is_said(floor: str, words: str) -> None:
    decision = decide_regression(case_deltas(pd.DataFrame(), twenty(1, trials=1), policy=floor), policy=floor)
    assert any("lies outside 0 to 1" in reason and words in reason for reason in decision.reasons)


def test_the_confidence_stands_beside_what_is_ruled_out() -> None:
    reasons = case_deltas(twenty(1, trials=3), twenty(2, trials=3)).query("status == 'unchanged'")["reason"]
    assert set(reasons) == {"a change for the worse of 0.1 or more is ruled out with 80 % confidence (one-sided)"}


def test_remarks_are_added_to_the_reasons() -> None:
    deltas = case_deltas(twenty(1, trials=3), twenty(2, trials=3))
    assert decide_regression(deltas, remarks=["The baseline is newer."]).reasons[-1] == "The baseline is newer."
