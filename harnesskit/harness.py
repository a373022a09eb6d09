"""The facade of one workspace: it hands out tables and verdicts, and computes nothing itself."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from harnesskit.model.metrics import Metric
from harnesskit.model.policy import RegressionPolicy
from harnesskit.store.database import script
from harnesskit.tables import Tables, as_utc
from harnesskit.workspace.layout import workspace_root

if TYPE_CHECKING:
    from harnesskit.regression import RegressionResult


class Harness(Tables):
    """One workspace: its tables (see `harnesskit.tables.Tables`), and the verbs that decide from stored runs."""

    def runs(self) -> pd.DataFrame:
        """Return one row per run that replayed cases, newest first: samples, scored ones, cases, cases asked for."""
        return self.sql(script("queries/replay_runs.sql"))

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
            before = self.sql(script("queries/run_scores.sql"), run=baseline_id)
        elif run_id.startswith("journal:"):
            before = self.sql(script("queries/journaled_baselines.sql"), run=run_id)
        else:
            before = self.scores(role=CAPTURED)
        compared = self.table("runs")
        return judge_run(
            run_id=run_id,
            baseline_id=baseline_id,
            baseline=before,
            candidate=self.sql(script("queries/run_scores.sql"), run=run_id),
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
    harness = Harness(workspace_root(root), as_of=as_utc(as_of, "as_of"), metrics=metrics)
    harness.refresh()
    return harness
