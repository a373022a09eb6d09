"""Load a workspace into the database, and later only what changed."""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, Protocol

import duckdb
import pandas as pd

from harnesskit.model.frames import TABLES
from harnesskit.model.text import counted
from harnesskit.store.database import ONE_AT_A_TIME, insert, query, script
from harnesskit.workspace.problems import Problem


class Touched(NamedTuple):
    """Files that a refresh read for the first time, read again, or found gone (paths relative to the workspace)."""

    added: list[str]
    changed: list[str]
    gone: list[str]


NOTHING = Touched([], [], [])


class Part(Protocol):
    """One kind of file of a workspace: it remembers what it read, and brings the tables up to date."""

    source: str

    def refresh(self, root: Path, connection: duckdb.DuckDBPyConnection) -> Touched:
        """Read what changed since the last call and put it into the raw tables, inside the caller's transaction."""
        ...

    def keep(self) -> None:
        """Remember the last refresh as done: its transaction was committed."""
        ...


class LoadReport:
    """What a load or refresh did.

    Everything is looked up when it is first asked for, so that a refresh costs no more than a look at the files.

    Attributes
    ----------
    added, changed, gone
        One row per file: source, file.
    problems
        One row per thing that is wrong in the workspace (`harnesskit.model.frames.PROBLEMS`), problems before notes.
    counts
        Table name to number of rows.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, done: dict[str, Touched]) -> None:
        self._connection = connection
        self._done = done

    @cached_property
    def added(self) -> pd.DataFrame:
        """Return one row per file that was read for the first time."""
        return _files(self._done, 0)

    @cached_property
    def changed(self) -> pd.DataFrame:
        """Return one row per file that was read again."""
        return _files(self._done, 1)

    @cached_property
    def gone(self) -> pd.DataFrame:
        """Return one row per file that is no longer there."""
        return _files(self._done, 2)

    @cached_property
    def problems(self) -> pd.DataFrame:
        """Return one row per thing that is wrong."""
        return query(self._connection, script("queries/problems.sql"))

    @cached_property
    def counts(self) -> dict[str, int]:
        """Return the number of rows of every table."""
        parts = "\nUNION ALL ".join(f"SELECT '{name}' AS name, count(*) AS n FROM {name}" for name in TABLES)  # noqa: S608
        with ONE_AT_A_TIME:
            found = {str(name): int(n) for name, n in self._connection.execute(parts).fetchall()}
        return {name: found[name] for name in TABLES}

    def __str__(self) -> str:
        """Return a short text: what is loaded and how much was wrong."""
        loaded = ", ".join(
            self._runs() if name == "runs" else counted(count, name.removesuffix("s"))
            for name, count in self.counts.items()
            if count and name != "problems"
        )
        severity = self.problems["severity"]
        wrong = " and ".join(counted(int((severity == word).sum()), word) for word in ("problem", "note"))
        files = f"{counted(len(self.added), 'file')} read, {len(self.changed):,} read again, {len(self.gone):,} gone"
        return f"{loaded or 'nothing loaded'}; {files}; {wrong}"

    def _runs(self) -> str:
        """Return the replay runs, as `Harness.runs` lists them, apart from the other sources of samples."""
        runs = len(query(self._connection, script("queries/replay_runs.sql")))
        more = self.counts["runs"] - runs
        return counted(runs, "run") + (f" ({counted(more, 'more source')})" if more else "")

    __repr__ = __str__


def refresh(root: Path, connection: duckdb.DuckDBPyConnection, parts: list[Part]) -> dict[str, Touched]:
    """Bring the database up to date with the files; a part that did not change costs a look at its files.

    What was read is remembered only once it is in the database: interrupted at any place, the next refresh reads it
    again.
    """
    done: dict[str, Touched] = {}
    with ONE_AT_A_TIME:
        try:
            connection.execute("BEGIN")
            for part in parts:
                done[part.source] = part.refresh(root, connection)
            connection.execute("COMMIT")
        except BaseException:
            with suppress(duckdb.Error):  # stopped before it began or after it was committed: nothing to undo
                connection.execute("ROLLBACK")
            raise
        for part in parts:
            part.keep()
    return done


def _files(done: dict[str, Touched], which: int) -> pd.DataFrame:
    pairs = [(source, file) for source, touched in done.items() for file in touched[which]]
    return pd.DataFrame(pairs, columns=["source", "file"], dtype=object)


def replace_problems(
    connection: duckdb.DuckDBPyConnection, source: str, files: list[str] | None, problems: list[Problem]
) -> None:
    """Put `problems` in place of the earlier ones of `source` (and of `files` only, when given)."""
    connection.execute(
        "DELETE FROM raw.problems WHERE source = $source AND ($files IS NULL OR file IN (SELECT unnest($files)))",
        {"source": source, "files": files},
    )
    insert(connection, "problems", problems)
