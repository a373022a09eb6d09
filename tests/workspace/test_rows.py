"""The rows that readers hand out are the tables' columns, in order."""

from __future__ import annotations

import pytest

from harnesskit.model.frames import EVENTS, NOTICES, RULES, RUNS, SAMPLES, SCORES
from harnesskit.model.records import NoticeRecord, RuleRecord
from harnesskit.workspace.rows import EventRow, RunRow, SampleRow, ScoreRow, score_row


@pytest.mark.parametrize(
    ("row", "contract"), [(RunRow, RUNS), (SampleRow, SAMPLES), (ScoreRow, SCORES), (EventRow, EVENTS)]
)
def test_the_fields_are_the_columns(row, contract):
    assert row._fields == tuple(contract.columns)


def test_records_have_the_columns_of_their_table():
    assert tuple(NoticeRecord.model_fields) == tuple(NOTICES.columns)
    assert tuple(RuleRecord.model_fields) == (*RULES.columns, "trial")


def test_a_score_without_value_is_unscored_and_says_why():
    assert score_row("s", "m", 0.0, None, "g").status == "ok"
    assert score_row("s", "m", None, "why", "g")[4:] == (None, "unscored", "why")
