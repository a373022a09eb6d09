"""The tables are the written contracts: names, order, comments; every query runs where nothing is."""

from __future__ import annotations

import re
from importlib.resources import files

import duckdb
import pytest

from harnesskit.store import database
from harnesskit.store.database import CONTRACTS, connect, script
from harnesskit.store.export import export
from harnesskit.workspace.cases import CaseRow
from harnesskit.workspace.online import ONLINE_SCHEMA
from harnesskit.workspace.rows import EventRow, RunRow, SampleRow

QUERIES = sorted(path.name for path in files("harnesskit.store").joinpath("queries").iterdir())


@pytest.fixture(scope="module")
def empty():
    return connect()


def columns(connection, name):
    return [row[0] for row in connection.execute(f"DESCRIBE {name}").fetchall()]


@pytest.mark.parametrize("name", CONTRACTS)
def test_columns_are_those_of_the_contract_in_order(empty, name):
    assert columns(empty, name) == list(CONTRACTS[name].columns)


@pytest.mark.parametrize("name", [name for name in CONTRACTS if name in database.TABLES])
def test_raw_columns_are_those_of_the_contract(empty, name):
    extra = ["run_id"] if name == "scores" else []  # tells samples of the same id apart
    assert columns(empty, f"raw.{name}") == [*extra, *CONTRACTS[name].columns]


@pytest.mark.parametrize(("row", "name"), [(CaseRow, "cases"), (RunRow, "runs"), (SampleRow, "samples"),
                                           (EventRow, "events")])  # fmt: skip
def test_readers_hand_out_rows_in_that_order(row, name):
    assert list(row._fields) == list(CONTRACTS[name].columns)


def test_online_columns_are_those_of_the_parquet_files(empty):
    assert columns(empty, "raw.no_online") == ONLINE_SCHEMA.names


@pytest.mark.parametrize("name", CONTRACTS)
def test_an_empty_store_gives_an_empty_frame_with_all_columns(empty, name):
    frame = database.table(empty, name)
    assert list(frame.columns) == list(CONTRACTS[name].columns)
    assert len(frame) == 0


def test_every_table_and_column_of_an_export_says_what_it_means(empty, tmp_path):
    with duckdb.connect(str(export(empty, tmp_path / "a.duckdb")), read_only=True) as out:
        said = dict(out.execute("SELECT table_name, comment FROM duckdb_tables()").fetchall())
        meant = out.execute(
            "SELECT table_name, column_name, comment FROM duckdb_columns() WHERE NOT internal"
        ).fetchall()
    for name, contract in CONTRACTS.items():
        assert said[name] == f"One row per {contract.grain}."
        assert {c: m for table, c, m in meant if table == name} == contract.columns


def test_the_dictionary_is_the_contracts(empty):
    found = database.dictionary(empty)
    assert list(found.columns) == ["table", "grain", "column", "type", "meaning"]
    wanted = [(name, c.grain, col, meaning) for name, c in CONTRACTS.items() for col, meaning in c.columns.items()]
    assert list(found[["table", "grain", "column", "meaning"]].itertuples(index=False, name=None)) == wanted
    assert set(found["type"]) == {"VARCHAR", "JSON", "BIGINT", "DOUBLE", "BOOLEAN", "TIMESTAMP", "VARCHAR[]"}


@pytest.mark.parametrize("name", QUERIES)
def test_every_query_says_its_grain_and_parameters_and_runs_on_an_empty_store(empty, name):
    text = script(f"queries/{name}")
    first, *rest = text.splitlines()
    comment = []
    for line in rest:
        if not line.startswith("--"):
            break
        comment.append(line)
    assert re.fullmatch(r"-- One row per .+\.", first)
    body = "\n".join(line for line in text.splitlines() if not line.startswith("--"))
    used = set(re.findall(r"\$(\w+)", re.sub(r"'[^']*'", "''", body)))
    assert used == set(re.findall(r"\$(\w+)", "\n".join(comment)))
    assert re.search(r"ORDER BY [^()]+;?\s*$", body), "a query ends in the order of its rows"
    assert len(database.query(empty, text, dict.fromkeys(used))) == 0


def test_every_statement_of_the_schema_says_its_grain():
    for name in ("schema.sql", "views.sql"):
        for part in re.split(r"\n\s*\n", script(name)):
            if part.startswith("CREATE TABLE"):
                pytest.fail(f"{name}: no grain before {part.splitlines()[0]}")
