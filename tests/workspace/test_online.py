"""Production samples as Parquet: what is written comes back, and counting samples is a filter."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from harnesskit.model.errors import WorkspaceError
from harnesskit.model.frames import SAMPLES, SCORES
from harnesskit.workspace.online import ONLINE_SCHEMA, online_files, write_online

AT = datetime(2026, 6, 30, 23, 30, tzinfo=UTC)
HOSTILE = "../\u2028\x00 \"'=1+1 \U0001f43c"


def flat(*rows):
    return pa.Table.from_pylist(list(rows))


def rows_of(files):
    return [row for file in files for row in pq.ParquetFile(file).read().to_pylist()]


def test_columns_are_those_of_the_contracts():
    scores = ["metric", "grader", "grader_version", "value", "score_status", "score_reason"]
    assert ONLINE_SCHEMA.names == [*SAMPLES.columns, *scores, "head", "source", "version"]
    assert [name.removeprefix("score_") for name in scores] == [name for name in SCORES.columns if name != "sample_id"]


def test_each_sample_has_one_head_that_holds_what_is_large(tmp_path):
    big = {"input": '"hello"', "attributes": '{"topic":"refunds"}'}
    table = flat(
        {"sample_id": "b", "occurred_at": AT, "metric": "z", "value": 0.5, **big},
        {"sample_id": "b", "occurred_at": AT, "metric": "a", "value": 0.25, **big},
        {"sample_id": "a", "occurred_at": AT + timedelta(hours=1), "metric": None, "value": None, **big},
    )
    files = write_online(tmp_path, "prod", table)
    assert [file.parent.name for file in files] == ["date=2026-06-30", "date=2026-07-01"]
    assert online_files(tmp_path) == files
    rows = rows_of(files)
    assert [(r["sample_id"], r["metric"], r["head"], r["input"]) for r in rows] == [
        ("b", "a", False, None),
        ("b", "z", True, '"hello"'),
        ("a", None, True, '"hello"'),
    ]
    assert {(r["run_id"], r["source"], r["counts"], r["attempt"]) for r in rows} == {("online:prod", "prod", True, 1)}


def test_hostile_values_come_back(tmp_path):
    row = {name: HOSTILE for name in ONLINE_SCHEMA.names if ONLINE_SCHEMA.field(name).type == pa.string()}
    table = flat({**row, "occurred_at": AT, "value": -0.0, "head": True})
    files = write_online(tmp_path, HOSTILE, table)
    back = rows_of(files)[0]
    assert {name: back[name] for name in row} == row
    assert back["occurred_at"] == AT
    assert files[0].parent.parent.parent == tmp_path / "harnesskit" / "online"
    text = duckdb.read_parquet(str(files[0]), hive_partitioning=False).fetchall()
    assert len(text) == 1


def test_writing_the_same_rows_again_changes_nothing(tmp_path):
    one = {"sample_id": "a", "occurred_at": AT, "metric": "m", "value": 0.5}
    other = one | {"metric": "n"}
    first = write_online(tmp_path, "prod", flat(one, other))
    before = first[0].read_bytes()
    assert write_online(tmp_path, "prod", flat(one, other).slice(0)) == first
    assert first[0].read_bytes() == before
    assert write_online(tmp_path, "prod", flat(one, other | {"value": 0.75})) != first
    assert len(online_files(tmp_path)) == 2


def test_samples_without_a_time_have_a_folder_and_no_rows_no_file(tmp_path):
    assert write_online(tmp_path, "prod", ONLINE_SCHEMA.empty_table()) == []
    files = write_online(tmp_path, "prod", flat({"sample_id": "a", "occurred_at": None}))
    assert [file.parent.name for file in files] == ["date=unknown"]


def test_times_of_any_zone_and_unit_are_stored_as_utc_microseconds(tmp_path):
    times = pa.array([datetime(2026, 7, 1, 0, 30, tzinfo=UTC)], pa.timestamp("ns", "Europe/Berlin"))
    table = pa.table({"sample_id": ["a"], "occurred_at": times})
    files = write_online(tmp_path, "prod", table)
    assert files[0].parent.name == "date=2026-07-01"
    assert rows_of(files)[0]["occurred_at"] == datetime(2026, 7, 1, 0, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"sample_id": "a", "metrics": "m"}], r"knows no column 'metrics' \(did you mean 'metric'\?\)"),
        ([{"sample_id": "a", "value": "high"}], "needs value as double, found string"),
        ([{"sample_id": None, "value": 1.0}], "needs a sample_id on every row; 1 have none"),
        ([{"sample_id": "a", "head": True}, {"sample_id": "a", "head": True}], "one row per sample; not so for 'a'"),
        ([{"sample_id": "a", "head": True}, {"sample_id": "b", "head": False}], "one row per sample; not so for 'b'"),
    ],
)
def test_what_cannot_be_stored_is_refused_whole(tmp_path, rows, message):
    with pytest.raises(WorkspaceError, match=message):
        write_online(tmp_path, "prod", flat(*rows))
    assert online_files(tmp_path) == []


def test_drafts_are_not_read(tmp_path):
    files = write_online(tmp_path, "prod", flat({"sample_id": "a", "occurred_at": AT}))
    files[0].with_name(files[0].name + ".1.00000000000000000000000000000000.tmp").write_bytes(b"half")
    assert online_files(tmp_path) == files
