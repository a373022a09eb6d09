"""When a check may start to stop sessions."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from harnesskit.decisions.check_promotion import decide_check
from harnesskit.decisions.promotion import decide_promotion
from harnesskit.measures.check_evidence import check_evidence
from harnesskit.model.errors import FrameError, PolicyError
from harnesskit.stats.betting import betting_bands
from harnesskit.stats.intervals import clopper_pearson


def world(
    n: int = 400, *, hits: int = 38, false: int = 2, missed: int = 20, seed: int = 0
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Sessions in order of time: alarms that are right, alarms that are wrong, failures without one, and the rest."""
    alarm = np.array([True] * (hits + false) + [False] * (n - hits - false))
    failed = np.array([True] * hits + [False] * false + [True] * missed + [False] * (n - hits - false - missed))
    order = np.random.default_rng(seed).permutation(n)
    times = pd.date_range("2025-03-01", periods=n, freq="h", tz="UTC")
    alarms = pd.DataFrame({"session_id": [f"s{i}" for i in range(n)], "alarm": alarm[order], "occurred_at": times})
    labels = pd.DataFrame({"session_id": alarms["session_id"], "rater": "ann", "failed": failed[order]})
    return alarms, labels


def row(evidence: pd.DataFrame, check: str) -> pd.Series:
    return evidence.set_index("check").loc[check]


def test_a_check_that_is_right_often_enough_may_enforce():
    alarms, labels = world()
    evidence = check_evidence(alarms, labels)
    precision, recall = row(evidence, "precision"), row(evidence, "recall")
    assert (precision["low"], precision["high"]) == pytest.approx(clopper_pearson(38, 40))
    assert (recall["low"], recall["high"]) == pytest.approx(clopper_pearson(38, 58))
    found = decide_check(evidence, subject="tone")
    assert (found.verdict, found.guard_kind) == ("promote", "check")
    assert found.verdict == decide_promotion(evidence, guard_kind="check").verdict


def test_a_check_that_is_wrong_too_often_is_retired():
    found = decide_check(check_evidence(*world(hits=20, false=30)))
    assert (found.verdict, found.reason, found.detail) == ("retire", "precision", "precision_too_low")
    found = decide_check(check_evidence(*world(missed=200)))
    assert (found.verdict, found.reason) == ("retire", "recall")


def test_too_few_labels_wait_with_a_number():
    alarms, labels = world()
    found = decide_check(check_evidence(alarms, labels.sample(60, random_state=1)))
    assert (found.verdict, found.reason) == ("pending", "labels_missing")
    assert found.runs_needed
    none = decide_check(check_evidence(alarms))
    assert (none.verdict, none.reason) == ("pending", "labels_missing")
    assert row(check_evidence(alarms), "precision")["runs_needed"] == 17


def test_stopping_too_many_sessions_retires_it():
    alarms, labels = world(hits=150, false=2, missed=10)
    found = decide_check(check_evidence(alarms, labels))
    assert (found.verdict, found.reason) == ("retire", "alarm_rate")


def test_labels_of_alarms_alone_say_nothing_of_recall():
    alarms, labels = world()
    chosen = labels[alarms["alarm"]]
    recall = row(check_evidence(alarms, chosen), "recall")
    assert recall["state"] == "unknown"
    assert recall["low"] < 0.15
    assert "no silent session has a label" in recall["note"]


def test_labels_chosen_by_the_alarm_are_weighed():
    """All alarms and a tenth of the silent sessions: the plain share would be far too high."""
    alarms, labels = world(2000, hits=95, false=5, missed=190)
    rng = np.random.default_rng(3)
    kept = labels[alarms["alarm"] | (rng.random(2000) < 0.1)]
    recall = row(check_evidence(alarms, kept), "recall")
    merged = kept.merge(alarms, on="session_id")
    plain = merged.loc[merged["failed"], "alarm"].mean()
    assert abs(recall["estimate"] - 95 / 285) < 0.08
    assert plain > 0.75
    assert recall["low"] <= 95 / 285 <= recall["high"]


