"""One in-memory DuckDB database per process: the schema, its comments, rows in and frames out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import cache
from importlib.resources import files
from threading import RLock
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa

from harnesskit.model.errors import QueryError, listed, nearest
from harnesskit.model.frames import TABLES
from harnesskit.model.views import VIEWS
from harnesskit.store.arrow import to_frame

CONTRACTS = TABLES | VIEWS
ONE_AT_A_TIME = RLock()
"""Held while a connection is used: DuckDB refuses a second thread rather than let it wait."""

_ORDER = {"cases": "created_at NULLS FIRST, case_id", "rules": "created_at NULLS FIRST, rule_id"}
_WIDE = "UHUGEINT"
_SAME_KEY = ("scores", "case_scores", "baselines", "problems", "labels")
_WRITTEN_JSON = {"ARROW:extension:name": "arrow.json", "ARROW:extension:metadata": ""}
"""Says that a text is JSON already: `harnesskit.workspace.reading.to_json` wrote it, so DuckDB need not parse it."""

_ARROW = {
    "VARCHAR": pa.string(),
    "JSON": pa.string(),
    "BIGINT": pa.int64(),
    "DOUBLE": pa.float64(),
    "BOOLEAN": pa.bool_(),
    "TIMESTAMP": pa.timestamp("us"),
    "VARCHAR[]": pa.list_(pa.string()),
}


@cache
def script(name: str) -> str:
    """Return the text of an SQL file of this package, e.g. ``queries/scores.sql``."""
    return files("harnesskit.store").joinpath(*name.split("/")).read_text(encoding="utf-8")


def connect(as_of: datetime | None = None) -> duckdb.DuckDBPyConnection:
    """Return a new in-memory database with the schema and its views.

    Parameters
    ----------
    as_of
        Naive UTC time; the views leave out what is later. None: nothing is left out.
    """
    # a name in a query means a table of the workspace, never a variable of the caller
    connection = duckdb.connect(":memory:", config={"python_enable_replacements": False})
    connection.execute("SET GLOBAL TimeZone = 'UTC'")  # else aware times are shifted by the zone of the machine
    connection.execute("SET VARIABLE as_of = $as_of::TIMESTAMP", {"as_of": as_of})
    connection.execute(script("schema.sql"))
    connection.execute(script("views.sql"))
    return connection


def comments(connection: duckdb.DuckDBPyConnection, kind: str = "VIEW") -> None:
    """Give every public table and column the comment that its contract states."""
    statements = []
    for contract in CONTRACTS.values():
        grain = f"One row per {contract.grain}."
        statements.append(f"COMMENT ON {kind} {contract.name} IS {_quoted(grain)}")
        statements += [
            f'COMMENT ON COLUMN {contract.name}."{column}" IS {_quoted(meaning)}'
            for column, meaning in contract.columns.items()
        ]
    connection.execute(";\n".join(statements))


def _quoted(text: str) -> str:
    """Return an SQL literal; only ever used for texts of this package (COMMENT takes no parameters)."""
    return "'" + text.replace("'", "''") + "'"


@cache
def _types(table: str) -> pa.Schema:
    with duckdb.connect(":memory:") as connection:
        connection.execute(script("schema.sql"))
        found = connection.execute(f"DESCRIBE raw.{table}").fetchall()
    return pa.schema(
        [pa.field(name, _ARROW[kind], metadata=_WRITTEN_JSON if kind == "JSON" else None) for name, kind, *_ in found]
    )


def insert(connection: duckdb.DuckDBPyConnection, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
    """Add `rows`, tuples in the order of the columns of ``raw.<table>``, in one statement."""
    if not rows:
        return
    # a registered name would keep its table until the transaction ends, and with it a copy of everything inserted
    connection.from_arrow(_rows_table(table, rows)).insert_into(f"raw.{table}")


def _rows_table(table: str, rows: Sequence[tuple[Any, ...]]) -> pa.Table:
    types, pool = _types(table), pa.system_memory_pool()  # the default one keeps what it once held
    columns: Iterable[Any] = zip(*rows, strict=True) if rows else [()] * len(types)
    return pa.table(
        [pa.array(column, type=field.type, memory_pool=pool) for column, field in zip(columns, types, strict=True)],
        schema=types,
    )


def rows_frame(table: str, rows: Sequence[tuple[Any, ...]]) -> pd.DataFrame:
    """Return rows of a table as the frame that `query` would give, without putting them into a database."""
    return to_frame(_rows_table(table, rows))


def delete(connection: duckdb.DuckDBPyConnection, table: str, column: str, values: Iterable[str | None]) -> None:
    """Remove the rows of ``raw.<table>`` whose `column` is one of `values`."""
    connection.execute(
        f"DELETE FROM raw.{table} WHERE {column} IN (SELECT unnest($values::VARCHAR[]))",  # noqa: S608 - names of this package
        {"values": list(values)},
    )


def query(connection: duckdb.DuckDBPyConnection, text: str, parameters: dict[str, Any] | None = None) -> pd.DataFrame:
    """Return the result of one query as a frame (see `harnesskit.store.arrow.to_frame` for the types).

    Parameters
    ----------
    parameters
        Values for ``$name`` in the text; a frame is a table of that name for this query.

    Raises
    ------
    QueryError
        DuckDB refused the query; the message is DuckDB's own.
    """
    given = parameters or {}
    frames = {name: value for name, value in given.items() if isinstance(value, pd.DataFrame)}
    values = {name: _plain(value) for name, value in given.items() if name not in frames}
    with ONE_AT_A_TIME:
        try:  # on the connection itself: a cursor would not see its variables
            for name, frame in frames.items():
                connection.register(name, frame)
            relation = connection.sql(text, params=values or None)
            return pd.DataFrame() if relation is None else _frame(relation)
        except (duckdb.Error, UnicodeEncodeError) as error:
            raise QueryError(f"The query failed. {error}") from error
        finally:
            for name in frames:
                connection.unregister(name)


def _frame(relation: duckdb.DuckDBPyRelation) -> pd.DataFrame:
    """Return a result as a frame; whole numbers of 128 bits without a sign go as text, as Arrow has no type for them.

    Raises
    ------
    QueryError
        Such numbers stand in a list or a struct, where they would come out wrong.
    """
    kinds = [str(kind) for kind in relation.types]
    nested = [name for name, kind in zip(relation.columns, kinds, strict=True) if _WIDE in kind and kind != _WIDE]
    if nested:
        raise QueryError(
            f"The query gives {_WIDE} inside column {nested[0]!r}, which a frame cannot hold; cast it in the query, "
            "e.g. to VARCHAR[]."
        )
    wide = [place for place, kind in enumerate(kinds) if kind == _WIDE]
    if not wide:
        return to_frame(relation.to_arrow_table())
    columns = [f"CAST(#{n} AS VARCHAR)" if n - 1 in wide else f"#{n}" for n in range(1, len(kinds) + 1)]
    table = relation.project(", ".join(columns)).to_arrow_table()
    return to_frame(table.rename_columns(relation.columns), whole=wide)


def _plain(value: Any) -> Any:
    """Return a parameter as DuckDB takes it: what came out of a frame is numpy's and pandas' own."""
    if isinstance(value, (pd.Series, pd.Index, np.ndarray, list, tuple, set, frozenset)):
        return [_plain(item) for item in value]
    if value is pd.NA or value is pd.NaT:
        return None
    if isinstance(value, np.datetime64):
        return _plain(pd.Timestamp(value))
    return value.item() if isinstance(value, np.generic) else value


def table(connection: duckdb.DuckDBPyConnection, name: str) -> pd.DataFrame:
    """Return one public table or view whole, in the order of its key (cases and rules: oldest first).

    Raises
    ------
    QueryError
        There is no such table; the message lists those there are.
    """
    contract = CONTRACTS.get(name)
    if contract is None:
        known = sorted(CONTRACTS)
        raise QueryError(f"There is no table {name!r}{nearest(str(name), known)}; there are {listed(known, 20)}.")
    columns = ", ".join(f'"{column}"' for column in contract.columns)
    return query(connection, f"SELECT {columns} FROM {name} ORDER BY {order_of(name)}")  # noqa: S608 - own names


def order_of(name: str) -> str:
    """Return the columns by which a public table is handed out: its key, and what tells rows of one key apart."""
    contract = CONTRACTS[name]
    # two runs may hold a sample of one id, and a second control run a trial of one number
    rest = [column for column in contract.columns if column not in contract.key] if name in _SAME_KEY else []
    return _ORDER.get(name) or ", ".join(f'"{column}"' for column in (*contract.key, *rest))


def dictionary(connection: duckdb.DuckDBPyConnection) -> pd.DataFrame:
    """Return one row per column of every public table and view: table, grain, column, type, meaning."""
    rows = []
    for contract in CONTRACTS.values():
        with ONE_AT_A_TIME:
            kinds = {name: kind for name, kind, *_ in connection.execute(f"DESCRIBE {contract.name}").fetchall()}
        for column, meaning in contract.columns.items():
            rows.append((contract.name, contract.grain, column, kinds[column], meaning))
    return pd.DataFrame(rows, columns=["table", "grain", "column", "type", "meaning"], dtype=object)
