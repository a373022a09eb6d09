"""One in-memory DuckDB database per process: the schema, its comments, rows in and frames out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import cache
from importlib.resources import files
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa

from harnesskit.model.errors import QueryError, listed, nearest
from harnesskit.model.frames import TABLES
from harnesskit.model.views import VIEWS

CONTRACTS = TABLES | VIEWS
_ORDER = {"cases": "created_at NULLS FIRST, case_id", "rules": "created_at NULLS FIRST, rule_id"}
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
    connection = duckdb.connect(":memory:")
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
def _types(table: str) -> tuple[tuple[str, pa.DataType], ...]:
    with duckdb.connect(":memory:") as connection:
        connection.execute(script("schema.sql"))
        found = connection.execute(f"DESCRIBE raw.{table}").fetchall()
    return tuple((name, _ARROW[kind]) for name, kind, *_ in found)


def insert(connection: duckdb.DuckDBPyConnection, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
    """Add `rows`, tuples in the order of the columns of ``raw.<table>``, in one statement."""
    if not rows:
        return
    columns = list(zip(*rows, strict=True))
    types = _types(table)
    incoming = pa.table(
        [pa.array(column, type=kind) for column, (_, kind) in zip(columns, types, strict=True)],
        names=[name for name, _ in types],
    )
    connection.register("incoming", incoming)
    try:
        connection.execute(f"INSERT INTO raw.{table} SELECT * FROM incoming")  # noqa: S608 - a name of this package
    finally:
        connection.unregister("incoming")


def delete(connection: duckdb.DuckDBPyConnection, table: str, column: str, values: Iterable[str | None]) -> None:
    """Remove the rows of ``raw.<table>`` whose `column` is one of `values`."""
    connection.execute(
        f"DELETE FROM raw.{table} WHERE {column} IN (SELECT unnest($values::VARCHAR[]))",  # noqa: S608 - names of this package
        {"values": list(values)},
    )


def query(
    connection: duckdb.DuckDBPyConnection, text: str, parameters: dict[str, Any] | None = None
) -> pd.DataFrame:
    """Return the result of one query as a frame.

    Integers that may be missing come as ``Int64`` and booleans as ``boolean`` (nothing turns into a float), text as
    ``object`` with None for missing, times as ``datetime64[us, UTC]``, lists as lists, JSON as text.

    Raises
    ------
    QueryError
        DuckDB refused the query; the message is DuckDB's, with the nearest table or column names it knows.
    """
    cursor = connection.cursor()
    try:
        relation = cursor.execute(text, parameters or {})
        if cursor.description is None:
            return pd.DataFrame()
        table = relation.to_arrow_table() if not hasattr(relation, "fetch_arrow_table") else _arrow(relation)
    except duckdb.Error as error:
        raise QueryError(f"The query failed: {error}") from error
    finally:
        cursor.close()
    return to_frame(table)


def to_frame(table: pa.Table) -> pd.DataFrame:
    """Return an Arrow table as a frame, by the rules of `query`."""
    columns = {str(index): _series(column) for index, column in enumerate(table.columns)}
    frame = pd.DataFrame(columns, index=pd.RangeIndex(table.num_rows))
    frame.columns = pd.Index(table.column_names, dtype=object)
    return frame


def _series(column: pa.ChunkedArray) -> pd.Series[Any]:
    kind = column.type
    if pa.types.is_timestamp(kind):
        return pd.Series(column.cast(pa.timestamp("us")).to_numpy()).dt.tz_localize("UTC")
    if pa.types.is_integer(kind):
        return column.to_pandas(types_mapper={kind: _nullable(kind)}.get)
    if pa.types.is_boolean(kind):
        return column.to_pandas(types_mapper={kind: pd.BooleanDtype()}.get)
    if pa.types.is_floating(kind):
        return column.to_pandas()
    return pd.Series(column.to_pylist(), dtype=object)


def _nullable(kind: pa.DataType) -> Any:
    return pd.array([], dtype=str(kind).replace("u", "U").replace("i", "I") if kind != pa.uint64() else "UInt64").dtype


def _arrow(relation: duckdb.DuckDBPyConnection) -> pa.Table:
    return relation.fetch_arrow_table()


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
    order = _ORDER.get(name) or ", ".join(f'"{column}"' for column in contract.key)
    columns = ", ".join(f'"{column}"' for column in contract.columns)
    return query(connection, f"SELECT {columns} FROM {name} ORDER BY {order}")  # noqa: S608 - names of this package
