"""Graders in SQL: one expression over the columns of the samples, run by DuckDB over the whole table at once."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from typing import Any, NoReturn

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from harnesskit.graders.grader import Grader, metrics_of
from harnesskit.graders.reading import JSON_COLUMNS, Cells, as_text, is_missing
from harnesskit.graders.table import Block, block_of_array
from harnesskit.graders.verdicts import verdict
from harnesskit.graders.work import ended_badly
from harnesskit.model.errors import GraderError, listed
from harnesskit.model.frames import SAMPLES
from harnesskit.model.grade import STATUSES
from harnesskit.model.metrics import Metric, Metrics
from harnesskit.workspace.reading import clean_text

PLACE = "harnesskit_place"
BATCH = 16_384
"""Rows that one thread of DuckDB takes at a time."""
_GIVES = ("BOOLEAN", "FLOAT", "DOUBLE", "DECIMAL", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", '"NULL"')
NUMBERS = frozenset(
    ("turn_index", "trial", "attempt", "round", "duration_s", "env_wait_s", "input_tokens", "output_tokens", "cost_usd")
)
"""Columns of `SAMPLES` that hold numbers: anything else in them is no value, whatever the rest of the column holds."""
_CLOSED: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": "false",
    "python_enable_replacements": "false",
    "lock_configuration": "true",
}
"""An expression reads the samples and nothing else: no file, no address, no variable of the program."""


def sql(expression: str, *, metric: str | Metric, name: str | None = None, version: str = "1") -> Grader:
    """Return a grader: a DuckDB expression over sample columns, for all samples at once; true or false, or a number.

    Columns that hold JSON are text: a JSON string is its characters, and ``output ->> '$.total'`` reads an object.
    NULL is unscored. Where the expression fails on a sample, only that sample is an error. Window functions see the
    samples that are graded. An expression is no part of a composed grader.

    Parameters
    ----------
    expression
        One expression, e.g. ``"duration_s < 10 AND output NOT LIKE '%TODO%'"``.
    metric
        What is measured, with its range when that is not 0 to 1.
    name
        Who scores; the metric when None.

    Raises
    ------
    GraderError
        It is not one expression.

    Examples
    --------
    >>> from harnesskit.graders.grading import grade
    >>> samples = pd.DataFrame({"sample_id": ["s-1", "s-2"], "output": ["Yes.", "It depends on the order."]})
    >>> grade(samples, sql("length(output) < 10", metric="brief"))["value"].tolist()
    [1.0, 0.0]
    """
    metrics = metrics_of(metric)
    return SqlGrader(expression, name=name or metrics[0].name, metrics=metrics, release=version)


class SqlGrader(Grader):
    """A grader that is an expression; made by `sql`."""

    def __init__(self, expression: str, *, name: str, metrics: tuple[Metric, ...], release: str) -> None:
        super().__init__(
            _not_called,
            name=name,
            metrics=metrics,
            parameters=(),
            release=release,
            settings={"expression": " ".join(expression.split()) if isinstance(expression, str) else expression},
        )
        self.expression = expression
        tree = _parsed(name, expression)
        self.reads = tuple(dict.fromkeys(_columns(tree)))
        self._everything = any(node.get("class") == "STAR" for node in _nodes(tree))
        self.__doc__ = f"SQL: {expression}"

    def _with(self, **changes: Any) -> Grader:
        kept = {name: changes.get(name, getattr(self, name)) for name in ("name", "metrics", "release")}
        return SqlGrader(self.expression, **kept)

    def prepare(self, samples: pd.DataFrame) -> None:
        """Raise unless the expression can be run on these columns and gives a number."""
        by = f"grade() with grader {self.name!r}"
        SAMPLES.require(samples, *(name for name in self.reads if name in samples.columns), by=by)
        try:
            with self._connected(samples) as connection:
                described = connection.execute(f"DESCRIBE {self._query('(%s)')}").fetchall()
        except duckdb.Error as error:
            SAMPLES.require(samples, *self.reads, by=by)
            raise GraderError(f"{by} cannot use its expression: {_first_line(error)}") from error
        kind = dict(row[:2] for row in described)["value"]
        if not kind.removeprefix("U").startswith(_GIVES):
            raise GraderError(f"{by} needs an expression that gives true or false, or a number; this one gives {kind}.")

    def grade_table(self, samples: pd.DataFrame, metrics: Metrics) -> list[Block]:
        """Return what the expression says of every sample."""
        metric = metrics.by_name.get(self.metrics[0].name, self.metrics[0])
        rest = {} if {"status", "error"} & set(self.reads) else ended_badly(samples, Cells(samples))
        asked = np.delete(np.arange(len(samples)), list(rest))
        value = np.full(len(samples), np.nan)
        found, fault = self._values(samples if not rest else samples.iloc[asked])
        value[asked] = found
        block = block_of_array(self, metric, value, "the expression gives NULL")
        if fault is not None:
            failed = asked[np.isnan(found)]
            block.status[failed] = STATUSES.index("error")
            block.reason[failed] = f"the expression fails on this sample, or is NULL: {fault}"
        for place, said in rest.items():
            block.reason[place] = verdict(said, metric).reason
        return [block]

    def _values(self, samples: pd.DataFrame) -> tuple[NDArray[np.float64], str | None]:
        """Return one number per sample, NaN for none, and why the expression failed when it did on some."""
        with self._connected(samples) as connection:
            try:
                return self._run(connection, "CAST((%s) AS DOUBLE)", len(samples)), None
            except duckdb.Error as error:
                fault = _first_line(error)
            try:  # TRY gives NULL for the samples it fails on, and the others their value
                return self._run(connection, "TRY(CAST((%s) AS DOUBLE))", len(samples)), fault
            except duckdb.Error:
                return np.full(len(samples), np.nan), fault

    def _run(self, connection: duckdb.DuckDBPyConnection, wrapped: str, n: int) -> NDArray[np.float64]:
        rows = connection.execute(self._query(wrapped)).fetchnumpy()
        value = np.full(n, np.nan)
        value[np.asarray(rows[PLACE])] = np.ma.filled(np.ma.asarray(rows["value"]).astype(float), np.nan)
        return value

    def _query(self, wrapped: str) -> str:
        inside = wrapped.replace("%s", f"{self.expression}\n")
        return f"SELECT {PLACE}, {inside} AS value FROM samples"  # noqa: S608 - the expression is the user's program

    def _connected(self, samples: pd.DataFrame) -> duckdb.DuckDBPyConnection:
        names = [str(name) for name in samples.columns if self._everything or str(name) in self.reads]
        columns = {PLACE: pa.array(np.arange(len(samples)))} | {name: _arrow(samples[name], name) for name in names}
        whole = pa.table(columns)
        connection = _DATABASE.connection()
        connection.register("given", pa.Table.from_batches(whole.to_batches(BATCH), whole.schema))
        shown = ", ".join(_unquoted(name) if name in JSON_COLUMNS else _quoted(name) for name in [PLACE, *names])
        connection.execute(f"CREATE TEMP VIEW samples AS SELECT {shown} FROM given")  # noqa: S608 - quoted names
        return connection


class _Database:
    """One database in memory, opened at the first use: opening costs more than most expressions."""

    def __init__(self) -> None:
        self._opened: duckdb.DuckDBPyConnection | None = None
        self._left: list[duckdb.DuckDBPyConnection] = []
        self._lock = threading.Lock()

    def connection(self) -> duckdb.DuckDBPyConnection:
        """Return a connection of its own, whose tables nobody else sees."""
        with self._lock:
            if self._opened is None:
                self._opened = duckdb.connect(":memory:", config=_CLOSED)
            return self._opened.cursor()

    def forget(self) -> None:
        """Begin anew after a fork: the threads of the database are not there, and closing it would wait for them."""
        if self._opened is not None:
            self._left.append(self._opened)
        self._opened, self._lock = None, threading.Lock()


_DATABASE = _Database()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_DATABASE.forget)


def _not_called(*values: Any) -> NoReturn:
    raise GraderError("an SQL grader sees a whole table; use hk.grade(samples, grader).")


def _parsed(name: str, expression: Any) -> Any:
    """Return the syntax tree of the expression."""
    if not isinstance(expression, str) or not expression.strip():
        raise GraderError(f"sql() needs an expression; found {expression!r}.")
    text = f"SELECT ({expression}\n) AS value FROM samples"  # noqa: S608 - parsed only
    with _DATABASE.connection() as connection:
        (told,) = connection.execute("SELECT json_serialize_sql($text::VARCHAR)", {"text": text}).fetchone() or ("{}",)
    tree = json.loads(told)
    statements = tree.get("statements") or []
    node = statements[0]["node"] if len(statements) == 1 else {}
    if (
        tree.get("error")
        or len(node.get("select_list", ())) != 1
        or node.get("from_table", {}).get("type") != "BASE_TABLE"
    ):
        said = tree.get("error_message") or "it is more than one expression"
        raise GraderError(f"sql() needs one expression for grader {name!r}; found {expression!r}: {said}.")
    return node["select_list"]


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    if isinstance(tree, dict):
        yield tree
        tree = list(tree.values())
    if isinstance(tree, list):
        for one in tree:
            yield from _nodes(one)


def _columns(tree: Any) -> Iterator[str]:
    for node in _nodes(tree):
        if node.get("class") == "COLUMN_REF" and node.get("column_names"):
            names = node["column_names"]
            yield names[1] if names[0] == "samples" and len(names) > 1 else names[0]


def _arrow(column: pd.Series[Any], name: str) -> pa.Array | pa.ChunkedArray:
    """Return a column for DuckDB: numbers where the contract says so, text for JSON and for values of mixed kinds."""
    if name in NUMBERS and not pd.api.types.is_numeric_dtype(column.dtype):
        return pa.array([_number(cell) for cell in column.tolist()], pa.float64())
    try:
        made = pa.array(column, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError, UnicodeEncodeError):
        made = None
    plain = made is not None and not (pa.types.is_nested(made.type) or pa.types.is_null(made.type))
    if made is not None and plain and (name not in JSON_COLUMNS or _is_text(made.type)):
        return made
    cells = [None if is_missing(cell) else clean_text(as_text(cell)) for cell in column.tolist()]
    return pa.array(cells, pa.string())


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _number(cell: Any) -> float | None:
    if isinstance(cell, bool) or not isinstance(cell, (int, float, np.number)):
        return None
    try:
        return float(cell) if np.isfinite(float(cell)) else None
    except OverflowError:
        return None


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _unquoted(name: str) -> str:
    """Return the SQL of a column in which a JSON string stands for its characters."""
    plain = _quoted(name)
    text = f"{plain}::VARCHAR"
    inside = f"CASE WHEN starts_with({text}, '\"') AND json_valid({text}) THEN {text} ->> '$' ELSE {text} END"
    return f"{inside} AS {plain}"


def _first_line(error: duckdb.Error) -> str:
    return listed([line for line in str(error).splitlines() if line.strip()][:1]) or type(error).__name__
