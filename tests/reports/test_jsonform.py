"""The JSON report is strict, exact, and holds what a machine needs."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd

from harnesskit.reports.document import Document, Section, Table
from harnesskit.reports.jsonform import ReportJson, render
from tests.made_regression import made_decision


def read(document):
    def refuse(constant):
        raise AssertionError(f"bare {constant}")

    return json.loads(render(document), parse_constant=refuse)


def one_table(frame):
    return read(Document("t", None, (Section("s", (Table("t", "c", frame),)),)))["tables"][0]


def test_values_come_back_exactly():
    frame = pd.DataFrame(
        {
            "big": pd.Series([9007199254740993, 123456789012345678901234567890], dtype=object),
            "number": [0.1, float("inf")],
            "missing": [None, float("nan")],
            "int64": pd.Series([9007199254740993, None], dtype="Int64"),
            "flag": [True, False],
            "time": pd.to_datetime(["2025-03-01T10:00:00Z", None], utc=True),
            "labels": [["a", "b"], []],
            "array": [np.array(["x"]), np.array([1.5])],
            "json": ['{"a": NaN}', "nan"],
            "lone": pd.Series(["\ud83d", "ok"], dtype=object),
        }
    )
    table = one_table(frame)
    first, second = (dict(zip(table["columns"], row, strict=True)) for row in table["rows"])
    assert first == {
        "big": 9007199254740993, "number": 0.1, "missing": None, "int64": 9007199254740993, "flag": True,
        "time": "2025-03-01T10:00:00Z", "labels": ["a", "b"], "array": ["x"], "json": '{"a": NaN}', "lone": "[U+D83D]",
    }  # fmt: skip
    assert second["big"] == 123456789012345678901234567890
    assert [second[name] for name in ("number", "missing", "int64", "time", "json")] == [None, None, None, None, "nan"]


def test_the_verdict_and_its_checks_are_there(hostile_report):
    verdict = read(hostile_report)["verdict"]
    assert (verdict["verdict"], verdict["exit_code"], verdict["runs_needed"]) == ("fail", 1, 8)
    assert [check["state"] for check in verdict["checks"]] == ["unmet", "unknown", "met"]
    assert verdict["policy"] == made_decision().policy


def test_every_column_and_row_of_the_frames_is_there(hostile_report):
    tables = {table["name"]: table for table in read(hostile_report)["tables"]}
    assert len(tables["case_deltas"]["rows"]) == 48
    assert {"z", "bound", "sd", "interval_kind"} <= set(tables["case_deltas"]["columns"])
    assert len(tables["comparison"]["rows"]) == 8


def test_the_report_is_valid_under_its_published_schema(hostile_report):
    assert ReportJson.model_validate_json(render(hostile_report)).title == "Regression report"
    schema = ReportJson.model_json_schema()
    assert {"title", "verdict", "tables", "sections"} <= set(schema["properties"])


def test_keys_are_sorted_and_the_file_is_strict(hostile_report, tmp_path, check):
    path = hostile_report.save(tmp_path / "r.json")
    assert list(json.loads(path.read_text())) == sorted(json.loads(path.read_text()))
    assert check("strict_json.py", path).strip() == "OK"


def test_a_cell_nested_too_deep_does_not_stop_the_report():
    deep: list[object] = []
    for _ in range(5000):
        deep = [deep]
    assert "nested too deep" in one_table(pd.DataFrame({"x": [deep]}))["rows"][0][0]
