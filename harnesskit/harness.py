"""The facade of one workspace: it hands out tables, scores and events, and computes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from harnesskit.model.errors import WorkspaceError
from harnesskit.model.metrics import Metric, Metrics
from harnesskit.model.policy import RegressionPolicy
from harnesskit.store import database
from harnesskit.store.export import export
from harnesskit.store.load import LoadReport, refresh
from harnesskit.store.parts import DeclarationPart, all_parts
from harnesskit.workspace.journal import read_tail
from harnesskit.workspace.layout import JOURNAL, workspace_root
from harnesskit.workspace.times import read_time

if TYPE_CHECKING:
    from harnesskit.regression import RegressionResult

Names = str | Sequence[str] | None


class Harness:
    """One workspace, loaded into an in-memory DuckDB database of this process.

    Nothing is written to the workspace by opening, querying or refreshing it, and no file of it stays open, so any
    number of notebooks and command lines may use it at once while a harness appends to it.

    Attributes
    ----------
    root
        Absolute path of the workspace.
    loaded
        The `LoadReport` of the last load or refresh.
    """

    def __init__(self, root: Path, *, as_of: datetime | None, metrics: Iterable[Metric]) -> None:
        self.root = root
        self.as_of = as_of
        self._declared = DeclarationPart(tuple(metrics))
        self._parts = all_parts(self._declared)
        self._connection = database.connect(as_of.astimezone(UTC).replace(tzinfo=None) if as_of else None)
        self.loaded = self.refresh()

    def refresh(self) -> LoadReport:
        """Bring the tables up to date with the files and return what was read.

        Only files whose size, modification time or inode changed are read again; a file that is gone takes its rows
        with it.
        """
        self.loaded = LoadReport(self._connection, refresh(self.root, self._connection, self._parts))
        return self.loaded

    @property
    def metrics(self) -> Metrics:
        """The metrics declared for this workspace, the reference's own included."""
        return self._declared.metrics

    @property
    def policies(self) -> dict[str, RegressionPolicy]:
        """The policies declared in ``harnesskit/metrics.toml``, by name."""
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
        """
        names = {"run": run, "role": role, "arm": arm, "case": case, "kind": kind, "metric": metric}
        parameters: dict[str, Any] = {
            name: None if value is None else [value] if isinstance(value, str) else list(value)
            for name, value in names.items()
        }
        parameters |= {"since": _utc(since, "since"), "until": _utc(until, "until")}
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
        """
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
            The folder does not exist, or something else lies at `path`.
        """
        return export(self._connection, Path(path))

    def runs(self) -> pd.DataFrame:
        """Return one row per run that replayed cases, newest first: samples, scored ones, cases, cases asked for."""
        return database.query(self._connection, database.script("queries/replay_runs.sql"))

    def regression(
        self, run: str | None = None, *, baseline: str | None = None, policy: str | RegressionPolicy = "default"
    ) -> RegressionResult:
        """Judge a stored run against its baseline; nothing is replayed.

        Parameters
        ----------
        run
            The run to judge; the newest replay run that scored something when None.
        baseline
            A run id, or ``captured``. When None: the newest control run before it; for a run found in the journal the
            captured scores that the journal keeps beside it; else the captured scores of the cases.
        policy
            A name (``default``, ``reference``, ``fixed:3``, ``floor:0.8``, or one declared in ``metrics.toml``) or an
            object.

        Raises
        ------
        WorkspaceError
            There is no such run.
        PolicyError
            There is no such policy.
        """
        from harnesskit.regression import CAPTURED, choose_baseline, choose_run, judge_run  # loads scipy

        runs = self.runs()
        run_id = choose_run(runs, run)
        baseline_id = choose_baseline(runs, run_id, baseline)
        if baseline_id != CAPTURED:
            before = self.sql(database.script("queries/run_scores.sql"), run=baseline_id)
        elif run_id.startswith("journal:"):
            before = self.sql(database.script("queries/journaled_baselines.sql"), run=run_id)
        else:
            before = self.scores(role=CAPTURED)
        compared = self.table("runs")
        return judge_run(
            run_id=run_id,
            baseline_id=baseline_id,
            baseline=before,
            candidate=self.sql(database.script("queries/run_scores.sql"), run=run_id),
            runs=compared[compared["run_id"].isin([run_id, baseline_id])],
            problems=self.problems(),
            metrics=self.metrics,
            policy=self.policies.get(policy, policy) if isinstance(policy, str) else policy,
            root=str(self.root),
        )

    def regressions(self, last: int = 20, *, policy: str | RegressionPolicy = "default") -> pd.DataFrame:
        """Return one row per stored replay run with the verdict on it (`RUN_VERDICTS`), newest first.

        Each run is judged alone, as `regression` does.

        Parameters
        ----------
        last
            How many runs, counted from the newest.
        policy
            As for `regression`.
        """
        from harnesskit.regression import overview_frame, verdict_row

        runs = self.runs()
        replays = runs[runs["role"] == "replay"].head(last)
        return overview_frame(
            [verdict_row(self.regression(row["run_id"], policy=policy), row) for _, row in replays.iterrows()]
        )

    def __repr__(self) -> str:
        """Return the root and what is loaded."""
        return f"<Harness {self.root}: {self.loaded}>"


def open_workspace(root: str | Path, *, as_of: datetime | str | None = None, metrics: Iterable[Metric] = ()) -> Harness:
    """Open an existing workspace and load it; nothing is created or written.

    Parameters
    ----------
    root
        The workspace folder: it holds ``evalset/``, ``journal.jsonl`` or another file of the harness.
    as_of
        Look at the workspace as it was then: later cases, runs, samples, events and notices are left out, and rules
        have the status that the journal had recorded. A text without zone is read as UTC.
    metrics
        Declarations besides those in ``harnesskit/metrics.toml``; one of the same name replaces the file's.

    Raises
    ------
    WorkspaceError
        There is no workspace at `root`, or `as_of` is not a time.

    Examples
    --------
    >>> import harnesskit as hk
    >>> harness = hk.open("data/demo")
    >>> harness.sql("SELECT kind FROM cases GROUP BY kind ORDER BY kind")["kind"].tolist()
    ['failure', 'win']
    """
    return Harness(workspace_root(root), as_of=_utc(as_of, "as_of"), metrics=metrics)


def _utc(value: datetime | str | None, name: str) -> datetime | None:
    if value is None:
        return None
    try:
        moment = read_time(value.isoformat() if isinstance(value, date) else value, name)  # a datetime is a date
    except ValueError:  # NaT
        moment = read_time("", name)
    if moment.at is None:
        raise WorkspaceError(f"{name} must be a time such as '2026-06-01' or a datetime; found {value!r}.")
    return moment.at
