"""Both arms side by side: runs are counted, costs compared over the same cases, each failing case by its mean."""

from __future__ import annotations

import pandas as pd
import pytest
from scipy import stats

from harnesskit.measures.arms import arm_costs, arm_ledger, case_effects


def samples(**columns):
    return pd.DataFrame({"sample_id": [f"s{i}" for i in range(len(columns["case_id"]))], **columns})


def test_every_attempt_is_counted_once_by_how_it_ended():
    made = samples(
        case_id=["f", "f", "f", "w", "w"], arm=["control", "candidate", "candidate", "candidate", "candidate"],
        kind=["failure"] * 3 + ["win"] * 2, status=["scored", "timeout", "scored", "scored", "inconclusive"],
        candidate_surfaced=[None, None, True, False, True],
    )  # fmt: skip
    ledger = arm_ledger(made).set_index(["arm", "kind"])
    assert ledger.loc[("candidate", "failure"), ["n_runs", "n_scored", "n_failed", "n_other", "n_read"]].tolist() == [
        2, 1, 1, 0, 1,
    ]  # fmt: skip
    assert ledger.loc[("candidate", "win"), ["n_scored", "n_other", "n_read"]].tolist() == [1, 1, 1]
    assert ledger["n_runs"].sum() == len(made)


def test_banked_runs_stand_apart_and_captures_are_no_runs():
    control = pd.DataFrame({
        "case_id": ["f", "f", "w"], "kind": ["failure", "failure", "win"], "sample_id": ["b1", "b2", "captured:w"],
        "source": ["control", "control", "captured"], "round": [pd.NA, pd.NA, pd.NA],
    })  # fmt: skip
    made = samples(case_id=["f"], arm=["candidate"], kind=["failure"], status=["scored"])
    ledger = arm_ledger(made, control)
    assert ledger[["arm", "kind", "n_runs"]].to_numpy().tolist() == [
        ["control bank", "failure", 2],
        ["candidate", "failure", 1],
    ]


def test_costs_are_compared_over_cases_that_both_arms_have():
    control = samples(case_id=["a", "a", "b", "long"], cost_usd=[1.0, 3.0, 4.0, 900.0], duration_s=[1.0, 1.0, 1.0, 9.0])
    candidate = samples(case_id=["a", "b"], cost_usd=[3.0, 6.0], duration_s=[2.0, None])
    found = arm_costs(control, candidate).set_index("quantity")
    cost = found.loc["cost of 1,000 runs"]
    assert (cost["n_cases"], cost["control"], cost["candidate"]) == (2, 3000.0, 4500.0)
    expected = stats.t.interval(0.95, 1, loc=1500.0, scale=stats.sem([1000.0, 2000.0]))
    assert (cost["low"], cost["high"]) == pytest.approx(expected)
    assert found.loc["duration", "n_cases"] == 1
    assert pd.isna(found.loc["duration", "low"])
    assert arm_costs(control[["case_id"]], candidate).empty


def test_cases_that_gave_rise_to_a_guard_stand_apart():
    rows = pd.DataFrame({
        "case_id": ["x", "x", "y", "w"], "kind": ["failure"] * 3 + ["win"], "metric": "q",
        "value": [0.2, 0.4, None, 0.9],
    })  # fmt: skip
    found = case_effects(rows, rows.assign(value=[0.5, 0.7, 0.6, 0.9]), metric="q", sources=["y"])
    assert found["case_id"].tolist() == ["y", "x"]
    assert found["role"].tolist() == ["gave rise to it", "other"]
    assert found["n_control"].tolist() == [0, 2]
    assert found.loc[1, "delta"] == pytest.approx(0.3)
    assert pd.isna(found.loc[0, "delta"])
