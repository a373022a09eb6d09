"""The verdict on a guard reads rows of evidence and nothing else; every word and reason is of a closed set."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from harnesskit.decisions.promotion import BEFORE, decide_promotion
from harnesskit.measures.promotion import promotion_evidence
from harnesskit.model.decision import PENDING_REASONS
from harnesskit.model.errors import FrameError, PolicyError
from harnesskit.model.promotion_policy import PromotionPolicy
from tests.made_guards import made_trial

BENEFIT = {"check": "benefit", "state": "met", "estimate": 0.2, "low": 0.1, "high": 0.3, "n_cases": 3, "metric": "q"}


def rows(*others: dict[str, Any], **benefit: Any) -> pd.DataFrame:
    return pd.DataFrame([{**BENEFIT, "reason": None, **benefit}, *others])


def decided(*sides: pd.DataFrame, policy: str | PromotionPolicy = "budgeted") -> Any:
    return decide_promotion(promotion_evidence(*sides, target_metric="q", policy=policy), policy=policy, subject="r-1")


def test_the_four_stories_of_a_rule():
    good = decided(*made_trial(0.3))
    assert (good.verdict, good.reason, good.exit_code) == ("promote", "benefit", 0)
    useless = decided(*made_trial(0.0))
    assert (useless.verdict, useless.reason, useless.detail) == ("retire", "futility", "no_worthwhile_effect")
    own = decided(*made_trial(-0.25))
    assert (own.verdict, own.detail) == ("retire", "harmful_effect")
    harmful = decided(*made_trial(0.3, harmed=3))
    assert (harmful.verdict, harmful.reason, harmful.detail) == ("retire", "harm", "harm")
    assert "w00" in harmful.reasons[0]


def test_a_thin_guard_waits_for_a_number_of_wins_and_is_labelled_where_the_gate_is_off():
    control, candidate = made_trial(0.3, wins=20, win_replays=1)
    few = candidate[(candidate["kind"] == "failure") | (candidate["case_id"] < "w05")]
    thin = PromotionPolicy(budget=17)
    found = decided(control, few, policy=thin)
    assert (found.verdict, found.reason) == ("pending", "thin_guard")
    assert found.runs_needed == 5
    off = PromotionPolicy(budget=17, max_blind_spot=1.0)
    found = decided(control, few, policy=off)
    assert (found.verdict, found.detail) == ("promote", "thin guard")
    assert any(text.startswith("Thin guard") and "0.55" in text for text in found.reasons)


def test_an_open_trial_says_how_many_replays_would_about_settle_it():
    found = decided(*made_trial(0.07, sd=0.12, replays=2))
    assert (found.verdict, found.reason) == ("pending", "insufficient_evidence")
    assert found.runs_needed > 0
    assert f"About {found.runs_needed} more replays would settle it." in found.reasons  # every win was replayed


def test_replays_of_wins_are_not_among_those_that_would_settle_the_effect():
    control, candidate = made_trial(0.07, sd=0.12, replays=2)
    failing = candidate[candidate["kind"] == "failure"]
    found = decided(control, failing)
    assert (found.verdict, found.reason) == ("pending", "insufficient_evidence")
    assert any(
        "They are of failing cases; if it helps, 12 protected wins still to be replayed come on top." in text
        for text in found.reasons
    )


@pytest.mark.parametrize("reason", PENDING_REASONS)
@pytest.mark.parametrize("state", ["unknown", "unmet"])
def test_a_row_with_a_pending_reason_makes_the_verdict_pending_whoever_added_it(reason, state):
    found = decide_promotion(rows({"check": "own", "state": state, "reason": reason, "note": "the bank is stale"}))
    assert (found.verdict, found.reason) == ("pending", reason)


def test_every_pending_reason_has_its_place():
    assert sorted(BEFORE) == sorted(PENDING_REASONS)


def test_what_makes_the_others_moot_comes_first_and_unmet_beats_unknown():
    thin = {"check": "blind_spot", "state": "unknown", "reason": "thin_guard"}
    unread = {"check": "compliance", "state": "unknown", "reason": "candidate_not_exercised"}
    harm = {"check": "harm", "state": "unmet", "reason": "harm"}
    futile = {"check": "futility", "state": "unmet", "reason": "no_worthwhile_effect"}
    assert decide_promotion(rows(thin, unread)).reason == "candidate_not_exercised"
    found = decide_promotion(rows(thin, unread, futile, harm))
    assert (found.verdict, found.reason) == ("retire", "harm")


def test_rows_without_a_reason_never_decide():
    also = [{"check": "generality", "state": "unknown"}, {"check": "one_case", "state": "unmet"}]
    assert decide_promotion(rows(*also)).verdict == "promote"
    assert decide_promotion(rows(state="unknown")).reason == "insufficient_evidence"


def test_another_policy_than_the_evidences_own_is_an_error():
    evidence = promotion_evidence(*made_trial(), target_metric="q", policy="budgeted:20")
    with pytest.raises(PolicyError, match="budgeted:20"):
        decide_promotion(evidence)
    with pytest.raises(PolicyError, match="reference"):
        decide_promotion(evidence, policy="reference")
    with pytest.raises(PolicyError, match=r"did you mean 'rule'"):
        decide_promotion(evidence, policy="budgeted:20", guard_kind="rules")


def test_frames_that_are_no_evidence_are_refused_by_name():
    with pytest.raises(FrameError, match=r"decide_promotion\(\).*'state'.*states"):
        decide_promotion(pd.DataFrame({"check": ["benefit"], "states": ["met"]}))
    with pytest.raises(FrameError, match="benefit"):
        decide_promotion(pd.DataFrame({"check": ["harm"], "state": ["met"]}))
    with pytest.raises(FrameError, match="twice"):
        decide_promotion(pd.concat([rows(), rows()]))


def test_equal_evidence_has_an_equal_hash_and_equal_words():
    one, two = decided(*made_trial()), decided(*made_trial())
    assert (one.evidence_hash, one.reasons) == (two.evidence_hash, two.reasons)
    assert decided(*made_trial(seed=1)).evidence_hash != one.evidence_hash


def test_remarks_are_added_to_the_reasons():
    evidence = promotion_evidence(*made_trial(), target_metric="q")
    assert (
        decide_promotion(evidence, remarks=["The bank is two weeks old."]).reasons[-1] == "The bank is two weeks old."
    )


def test_no_protected_win_leaves_the_guard_incomplete_unless_none_is_asked_for():
    control, candidate = made_trial(wins=0)
    assert decided(control, candidate).reason == "guard_incomplete"
    assert decided(control, candidate, policy=PromotionPolicy(min_guard_wins=0)).verdict == "promote"
