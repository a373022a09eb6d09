"""Missing scores: the bounds hold whatever the missing scores are, and a pass must survive the worst of them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harnesskit.decisions.regression import decide_regression
from harnesskit.measures.deltas import case_deltas
from harnesskit.measures.missing import missing_bounds
from harnesskit.model.metrics import Metric
from tests.made_scores import made_scores


def world(seed: int = 0, cases: int = 30, trials: int = 4) -> tuple[pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng(seed)
    mean = rng.uniform(0.6, 0.9, (cases, 1, 1))
    return tuple(made_scores(np.clip(mean + rng.normal(0, 0.05, (cases, 1, trials)), 0, 1)) for _ in "ab")  # type: ignore[return-value]


def lost(frame: pd.DataFrame, share: float, seed: int = 0) -> pd.DataFrame:
    gone = np.random.default_rng(seed).random(len(frame)) < share
    return frame.assign(value=frame["value"].mask(gone))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 1000), st.floats(0, 0.9), st.floats(0, 0.9))
def test_whatever_the_missing_scores_are_the_drop_lies_between(seed: int, b: float, c: float) -> None:
    before, after = world(seed, cases=6)
    held_before, held_after = lost(before, b, seed), lost(after, c, seed + 1)
    row = missing_bounds(held_before, held_after).iloc[0]
    truth = missing_bounds(before, after).iloc[0]
    assert row["drop_best"] - 1e-12 <= truth["drop"] <= row["drop_worst"] + 1e-12
    assert truth["drop_worst"] == pytest.approx(truth["drop"]) == pytest.approx(truth["drop_best"])
    assert row["missing_candidate"] == held_after["value"].isna().mean()


@pytest.mark.parametrize(
    ("share_before", "share_after", "excessive"), [(0, 0, False), (0.1, 0.1, False), (0, 0.35, True), (0.4, 0.4, True)]
)
def test_excessive_is_thirty_percent_or_twenty_points_apart(share_before, share_after, excessive) -> None:
    before, after = world(1, cases=200)
    found = missing_bounds(lost(before, share_before), lost(after, share_after, 1)).iloc[0]
    assert found["excessive"] == excessive


def test_lower_is_better_has_its_worst_at_the_top_and_an_open_range_has_no_bound() -> None:
    before = pd.DataFrame({"case_id": ["a", "a"], "metric": "cost", "value": [2.0, 4.0]})
    after = before.assign(value=[2.0, None])
    capped = missing_bounds(before, after, metrics=[Metric("cost", high=10, higher_is_better=False)]).iloc[0]
    assert capped["drop_worst"] == pytest.approx((6.0 - 3.0) / 10)
    assert capped["drop_best"] == pytest.approx((1.0 - 3.0) / 10)
    open_ended = Metric("cost", high=None, higher_is_better=False, tolerance=1.0)
    assert np.isnan(missing_bounds(before, after, metrics=[open_ended]).iloc[0]["drop_worst"])


def test_a_pass_has_to_hold_with_the_missing_scores_at_their_worst() -> None:
    before, after = world(2)
    some, many = lost(after, 0.1), lost(after, 0.45)
    deltas = case_deltas(before, after)
    assert decide_regression(deltas, missing=missing_bounds(before, after)).verdict == "pass"
    few = decide_regression(case_deltas(before, some), missing=missing_bounds(before, some))
    assert few.verdict == "pass"
    assert not few.checks["check"].str.startswith("holds").any()
    decision = decide_regression(case_deltas(before, many), missing=missing_bounds(before, many))
    assert (decision.verdict, decision.exit_code) == ("inconclusive", 3)
    (check,) = decision.checks[decision.checks["check"].str.startswith("holds with the missing")].to_dict("records")
    assert check["state"] == "unknown"
    assert "gave no score in m0" in check["note"]
    assert decision.reason == check["check"]


def test_without_the_bounds_a_large_share_leaves_the_run_open_and_says_what_to_hand_in() -> None:
    before, after = world(2)
    decision = decide_regression(case_deltas(before, lost(after, 0.7)))
    assert decision.verdict == "inconclusive"
    assert any("missing_bounds(baseline, candidate)" in reason for reason in decision.reasons)


def test_missing_scores_excuse_no_failure() -> None:
    before, after = world(3)
    worse = lost(after.assign(value=after["value"] - 0.3), 0.45)
    decision = decide_regression(case_deltas(before, worse), missing=missing_bounds(before, worse))
    assert decision.verdict == "fail"
