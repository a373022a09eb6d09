"""The part of a load that puts the Parquet files of online samples behind a view; their rows are never copied."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from harnesskit.store.load import NOTHING, Touched, replace_problems
from harnesskit.store.stamps import Stamps, changes, stamps_of
from harnesskit.workspace.online import ONLINE_SCHEMA, online_files
from harnesskit.workspace.problems import Problem

_VIEW = """
CREATE OR REPLACE VIEW raw.online AS
SELECT {columns} FROM read_parquet(getvariable('online_files'), union_by_name = true, hive_partitioning = false)
"""


class OnlinePart:
    """Parquet files of online samples."""

    source = "online"

    def __init__(self) -> None:
        self.stamps: Stamps = {}
        self.next: Stamps = {}

    def refresh(self, root: Path, connection: duckdb.DuckDBPyConnection) -> Touched:
        """Look at the schema of new and changed files, and let the view read those that fit."""
        names = tuple(path.relative_to(root).as_posix() for path in online_files(root))
        self.next = stamps_of(root, names, suffix="/")
        touched = changes(self.stamps, self.next)
        if touched == NOTHING:
            return NOTHING
        problems: list[Problem] = []
        usable = [name for name in self.next if _fits(root, name, problems)]
        files = [str(root / name) for name in usable]
        connection.execute("SET VARIABLE online_files = $files", {"files": files})
        if files:
            types = {row[0]: row[1] for row in connection.execute("DESCRIBE raw.no_online").fetchall()}
            columns = ", ".join(f'"{name}"::{kind} AS "{name}"' for name, kind in types.items())
            connection.execute(_VIEW.format(columns=columns))
        else:
            connection.execute("CREATE OR REPLACE VIEW raw.online AS SELECT * FROM raw.no_online")
        replace_problems(connection, self.source, None, problems)
        return touched

    def keep(self) -> None:
        """Remember the stamps of what was looked at."""
        self.stamps = self.next


def _fits(root: Path, name: str, problems: list[Problem]) -> bool:
    try:
        schema = pq.read_schema(root / name)
    except (OSError, pa.ArrowException) as error:
        message = f"Not a Parquet file that can be read ({str(error).splitlines()[0][:120]}); it was left out."
        problems.append(Problem("online", name, None, "", "problem", "unreadable", message))
        return False
    missing = [field.name for field in ONLINE_SCHEMA if field.name not in schema.names]
    if missing:
        message = f"The column {missing[0]} is missing; import the samples again. The file was left out."
        problems.append(Problem("online", name, None, missing[0], "problem", "missing_column", message))
        return False
    return True