def test_sessions_of_a_cluster_are_worth_less():
    alarms, labels = world()
    user = np.where(alarms["alarm"], alarms.groupby("alarm").cumcount() // 8, alarms.index)
    apart = row(check_evidence(alarms, labels), "precision")
    together = row(check_evidence(alarms.assign(cluster=[f"u{i}" for i in user]), labels), "precision")
    assert together["low"] < apart["low"]
    assert together["interval_kind"] == "Clopper-Pearson, effective sessions"


def test_an_open_ended_policy_may_be_looked_at_with_every_label():
    alarms, labels = world()
    found = row(check_evidence(alarms, labels, policy="open_ended"), "precision")
    merged = alarms.merge(labels, on="session_id")
    bands = betting_bands(merged.loc[merged["alarm"], "failed"].astype(float))
    assert (found["low"], found["high"]) == pytest.approx((bands.low[-1], bands.high[-1]))
    assert found["low"] < clopper_pearson(38, 40).low


def test_a_session_without_an_answer_is_not_healthy():
    alarms, labels = world()
    silent = alarms.assign(alarm=alarms["alarm"].astype("boolean").where(alarms.index % 2 == 0))
    evidence = check_evidence(silent, labels)
    assert row(evidence, "alarm_rate")["n"] == 200
    assert "on 200 sessions it gave no answer" in row(evidence, "alarm_rate")["note"]
    assert row(evidence, "recall")["n"] == 58
    assert "count as not found" in row(evidence, "labels")["note"]


def test_a_change_since_the_labels_asks_for_new_ones():
    alarms, labels = world(600, hits=38, false=2)
    early = alarms["occurred_at"] < alarms["occurred_at"].iloc[300]
    later = alarms.assign(alarm=alarms["alarm"] & early)
    evidence = check_evidence(later, labels[early])
    assert row(evidence, "drift")["state"] == "unknown"
    assert decide_check(evidence).reason == "labels_missing"
    steady = check_evidence(alarms, labels[early])
    assert row(steady, "drift")["state"] == "met"
    assert row(steady, "drift")["n"] == 300


def test_scores_that_move_are_a_drift_even_where_the_alarms_do_not():
    rng = np.random.default_rng(1)
    n = 200
    times = pd.date_range("2025-03-01", periods=n, freq="h", tz="UTC")
    value = np.r_[rng.normal(0.9, 0.02, 120), rng.normal(0.8, 0.02, 80)]
    alarms = pd.DataFrame({"session_id": range(n), "value": value, "occurred_at": times})
    labels = pd.DataFrame({"session_id": range(100), "failed": False})
    found = row(check_evidence(alarms, labels, bar=0.5), "drift")
    assert (found["state"], found["note"]) == ("unknown", "its scores drift down")


def test_a_bar_makes_alarms_of_scores():
    alarms, labels = world()
    scored = alarms.assign(value=np.where(alarms["alarm"], 0.2, 0.8)).drop(columns="alarm")
    by_bar, by_flag = check_evidence(scored, labels, bar=0.5), check_evidence(alarms, labels)
    assert row(by_bar, "precision")["low"] == row(by_flag, "precision")["low"]
    with pytest.raises(FrameError, match="or bar="):
        check_evidence(scored, labels)


def test_the_newest_label_of_each_rater_and_then_the_majority_counts():
    alarms = pd.DataFrame({"session_id": ["a", "b", "c"], "alarm": [True, True, True]})
    labels = pd.DataFrame(
        [
            ("a", "ann", False, "2025-01-01"), ("a", "ann", True, "2025-01-02"),
            ("b", "ann", True, "2025-01-01"), ("b", "bob", True, "2025-01-01"), ("b", "cho", False, "2025-01-01"),
            ("c", "ann", True, "2025-01-01"), ("c", "bob", False, "2025-01-01"),
            ("z", "ann", True, "2025-01-01"),
        ],
        columns=["session_id", "rater", "failed", "at"],
    )  # fmt: skip
    evidence = check_evidence(alarms, labels)
    assert row(evidence, "precision")["n"] == 2
    assert row(evidence, "precision")["estimate"] == 1.0
    note = row(evidence, "labels")["note"]
    assert "left out for evenly split raters: 1" in note
    assert "labels of sessions that it never saw: 1" in note


def test_a_session_alarms_when_one_of_its_traces_does():
    alarms = pd.DataFrame({"session_id": ["a", "a", "b"], "alarm": [False, True, False]})
    assert row(check_evidence(alarms), "alarm_rate")["estimate"] == pytest.approx(0.5)


def test_what_a_false_stop_costs_is_said():
    note = row(check_evidence(*world(), cost_false_stop=20), "false_stops")["note"]
    assert note.startswith("5 of 1000 sessions would be stopped for nothing (1 to 17), at a cost of 100")


def test_what_cannot_be_read_is_named():
    alarms, labels = world(60, hits=3, false=1, missed=2)
    with pytest.raises(FrameError, match="an alarm is true or false, found 'yes'"):
        check_evidence(alarms.assign(alarm="yes"), labels)
    with pytest.raises(FrameError, match="a label says failed"):
        check_evidence(alarms, labels.assign(failed="maybe"))
    with pytest.raises(PolicyError, match="must be 0 or more"):
        check_evidence(alarms, labels, cost_false_stop=-1)
    with pytest.raises(PolicyError, match="has no policy 'reference'"):
        check_evidence(alarms, labels, policy="reference")
