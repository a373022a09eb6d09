"""CSV, JSON Lines and Parquet: any table of scores, one row per sample or one row per score."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from harnesskit.importers.columns import OPENED, map_columns
from harnesskit.importers.flat_sql import FlatQuery, json_paths, places
from harnesskit.importers.lines import LINES, line_batches
from harnesskit.importers.opening import refuse
from harnesskit.model.errors import listed

SAMPLE = 1_000
"""Rows looked at to guess the columns."""

FLAT = ("csv", "jsonl", "parquet")
_CSV = "read_csv($file, all_varchar = true, header = true, ignore_errors = true, store_rejects = true, {more})"
_LONGEST = 16_000_000


class FlatFile:
    """A file of rows: its columns, and the relation that the query reads.

    Parameters
    ----------
    path
        The file.
    kind
        ``csv``, ``jsonl`` or ``parquet``.
    given
        What the user says of the columns, see `map_columns`.
    online
        Whether the samples are production's.
    """

    def __init__(self, path: Path, kind: str, given: Mapping[str, Any] | None, *, online: bool) -> None:
        self.path, self.kind = path, kind
        with duckdb.connect() as connection:
            rows = self._first(connection)
        if not rows:
            raise refuse(path, f"none of its first {SAMPLE:,} lines is a row.")
        names = list(dict.fromkeys(itertools.chain.from_iterable(rows)))
        self.columns = map_columns(names, rows, given, online=online)

    def prepare(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Make the view ``rows(line, raw, f, j)`` over the file."""
        wanted = places(self.columns)
        if self.kind == "jsonl":
            connection.register("lines", pa.RecordBatchReader.from_batches(LINES, line_batches(self.path)))
            heavy = any(name in self.columns.fields for name in ("input", "output", "steps"))
            paths = json_paths(wanted)
            connection.execute("SET VARIABLE paths = $paths", {"paths": paths})
            j = "TRY(json_extract(raw, getvariable('paths')::VARCHAR[]))" if heavy else "NULL::JSON[]"
            connection.execute(f"""
CREATE OR REPLACE TEMP VIEW rows AS SELECT line, raw, CASE WHEN list_count(f) > 0 THEN f END AS f, {j} AS j
FROM (SELECT line, raw, TRY(json_extract_string(raw, getvariable('paths')::VARCHAR[])) AS f FROM lines)""")  # noqa: S608
            return
        texts = ", ".join(f"{_name(name)}::VARCHAR" for name in wanted)
        quoted = ", ".join(
            f"CASE WHEN json_valid({_name(name)}::VARCHAR) THEN {_name(name)}::VARCHAR::JSON "
            f"ELSE to_json({_name(name)}) END"
            for name in wanted
        )
        connection.execute("SET VARIABLE file = $file", {"file": str(self.path)})
        connection.execute(f"""
CREATE OR REPLACE TEMP VIEW rows AS
SELECT row_number() OVER () + {int(self.kind == "csv")} AS line, to_json(t)::VARCHAR AS raw, [{texts}] AS f,
    [{quoted}]::JSON[] AS j
FROM {self._relation("getvariable('file')")} AS t""")  # noqa: S608 - names of columns, quoted

    def query(self, *, dedupe: bool = False) -> FlatQuery:
        """Return the query over the prepared rows; with `dedupe`, rows of one sample are told apart."""
        case = "case_id" in self.columns.fields and "trial" not in self.columns.fields
        return FlatQuery(self.columns, dedupe=dedupe or self.columns.long, number_trials=case and not self.columns.long)

    def _relation(self, file: str) -> str:
        if self.kind == "parquet":
            return f"read_parquet({file})"
        return _CSV.replace("$file", file).format(more=f"max_line_size = {_LONGEST}")

    def _first(self, connection: duckdb.DuckDBPyConnection) -> list[dict[str, Any]]:
        try:
            if self.kind == "jsonl":
                return _first_lines(self.path)
            connection.execute("SET VARIABLE file = $file", {"file": str(self.path)})
            relation = self._relation("getvariable('file')")
            found = connection.execute(f"SELECT * FROM {relation} LIMIT {SAMPLE}")  # noqa: S608
            names = [column[0] for column in found.description]
            return [dict(zip(names, row, strict=True)) for row in found.fetchall()]
        except duckdb.Error as error:
            raise refuse(
                self.path, f"it is no {self.kind} that can be read ({str(error).splitlines()[0][:200]})."
            ) from None


def _first_lines(path: Path) -> list[dict[str, Any]]:
    """Return the objects on the first lines, one level of objects opened: ``{"scores": {"a": 1}}`` has ``scores.a``."""
    rows = []
    for batch in line_batches(path):
        for raw in batch.column("raw").slice(0, SAMPLE).to_pylist():
            try:
                value = json.loads(raw)
            except (ValueError, RecursionError):
                continue
            if isinstance(value, dict):
                rows.append(dict(_opened(value)))
        break
    return rows[:SAMPLE]


def _opened(value: dict[str, Any]) -> list[tuple[str, Any]]:
    pairs: list[tuple[str, Any]] = []
    for name, inner in value.items():
        if isinstance(inner, dict) and name in OPENED:
            pairs += [(f"{name}.{key}", item) for key, item in inner.items()]
        else:
            pairs.append((name, inner))
    return pairs


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def unreadable_rows(connection: duckdb.DuckDBPyConnection, limit: int) -> list[tuple[int, str, str]]:
    """Return line, column and message of the CSV rows that were refused while reading."""
    query = "SELECT line, coalesce(column_name, ''), error_message FROM reject_errors ORDER BY line LIMIT $limit"
    try:
        rows = connection.execute(query, {"limit": limit}).fetchall()
    except duckdb.CatalogException:
        return []
    return [(int(line), str(column), listed(str(message).splitlines(), 1)) for line, column, message in rows]
