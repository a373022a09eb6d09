"""The tables of one workspace: loaded at the first use, refreshed on request, handed out as frames."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd

from harnesskit.model.errors import QueryError, WorkspaceError
from harnesskit.model.metrics import Metric, Metrics
from harnesskit.model.policy import RegressionPolicy
from harnesskit.store import database
from harnesskit.store.export import export
from harnesskit.store.known import known_names
from harnesskit.store.load import LoadReport, refresh
from harnesskit.store.parts import DeclarationPart, all_parts
from harnesskit.workspace.journal import read_tail
from harnesskit.workspace.layout import JOURNAL, keep_out
from harnesskit.workspace.times import read_time

Names = str | Sequence[str] | None


class Tables:
    """The tables of a workspace, in an in-memory DuckDB database of this process.

    Nothing is written to the workspace by loading, querying or refreshing it, and no file of it stays open, so any
    number of notebooks and command lines may use it at once while a harness appends to it.

    Attributes
    ----------
    root
        Absolute path of the workspace.
    as_of
        Time at which the workspace is looked at; None: now.
    """

    def __init__(self, root: Path, *, as_of: datetime | None = None, metrics: Iterable[Metric] = ()) -> None:
        self.root = root
        self.as_of = as_of
        self._declared = DeclarationPart(tuple(metrics))
        self._parts = all_parts(self._declared)
        self._report: LoadReport | None = None

    @cached_property
    def _database(self) -> duckdb.DuckDBPyConnection:
        as_of = self.as_of.astimezone(UTC).replace(tzinfo=None) if self.as_of else None
        return database.connect(as_of)

    @property
    def _connection(self) -> duckdb.DuckDBPyConnection:
        """The database, loaded."""
        if self._report is None:
            self.refresh()
        return self._database

    @property
    def loaded(self) -> LoadReport:
        """What the last load or refresh did; loads the workspace when nothing has yet."""
        return self.refresh() if self._report is None else self._report

    def refresh(self) -> LoadReport:
        """Bring the tables up to date with the files and return what was read.

        Only files whose size, modification time or inode changed are read again; a file that is gone takes its rows
        with it.
        """
        self._report = LoadReport(self._database, refresh(self.root, self._database, self._parts))
        return self._report

    @property
    def metrics(self) -> Metrics:
        """The metrics declared for this workspace, the reference's own included."""
        _ = self.loaded
        return self._declared.metrics

    @property
    def policies(self) -> dict[str, RegressionPolicy]:
        """The policies declared in ``harnesskit/metrics.toml``, by name."""
        _ = self.loaded
        return self._declared.policies

    def table(self, name: str) -> pd.DataFrame:
        """Return a table or view whole, in the order of its key; cases and rules oldest first.

        Raises
        ------
        QueryError
            There is no such table; the message lists those there are.
        """
        return database.table(self._connection, name)

    def sql(self, query: str, **parameters: Any) -> pd.DataFrame:
        """Return the result of an SQL query over the tables and views.

        Parameters
        ----------
        query
            DuckDB SQL. ``$name`` stands for the parameter of that name; values are never put into the text.
        **parameters
            Values, or frames: a frame is a table of that name.

        Raises
        ------
        QueryError
            DuckDB refused the query.
        """
        return database.query(self._connection, query, parameters)

    def scores(
        self,
        *,
        run: Names = None,
        role: Names = None,
        arm: Names = None,
        case: Names = None,
        kind: Names = None,
        metric: Names = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
    ) -> pd.DataFrame:
        """Return one row per counting sample, metric and grader (`CASE_SCORES`), unscored ones included.

        Parameters
        ----------
        run, role, arm, case, kind, metric
            A name or a list of names; None means any.
        since, until
            Times, from `since` on and before `until`; a text without zone is read as UTC.

        Raises
        ------
        QueryError
            The workspace knows no run, role, arm, case, kind or metric of that name.
        """
        names = {"run": run, "role": role, "arm": arm, "case": case, "kind": kind, "metric": metric}
        parameters: dict[str, Any] = {name: known_names(self._connection, name, value) for name, value in names.items()}
        parameters |= {"since": as_utc(since, "since"), "until": as_utc(until, "until")}
        return database.query(self._connection, database.script("queries/scores.sql"), parameters)

    def events(self, last: int = 50, types: Names = None) -> pd.DataFrame:
        """Return the last `last` journal records (`EVENTS`), oldest first, read from the end of the file.

        Looking back (`as_of`), they are the last ones of that time, as loaded.

        Parameters
        ----------
        last
            How many records; the size of the journal does not matter.
        types
            Only records of this type or these types.

        Raises
        ------
        QueryError
            `last` is no number of records.
        """
        if isinstance(last, bool) or not isinstance(last, int):
            raise QueryError(f"events(last=…) needs a whole number of records; found {last!r}.")
        wanted = None if types is None else {types} if isinstance(types, str) else set(types)
        if self.as_of is not None:
            parameters = {"last": max(last, 0), "types": None if wanted is None else sorted(wanted)}
            return database.query(self._connection, database.script("queries/events.sql"), parameters)
        found = read_tail(self.root / JOURNAL, last, wanted)
        return database.rows_frame("events", found.events)

    def dictionary(self) -> pd.DataFrame:
        """Return one row per column of every table and view: table, grain, column, type, meaning."""
        return database.dictionary(self._connection)

    def problems(self) -> pd.DataFrame:
        """Return one row per thing that was wrong on the way in (`PROBLEMS`), problems before notes."""
        return database.query(self._connection, database.script("queries/problems.sql"))

    def export(self, path: str | Path) -> Path:
        """Write every table to one new DuckDB file and return its path; an earlier export is replaced.

        Raises
        ------
        LockedError
            Another process has the file open.
        WorkspaceError
            The folder does not exist, something else lies at `path`, it lies among the files of the workspace, or its
            name ends in neither ``.duckdb`` nor ``.db``.
        """
        target = Path(path)
        if target.suffix.lower() not in (".duckdb", ".db"):
            raise WorkspaceError(
                f"The export {target} is a DuckDB file; give a name that ends in .duckdb or .db. For another format, "
                "write a table as a frame, e.g. harness.table('scores').to_parquet(...)."
            )
        return export(self._connection, keep_out(self.root, target))


def as_utc(value: datetime | str | None, name: str) -> datetime | None:
    """Return a time given by a user as an aware datetime; a text without zone is UTC.

    Raises
    ------
    WorkspaceError
        It is no time; `name` says which one.
    """
    if value is None:
        return None
    try:
        moment = read_time(value.isoformat() if isinstance(value, date) else value, name)  # a datetime is a date
    except ValueError:  # NaT
        moment = read_time("", name)
    if moment.at is None:
        raise WorkspaceError(f"{name} must be a time such as '2026-06-01' or a datetime; found {value!r}.")
    return moment.at
