"""Same output, new verdict: only what both graded is compared, and the grader is named."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from harnesskit.measures.grader_drift import grader_drift
from harnesskit.model.errors import FrameError
from harnesskit.stats.intervals import clopper_pearson

BEFORE = pd.DataFrame(
    {
        "case_id": ["a", "a", "b", "c", "d"], "metric": "q", "output": ["one", "two", "one", "three", "x"],
        "value": [0.9, 0.8, 0.7, 0.2, 0.5], "grader": "judge", "grader_version": "1",
    }
)  # fmt: skip


def test_only_the_same_output_of_the_same_case_is_compared() -> None:
    after = BEFORE.assign(value=[0.9, 0.3, 0.9, 0.2, None], output=["one", "two", "other", "three", "x"])
    row = grader_drift(BEFORE, after.assign(grader_version="2"), pass_at=0.5).iloc[0]
    assert (row["grader_baseline"], row["grader_candidate"]) == ("judge 1", "judge 2")
    assert (row["n_same_output"], row["n_changed_value"], row["n_changed_verdict"]) == (3, 1, 1)
    assert row["mean_change"] == pytest.approx(-0.5 / 3)
    assert (row["low"], row["high"]) == clopper_pearson(1, 3)
    assert "another grader" in row["warning"]


def test_the_same_grader_that_wobbles_is_noise() -> None:
    row = grader_drift(BEFORE, BEFORE.assign(value=BEFORE["value"] + 0.01)).iloc[0]
    assert (row["n_changed_value"], row["changed_share"]) == (5, 1.0)
    assert pd.isna(row["n_changed_verdict"])  # no threshold, no verdict
    assert "the same grader" in row["warning"]


def test_a_run_against_itself_shows_no_drift() -> None:
    row = grader_drift(BEFORE, BEFORE, pass_at=0.5).iloc[0]
    assert (row["n_changed_value"], row["mean_change"], row["warning"]) == (0, 0.0, None)


def test_nothing_in_common_says_so() -> None:
    row = grader_drift(BEFORE, BEFORE.assign(output="else"), pass_at=0.5).iloc[0]
    assert (row["n_same_output"], row["warning"]) == (0, "no output was graded by both")
    assert np.isnan(row["mean_change"])
    assert grader_drift(BEFORE.head(0), BEFORE).empty


def test_swapping_the_runs_flips_the_change_and_row_order_changes_nothing() -> None:
    after = BEFORE.assign(value=[0.4, 0.8, 0.75, 0.9, 0.1], grader_version="2")
    there, back = grader_drift(BEFORE, after, pass_at=0.5), grader_drift(after, BEFORE, pass_at=0.5)
    assert there["mean_change"].iloc[0] == pytest.approx(-back["mean_change"].iloc[0])
    assert there["n_changed_verdict"].iloc[0] == back["n_changed_verdict"].iloc[0]
    pd.testing.assert_frame_equal(grader_drift(BEFORE, after.iloc[::-1], pass_at=0.5), there)


def test_a_repeated_output_counts_once() -> None:
    twice = pd.concat([BEFORE, BEFORE.assign(value=BEFORE["value"] - 0.2)])
    row = grader_drift(BEFORE, twice, pass_at=0.5).iloc[0]
    assert (row["n_same_output"], row["mean_change"]) == (5, pytest.approx(-0.1))


def test_a_frame_without_output_is_refused_by_name() -> None:
    with pytest.raises(FrameError, match=r"grader_drift\(\) needs .* missing 'output'"):
        grader_drift(BEFORE.drop(columns="output"), BEFORE)
    with pytest.raises(FrameError, match="found 'high'"):
        grader_drift(BEFORE.assign(value="high"), BEFORE)
