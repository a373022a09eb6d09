"""The overview of a review: each guard stands once, under what is to be done with it."""

from __future__ import annotations

import pandas as pd
import pytest

from harnesskit.model.errors import FrameError
from harnesskit.reports.guards import guards_report


def guards() -> pd.DataFrame:
    rest = {"kind": "rule", "looks": 3, "last_decision": None}
    rows = [
        {"id": "r-1", "verdict": "promote", "reason": "benefit", "runs_needed": None, "cost_estimate": None,
         "status": "candidate", "note": "The rule helps.", **rest},
        {"id": "<b>r-2", "verdict": "pending", "reason": "guard_incomplete", "runs_needed": 26, "cost_estimate": 0.5,
         "status": "candidate", "note": "Not yet.", **rest},
        {"id": "r-3", "verdict": "pending", "reason": "no_matching_replayable_case", "runs_needed": None,
         "cost_estimate": None, "status": "candidate", "note": "No case.", **rest},
        {"id": "r-4", "verdict": "retire", "reason": "harm", "runs_needed": None, "cost_estimate": None,
         "status": "active", "note": "The rule harms wins.", **rest},
    ]  # fmt: skip
    return pd.DataFrame(rows)


def test_each_guard_stands_once_by_what_is_to_be_done():
    report = guards_report(guards())
    found = {table.name: table.frame["id"].tolist() for table in report.tables}
    assert found == {"ready": ["r-1"], "pending": ["<b>r-2", "r-3"], "in_force": ["r-4"]}


def test_it_says_how_many_more_runs_and_what_they_cost():
    said = guards_report(guards()).render(".md").decode("utf-8")
    assert "About 26 more runs would settle 1 of them, at about 0.500 USD" in said
    assert "for 1 it is not known" in said
    assert b"<b>" not in guards_report(guards()).render(".html")


def test_nothing_under_review_is_said():
    assert "There is no guard" in guards_report(guards().head(0)).render(".md").decode("utf-8")
    with pytest.raises(FrameError, match="missing 'verdict'"):
        guards_report(guards().drop(columns="verdict"))
