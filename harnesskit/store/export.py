"""One ordinary DuckDB file with every table, for other tools."""

from __future__ import annotations

import os
import re
import uuid
from pathlib import Path

import duckdb

from harnesskit.model.errors import LockedError, WorkspaceError
from harnesskit.store.database import CONTRACTS, comments

_MARK = "harnesskit_export"


def export(connection: duckdb.DuckDBPyConnection, path: Path) -> Path:
    """Write every table and view as a table of a new DuckDB file at `path` and return its absolute path.

    The file appears whole or not at all. An earlier export is replaced; any other file is refused.

    Raises
    ------
    LockedError
        Another process has the file open.
    WorkspaceError
        The folder does not exist, or something that is not an export lies at `path`.
    """
    target = path.expanduser().absolute()
    if not target.parent.is_dir():
        raise WorkspaceError(f"The folder {target.parent} does not exist; create it, then export again.")
    if target.exists():
        _check_replaceable(target)
    temporary = target.with_name(f".{target.name}.{os.getpid()}.{uuid.uuid4().hex}.tmp")
    try:
        with duckdb.connect(str(temporary)) as out:
            out.execute(f"CREATE TABLE {_MARK} AS SELECT 1 AS format")
            for name, contract in CONTRACTS.items():
                order = ", ".join(f'"{column}"' for column in contract.key)
                rows = connection.sql(f"SELECT * FROM {name} ORDER BY {order}").to_arrow_table()  # noqa: S608 - own names
                types = connection.execute(f"DESCRIBE {name}").fetchall()
                columns = ", ".join(f'"{column}"::{kind} AS "{column}"' for column, kind, *_ in types)
                out.register("incoming", rows)
                out.execute(f"CREATE TABLE {name} AS SELECT {columns} FROM incoming")  # noqa: S608 - own names
                out.unregister("incoming")
            comments(out, "TABLE")
        temporary.replace(target)
    finally:
        for left in (temporary, temporary.with_name(temporary.name + ".wal")):
            left.unlink(missing_ok=True)
    return target


def _check_replaceable(target: Path) -> None:
    try:
        with duckdb.connect(str(target), read_only=True) as held:
            if held.execute("SELECT 1 FROM duckdb_tables() WHERE table_name = ?", [_MARK]).fetchall():
                return
    except duckdb.IOException as error:
        if "lock" in str(error).lower():
            holder = re.search(r"PID (\d+)", str(error))
            who = f"process {holder[1]}" if holder else "another process"
            raise LockedError(
                f"{target} is in use by {who}, which has it open in DuckDB; close it there or export to another file."
            ) from error
    except duckdb.Error:
        pass
    raise WorkspaceError(f"{target} exists and is not an export of harnesskit; choose another name or move it away.")
