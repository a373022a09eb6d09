"""One ordinary DuckDB file with every table, for other tools."""

from __future__ import annotations

import contextlib
import os
import re
import uuid
from pathlib import Path

import duckdb

from harnesskit.model.errors import LockedError, WorkspaceError
from harnesskit.store.database import CONTRACTS, ONE_AT_A_TIME, comments, order_of

_MARK = "harnesskit_export"


def export(connection: duckdb.DuckDBPyConnection, path: Path) -> Path:
    """Write every table and view as a table of a new DuckDB file at `path` and return its absolute path.

    The file appears whole or not at all. An earlier export is replaced; any other file is refused.

    Raises
    ------
    LockedError
        Another process, or this one, has the file open.
    WorkspaceError
        The folder does not exist or cannot be written, or something that is not an export lies at `path`.
    """
    target = path.expanduser().absolute()
    if not target.parent.is_dir():
        raise WorkspaceError(f"The folder {target.parent} does not exist; create it, then export again.")
    if target.exists():
        _check_replaceable(target)
    temporary = target.with_name(f".{target.name}.{os.getpid()}.{uuid.uuid4().hex}.tmp")
    try:
        with ONE_AT_A_TIME, duckdb.connect(str(temporary)) as out:
            _write(connection, out)
        temporary.replace(target)
        _wal(target).unlink(missing_ok=True)  # of the file that was replaced
    except (OSError, duckdb.IOException) as error:
        raise WorkspaceError(
            f"The export {target} cannot be written ({str(error).splitlines()[0]}); check the folder, its permissions "
            "and the free space."
        ) from error
    finally:
        for left in (temporary, _wal(temporary)):
            with contextlib.suppress(OSError):  # never made, or already renamed
                left.unlink()
    return target


def _write(connection: duckdb.DuckDBPyConnection, out: duckdb.DuckDBPyConnection) -> None:
    out.execute(f"CREATE TABLE {_MARK} AS SELECT 1 AS format")
    for name in CONTRACTS:
        types = connection.execute(f"DESCRIBE {name}").fetchall()
        columns = ", ".join(f'"{column}"::{kind} AS "{column}"' for column, kind, *_ in types)
        rows = connection.sql(f"SELECT * FROM {name} ORDER BY {order_of(name)}")  # noqa: S608 - own names
        out.register("incoming", rows.to_arrow_table())
        out.execute(f"CREATE TABLE {name} AS SELECT {columns} FROM incoming")  # noqa: S608 - own names
        out.unregister("incoming")
    comments(out, "TABLE")


def _wal(path: Path) -> Path:
    return path.with_name(path.name + ".wal")


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
    except duckdb.ConnectionException as error:
        raise LockedError(
            f"{target} is open in this process; close that connection or export to another file."
        ) from error
    except duckdb.Error:
        pass
    raise WorkspaceError(f"{target} exists and is not an export of harnesskit; choose another name or move it away.")
