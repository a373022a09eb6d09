"""Signed reviews, read only."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from harnesskit.model.frames import DECISIONS
from harnesskit.workspace.decisions import DecisionRow, read_decisions


def read(tmp_path, *lines):
    (tmp_path / "harnesskit").mkdir(exist_ok=True)
    (tmp_path / "harnesskit" / "decisions.jsonl").write_text("".join(f"{line}\n" for line in lines))
    return read_decisions(tmp_path)


def test_rows_have_the_columns_of_the_contract():
    assert DecisionRow._fields == tuple(DECISIONS.columns)


def test_no_file_is_no_decision(tmp_path):
    assert read_decisions(tmp_path) == ([], [])


def test_every_column_comes_back(tmp_path):
    texts = {name: f"{name} \u2028 ü" for name in DECISIONS.columns if name not in {"at", "review_by", "policy"}}
    record = {
        **texts,
        "at": "2026-06-30T10:00:00Z",
        "review_by": "2026-09-30T00:00:00Z",
        "policy": {"b": [1, 2.0], "a": None},
    }
    rows, problems = read(tmp_path, json.dumps(record))
    assert problems == []
    expected = {**texts, "at": datetime(2026, 6, 30, 10, tzinfo=UTC), "review_by": datetime(2026, 9, 30, tzinfo=UTC)}
    assert rows == [DecisionRow(**expected, policy='{"b":[1,2.0],"a":null}')]


def test_the_first_record_of_an_id_holds(tmp_path):
    first = {"decision_id": "d1", "at": "2026-06-30T10:00:00Z", "verdict": "promote"}
    rows, problems = read(tmp_path, json.dumps(first), json.dumps(first | {"verdict": "retire"}), "{}", '{"decision_id')
    assert [(row.decision_id, row.verdict, row.policy, row.review_by) for row in rows] == [
        ("d1", "promote", None, None)
    ]
    assert sorted((p.line, p.kind) for p in problems) == [(2, "duplicate_decision"), (3, "no_id"), (4, "not_json")]
