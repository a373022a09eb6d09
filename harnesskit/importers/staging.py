"""A draft of an import: everything is written beside the workspace's files first, and put in place when it is whole."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from harnesskit.importers.day_files import write_days
from harnesskit.importers.flat_sql import SAID
from harnesskit.importers.opening import refuse
from harnesskit.importers.rows import STAGED
from harnesskit.model.errors import WorkspaceError
from harnesskit.workspace.atomic import sync_folder
from harnesskit.workspace.imports import IMPORTS, SOURCE
from harnesskit.workspace.problems import Problem

MEMORY = "500MB"
ROWS = 100_000
LISTED = 1_000
"""Most rows of `problems` that one import writes; how many more there were is one further row."""

_OURS = re.compile(r"cannot import .*?Nothing was imported\.", re.DOTALL)
_WORDS = {
    "not_json": "not a JSON object with any of the mapped columns: {}. It was left out.",
    "bad_time": "{} is not a time; the sample is kept without one.",
    "duplicate_sample": "the sample {} was there before; the first is kept, this one left out.",
}


class Draft:
    """The staged rows of one import.

    Parameters
    ----------
    folder
        Where they lie, one folder per day.
    connection
        DuckDB, with bounded memory.
    """

    def __init__(self, folder: Path, connection: duckdb.DuckDBPyConnection) -> None:
        self.folder, self.connection = folder, connection

    def write(self, query: str, parameters: Mapping[str, Any], path: Path) -> None:
        """Write the rows of a query of the shape `STAGED`.

        Raises
        ------
        WorkspaceError
            The file cannot be read to its end.
        """
        try:
            # not COPY with PARTITION_BY, which takes four times as long on many narrow columns
            found = self.connection.sql(query, params=dict(parameters))
            write_days(found.to_arrow_reader(ROWS), self.folder)
        except (duckdb.Error, pa.ArrowException, OSError) as error:
            ours = _OURS.search(str(error))
            if ours is not None:  # raised while DuckDB was asking for more rows
                raise WorkspaceError(ours[0]) from None
            raise refuse(path, f"it cannot be read to its end ({str(error).splitlines()[0][:300]}).") from error

    def write_batches(self, batches: Iterator[pa.RecordBatch], path: Path) -> None:
        """Write batches of the shape `STAGED`."""
        self.connection.register("found", pa.RecordBatchReader.from_batches(STAGED, batches))
        self.write("SELECT * FROM found", {}, path)

    def repeats(self) -> bool:
        """Whether two of the staged samples have one id."""
        if not self.files():
            return False
        rows = "read_parquet($files, hive_partitioning = false) WHERE head"
        query = f"SELECT count(*) > count(DISTINCT sample_id) FROM {rows}"  # noqa: S608
        return bool(self.connection.execute(query, {"files": self.files()}).fetchall()[0][0])

    def clear(self) -> None:
        """Throw away what is staged."""
        shutil.rmtree(self.folder)
        self.folder.mkdir()

    def days(self) -> list[Path]:
        """Return the folders of the days that there are samples for."""
        return sorted(p for p in self.folder.glob("day=*") if p.name != f"day={SAID}")

    def files(self) -> list[str]:
        """Return the staged files that hold samples."""
        return [str(path) for day in self.days() for path in sorted(day.glob("*.parquet"))]

    def problems(self, file: str) -> list[Problem]:
        """Return what was refused or read by a rule, at most `LISTED` rows and one that says how many more."""
        said = [str(path) for path in self.folder.glob(f"day={SAID}/*.parquet")]
        if not said:
            return []
        rows = self.connection.execute(
            "SELECT line, coalesce(metric, ''), status, score_status, score_reason, count(*) OVER () FROM "
            "read_parquet($files, hive_partitioning = false) ORDER BY line, 2, 4 LIMIT $limit",
            {"files": said, "limit": LISTED},
        ).fetchall()
        found = [
            Problem(
                SOURCE, file, line, field, "note" if severity == "note" else "problem", kind, _worded(kind, message)
            )
            for line, field, severity, kind, message, _ in rows
        ]
        more = rows[0][5] - len(rows) if rows else 0
        if more > 0:
            found.append(
                Problem(SOURCE, file, None, "", "problem", "more", f"{more:,} more rows were wrong; not listed.")
            )
        return found


def _worded(kind: str, message: str | None) -> str:
    words = _WORDS.get(kind)
    return (message or "") if words is None or (message or "").endswith(".") else words.format(repr(message))


@contextmanager
def draft(root: Path, key: str) -> Iterator[Draft]:
    """Hand out the draft of one import; what is not put in place is gone afterwards."""
    folder = root / IMPORTS / f"draft-{key}-{os.getpid()}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        with duckdb.connect() as connection:
            connection.execute("SET TimeZone = 'UTC'")
            connection.execute(f"SET memory_limit = '{MEMORY}'")
            connection.execute("SET temp_directory = $folder", {"folder": str(folder / "spill")})
            connection.execute("SET preserve_insertion_order = false")
            connection.execute("SET streaming_buffer_size = '32MB'")
            (folder / "rows").mkdir(parents=True)
            yield Draft(folder / "rows", connection)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def put(source: Path, target: Path) -> None:
    """Move a finished file into place, synced, in one step."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with source.open("rb+") as file:
        os.fsync(file.fileno())
    source.replace(target)
    sync_folder(target.parent)
