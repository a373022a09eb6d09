"""Labels, read strictly."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from harnesskit.model.frames import LABELS
from harnesskit.workspace.labels import LabelRow, read_labels

AT = "2026-06-30T10:00:00+02:00"


def read(tmp_path, *lines):
    (tmp_path / "harnesskit").mkdir(exist_ok=True)
    (tmp_path / "harnesskit" / "labels.jsonl").write_text("".join(f"{line}\n" for line in lines))
    return read_labels(tmp_path)


def test_rows_have_the_columns_of_the_contract():
    assert LabelRow._fields == tuple(LABELS.columns)


def test_no_file_is_no_label(tmp_path):
    assert read_labels(tmp_path) == ([], [])


def test_labels_come_back_with_hostile_texts(tmp_path):
    hostile = 'x\u2028y\x85,"\\ \U0001f43c =1+1'
    record = {"session_id": hostile, "rater": hostile, "at": AT, "failed": False, "metric": hostile, "value": 0.5}
    rows, problems = read(tmp_path, json.dumps({**record, "note": hostile}), json.dumps(record | {"rater": "b"}))
    assert problems == []
    assert rows[0] == LabelRow(hostile, hostile, datetime(2026, 6, 30, 8, tzinfo=UTC), False, hostile, 0.5, hostile)
    assert rows[1].rater == "b"


def test_what_is_no_label_is_a_problem_and_never_a_guess(tmp_path):
    good = {"session_id": "s", "rater": "mira", "at": AT, "failed": True}
    lines = [
        good,
        good | {"rater": "b", "failed": "no"},
        good | {"rater": "c", "failed": 0},
        good | {"rater": "d", "failed": None},
        good | {"rater": "e", "failed": None, "value": 0.25},
        good | {"rater": ""},
        good | {"session_id": None},
        good | {"failed": False},
        good | {"rater": "f", "at": "soon"},
        good | {"rater": "g", "value": "high"},
    ]
    rows, problems = read(tmp_path, *map(json.dumps, lines), '{"session_id"')
    assert [(row.rater, row.failed, row.value) for row in rows] == [
        ("mira", True, None),
        ("e", None, 0.25),
        ("f", True, None),
        ("g", True, None),
    ]
    assert sorted((p.line, p.kind) for p in problems) == [
        (2, "not_a_flag"),
        (3, "not_a_flag"),
        (4, "not_a_flag"),
        (6, "no_id"),
        (7, "no_id"),
        (8, "duplicate_label"),
        (9, "bad_time"),
        (10, "not_a_number"),
        (11, "not_json"),
    ]
