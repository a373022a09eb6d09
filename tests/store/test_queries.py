"""Asking: tables, SQL with named parameters, scores by filter, and the types that come back."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from made_workspace import put, put_case, run, workspace

import harnesskit as hk

HOSTILE = ["'", "''; DROP VIEW cases; --", '"', "$run", "a\x00b", "\u2028", "\U0001f43c", "%", "\\", "", "NULL", "1e5"]


@pytest.fixture(scope="module")
def harness(tmp_path_factory):
    root = workspace(tmp_path_factory.mktemp("w"))
    put_case(root, "fail", kind="failure", signature=["b", "a", "b"], created_at="2026-06-03T10:00:00.123456+00:00",
             replay_input={"big": 2**53 + 1, "text": "é\u2028"}, notes=None,
             baseline_scores={"task_completion": 0.2, "other": None})  # fmt: skip
    run(root, "run-1")
    run(root, "run-2", samples=1, role="control")
    return hk.open(root)


def test_a_table_that_is_not_there(harness):
    with pytest.raises(
        hk.QueryError, match=r"no table 'case' \(did you mean 'cases'\?\); there are baselines, case_sc"
    ):
        harness.table("case")
    with pytest.raises(hk.QueryError):
        harness.table("raw.cases; DROP VIEW cases")


def test_cases_come_oldest_first(harness):
    assert harness.table("cases")["case_id"].tolist() == ["c-0", "c-1", "c-2", "fail"]


@pytest.mark.parametrize("text", HOSTILE)
def test_a_value_is_never_part_of_the_query(harness, text):
    assert harness.sql("SELECT $x AS x", x=text)["x"].tolist() == [text]
    assert len(harness.sql("SELECT * FROM cases WHERE case_id = $x", x=text)) == 0
    for name in ("run", "role", "arm", "case", "kind", "metric"):
        with pytest.raises(hk.QueryError, match=rf"{name} (must be one of|.*; it has)"):
            harness.scores(**{name: text})


@pytest.mark.parametrize("value", [0, 2**53 + 1, -(2**63), 1.5, True, None, [1, 2], ["a"], [], {"a": 1}, b"\x00",
                                   np.int64(7), np.float64(0.5), Decimal("1.5"),
                                   datetime(2026, 6, 1, 10, tzinfo=UTC)])  # fmt: skip
def test_parameters_of_many_kinds(harness, value):
    found = harness.sql("SELECT $x AS x", x=value)["x"]
    if value is None:
        assert pd.isna(found[0])
    else:
        assert found[0] == value


def test_parameters_out_of_a_frame(harness):
    frame = pd.DataFrame({"n": [7, 8], "id": ["c-0", "c-1"], "at": pd.to_datetime(["2026-06-01T10:00Z"] * 2)})
    asked = "SELECT count(*) AS n FROM cases WHERE list_contains($ids, case_id) AND created_at = $at AND $n IS NULL"
    found = harness.sql(asked, ids=frame["id"], at=frame["at"].to_numpy()[0], n=pd.NA)
    assert found["n"].tolist() == [2]
    assert harness.sql("SELECT $n + 1 AS n", n=frame["n"].iloc[0])["n"].tolist() == [8]


def test_a_list_and_a_frame_as_parameters(harness):
    wanted = pd.DataFrame({"case_id": ["c-0", "fail", "none"], "weight": [1, 2, 3]})
    found = harness.sql("SELECT case_id, weight FROM cases JOIN wanted USING (case_id) ORDER BY 1", wanted=wanted)
    assert found.to_dict("list") == {"case_id": ["c-0", "fail"], "weight": [1, 2]}
    found = harness.sql("SELECT case_id FROM cases WHERE case_id IN (SELECT unnest($ids)) ORDER BY 1", ids=["c-1", "x"])
    assert found["case_id"].tolist() == ["c-1"]
    assert list(wanted.columns) == ["case_id", "weight"]


def test_a_frame_is_a_table_for_one_query_only(harness):
    frame = pd.DataFrame({"x": [1]})
    assert harness.sql("SELECT * FROM cases", cases=frame)["x"].tolist() == [1]
    assert len(harness.sql("SELECT * FROM cases")) == 4
    with pytest.raises(hk.QueryError):
        harness.sql("SELECT * FROM frame")
    with pytest.raises(hk.QueryError):
        harness.sql("SELEC", frame=frame)
    with pytest.raises(hk.QueryError):
        harness.sql("SELECT * FROM frame")


def test_a_variable_of_the_caller_never_leaks_in(harness):
    cases = pd.DataFrame({"x": [1]})
    mine = pd.DataFrame({"x": [1]})
    assert len(harness.sql("SELECT case_id FROM cases")) == 4
    with pytest.raises(hk.QueryError, match="mine"):
        harness.sql("SELECT * FROM mine")
    assert len(cases) == len(mine) == 1


def test_a_frame_that_cannot_be_a_table_is_an_error_and_leaves_nothing(harness):
    with pytest.raises(hk.QueryError):
        harness.sql("SELECT * FROM f", f=pd.DataFrame({"x": [1j]}))
    assert harness.sql("SELECT 1 AS x")["x"].tolist() == [1]


@pytest.mark.parametrize("query", ["SELEC 1", "SELECT * FROM nothing", "SELECT nothing FROM cases", "SELECT $x", "",
                                   "SELECT 1/0::HUGEINT + 'a'", "SELECT '\ud800'"])  # fmt: skip
def test_a_query_that_fails(harness, query):
    if query:
        with pytest.raises(hk.QueryError, match="The query failed"):
            harness.sql(query)
    else:
        assert harness.sql(query).empty
    assert len(harness.table("cases")) == 4


@pytest.mark.parametrize("parameters", [{"y": 1}, {"x": 1, "y": 2}, {"x": "\ud800"}, {"x": object()}], ids=range(4))
def test_parameters_that_do_not_fit(harness, parameters):
    with pytest.raises(hk.QueryError, match="The query failed"):
        harness.sql("SELECT $x", **parameters)
    assert len(harness.table("cases")) == 4


def test_a_table_of_ones_own(harness):
    harness.sql("CREATE TEMP TABLE mine AS SELECT 1 AS x")
    assert harness.sql("SELECT x FROM mine")["x"].tolist() == [1]
    harness.sql("DROP TABLE mine")


def test_types(harness):
    cases = harness.table("cases")
    assert str(cases["created_at"].dtype) == "datetime64[us, UTC]"
    assert cases["created_at"].iloc[-1] == pd.Timestamp("2026-06-03T10:00:00.123456Z")
    assert str(cases["replayable"].dtype) == "boolean"
    assert cases["notes"].dtype == object
    assert cases["notes"].tolist() == ["", "", "", None]
    assert cases["signature"].tolist()[-1] == ["b", "a", "b"]
    assert cases["signature_key"].tolist()[-1] == '["a","b","b"]'
    assert json.loads(cases["replay_input"].iloc[-1]) == {"big": 2**53 + 1, "text": "é\u2028"}
    assert isinstance(cases["baseline_scores"].iloc[0], str)
    assert hk.from_json(cases["replay_input"])[3]["big"] == 2**53 + 1
    assert isinstance(cases.index, pd.RangeIndex)
    assert cases.columns.dtype == object
    samples = harness.table("samples")
    assert str(samples["trial"].dtype) == "Int64"
    assert str(samples["duration_s"].dtype) == "float64"
    assert str(samples["counts"].dtype) == "boolean"


def test_empty_results_have_the_same_types(harness):
    some = harness.table("samples")
    none = harness.sql("SELECT * FROM samples WHERE false")
    assert none.dtypes.astype(str).to_dict() == some.dtypes.astype(str).to_dict()


def test_whole_numbers_are_exact(harness):
    found = harness.sql(
        "SELECT sum(x) AS s, max(x) AS m, count(*) AS n FROM (VALUES (9007199254740993), (NULL)) AS t(x)"
    )
    assert found.iloc[0].tolist() == [9007199254740993, 9007199254740993, 2]
    assert set(found.dtypes.astype(str)) == {"Int64"}
    wide = harness.sql("SELECT sum(x) AS s FROM (VALUES (9223372036854775807), (9223372036854775807)) AS t(x)")
    assert wide["s"].tolist() == [2 * (2**63 - 1)]
    mixed = harness.sql("SELECT sum(x) AS s FROM (VALUES (1, 2), (2, NULL)) AS t(k, x) GROUP BY k ORDER BY k")
    assert mixed["s"].tolist() == [2, pd.NA]
    assert str(mixed["s"].dtype) == "Int64"


def test_other_types_of_a_query(harness):
    found = harness.sql(
        "SELECT 1::UTINYINT AS u, 1.25::DECIMAL(9, 2) AS d, DATE '2026-06-01' AS day, TIMESTAMP_NS '2026-06-01' AS ns, "
        "TIMESTAMPTZ '2026-06-01 12:00:00+02' AS tz, [TRUE, NULL] AS l, {'a': 1} AS s, 'x'::BLOB AS b, "
        "1.5::FLOAT AS f, NULL AS nothing, INTERVAL 1 DAY AS i, 'NaN'::DOUBLE AS nan"
    ).iloc[0]
    assert (found["u"], found["d"], found["f"]) == (1, 1.25, 1.5)
    assert str(found["day"]) == "2026-06-01"
    assert found["ns"] == pd.Timestamp("2026-06-01", tz="UTC")
    assert found["tz"] == pd.Timestamp("2026-06-01 10:00", tz="UTC")
    assert (found["l"], found["s"], found["b"]) == ([True, None], {"a": 1}, b"x")
    assert pd.isna(found["nothing"])
    assert np.isnan(found["nan"])


def test_two_columns_of_one_name(harness):
    found = harness.sql("SELECT 1 AS x, 2 AS x")
    assert list(found.columns) in (["x", "x"], ["x", "x_1"])
    assert found.iloc[0].tolist() == [1, 2]


@pytest.mark.parametrize(("filters", "n"), [
    ({}, 8), ({"run": "run-1"}, 2), ({"run": ["run-1", "run-2"]}, 3), ({"run": ("captured",)}, 5), ({"run": []}, 0),
    ({"role": "control"}, 1), ({"role": ["control", "replay"]}, 3), ({"case": "c-0"}, 3), ({"kind": "failure"}, 2),
    ({"metric": "other"}, 1), ({"metric": "task_completion", "kind": "win"}, 6),
    ({"since": "2026-06-02"}, 5), ({"until": "2026-06-02T10:00:00Z"}, 3), ({"since": "2026-06-02T10:00:00Z"}, 5),
    ({"since": datetime(2026, 6, 3, tzinfo=UTC)}, 2), ({"since": "2026-06-02", "until": "2026-06-03"}, 3),
    ({"run": pd.Series(["run-1"])}, 2), ({"run": np.array(["run-1"])}, 2), ({"case": {"c-0", "c-1"}}, 5),
], ids=range(19))  # fmt: skip
def test_scores_are_filtered(harness, filters, n):
    assert len(harness.scores(**filters)) == n


def test_unscored_is_kept_with_its_reason(harness):
    found = harness.scores(metric="other")
    assert found["value"].isna().tolist() == [True]
    assert found["status"].tolist() == ["unscored"]
    assert found["reason"].tolist() == ["the case file gives no usable number"]


@pytest.mark.parametrize("name", ["since", "until"])
def test_a_filter_that_is_no_time(harness, name):
    with pytest.raises(hk.WorkspaceError, match=f"{name} must be a time"):
        harness.scores(**{name: "yesterday"})


def test_a_filter_that_is_not_known(harness):
    with pytest.raises(TypeError):
        harness.scores(runs="run-1")


def test_the_same_id_in_two_runs_is_two_samples(tmp_path):
    root = workspace(tmp_path)
    for name, value in (("a", 0.1), ("b", 0.9)):
        folder = run(root, name, samples=0)
        scores = [{"metric": "m", "grader": "g", "value": value}]
        line = {"sample_id": "same", "case_id": "c-0", "trial": 1, "status": "scored", "scores": scores}
        put(folder / "samples.jsonl", json.dumps(line) + "\n")
    found = hk.open(root).scores(metric="m")
    assert found[["run_id", "value"]].to_numpy().tolist() == [["a", 0.1], ["b", 0.9]]


def test_a_value_out_of_range_is_no_value(tmp_path):
    root = workspace(tmp_path)
    put_case(root, "odd", baseline_scores={"task_completion": 1.5, "mine": 7, "coherence": 1 + 1e-12})
    harness = hk.open(root)
    found = harness.scores(case="odd").set_index("metric")
    assert found["status"].to_dict() == {"task_completion": "out_of_range", "mine": "ok", "coherence": "ok"}
    assert np.isnan(found.loc["task_completion", "value"])
    assert found.loc["task_completion", "reason"] == "1.5 is outside the declared range 0.0 to 1.0"
    assert sorted(harness.problems()["kind"]) == ["out_of_range", "undeclared_range"]


def test_tables_come_in_one_order_whatever_the_files(tmp_path):
    root = workspace(tmp_path)
    for name in ("b", "a"):
        run(root, name, role="control")
    first = {name: hk.open(root).table(name) for name in ("baselines", "case_scores", "scores", "samples")}
    second = {name: hk.open(root).table(name) for name in first}
    for name, frame in first.items():
        pd.testing.assert_frame_equal(frame, second[name])


def test_whole_numbers_of_any_size_come_back_exact(harness):
    most = 2**128 - 1
    row = harness.sql("SELECT 1 AS a, $n::UHUGEINT AS b, NULL::UHUGEINT AS c, 7::UHUGEINT AS d", n=most).iloc[0]
    assert (row["a"], row["b"], row["d"]) == (1, most, 7)
    assert pd.isna(row["c"])
    assert harness.sql("SELECT 7::UHUGEINT AS d")["d"].dtype == "Int64"
    with pytest.raises(hk.QueryError, match=r"UHUGEINT inside column 'many'.*cast it"):
        harness.sql("SELECT [1::UHUGEINT] AS many")
