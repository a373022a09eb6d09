"""Worst first, always in the same order."""

from __future__ import annotations

import pandas as pd

from harnesskit.reports.ordering import worst_first
from tests.made_regression import made_deltas


def test_what_broke_comes_first_then_what_may_have():
    ranked = worst_first(made_deltas())
    seen = list(dict.fromkeys(zip(ranked["status"], ranked["suspect"].astype(bool), strict=True)))
    assert [status for status, _ in seen] == [
        "regressed", "inconclusive", "inconclusive", "skipped", "unchanged", "improved",
    ]  # fmt: skip
    assert seen[1][1]
    assert not seen[2][1]


def test_inside_a_status_the_strongest_harm_comes_first():
    regressed = worst_first(made_deltas()).query("status == 'regressed'")["z"].tolist()
    assert regressed == sorted(regressed, reverse=True)


def test_the_order_of_the_rows_does_not_matter():
    frame = made_deltas()
    shuffled = frame.sample(frac=1, random_state=3)
    pd.testing.assert_frame_equal(worst_first(frame), worst_first(shuffled))


def test_no_row_is_lost_and_the_frame_is_untouched():
    frame = made_deltas()
    before = frame.copy()
    assert len(worst_first(frame)) == len(frame)
    pd.testing.assert_frame_equal(frame, before)
