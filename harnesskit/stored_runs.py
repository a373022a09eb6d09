"""The verbs that decide from stored runs: nothing here replays anything."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

import pandas as pd

from harnesskit.model.errors import QueryError
from harnesskit.model.policy import RegressionPolicy
from harnesskit.store.database import script
from harnesskit.tables import Tables

if TYPE_CHECKING:
    from harnesskit.regression import RegressionResult


class StoredRuns(Tables):
    """The tables of a workspace, and verdicts on the runs in them.

    Attributes
    ----------
    given
        The root as it was given, for the command that makes a report again; the absolute one when empty.
    """

    given: str = ""

    def policy(self, policy: str | RegressionPolicy) -> RegressionPolicy:
        """Return the policy of a name, one declared in ``metrics.toml`` before a preset; an object is itself.

        Raises
        ------
        PolicyError
            There is no such policy.
        """
        named = self.policies.get(policy, policy) if isinstance(policy, str) else policy
        return RegressionPolicy.parse(named)

    def runs(self) -> pd.DataFrame:
        """Return one row per run that replayed cases, newest first: samples, scored ones, cases, cases asked for."""
        return self.sql(script("queries/replay_runs.sql"))

    def regression(
        self,
        run: str | None = None,
        *,
        baseline: str | None = None,
        policy: str | RegressionPolicy | None = None,
        samples: Mapping[str, Collection[str]] | None = None,
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
            object; ``default`` when None. An adaptive run keeps the verdict that it gave, under the policy and the
            baseline that it froze, unless a baseline or a policy that is not adaptive is asked for.
        samples
            Ids of the samples to judge by, ``baseline`` and ``candidate``; all there are when None.

        Raises
        ------
        WorkspaceError
            There is no such run or sample, or the run would be judged against itself.
        PolicyError
            There is no such policy.
        """
        return self._regression(run, baseline, policy, samples)

    def _regression(
        self,
        run: str | None,
        baseline: str | None,
        policy: str | RegressionPolicy | None,
        samples: Mapping[str, Collection[str]] | None,
    ) -> RegressionResult:
        from harnesskit.regression import judge_adaptive, judge_run  # loads scipy
        from harnesskit.regression_evidence import only_samples
        from harnesskit.run_choice import CAPTURED, choose_baseline, choose_run, circumstances

        wanted = samples or {}
        runs = self.runs()
        run_id = choose_run(runs, run)
        if baseline is None and (policy is None or self.policy(policy).adaptive):
            kept = judge_adaptive(self.root, run_id, self.table("runs"), self.problems(), samples=samples)
            if kept is not None:
                return self._with_cases(kept)
        baseline_id = choose_baseline(runs, run_id, baseline)
        if baseline_id != CAPTURED:
            before = self.sql(script("queries/run_scores.sql"), run=baseline_id)
        elif run_id.startswith("journal:"):
            before = self.sql(script("queries/journaled_baselines.sql"), run=run_id)
        else:
            before = self.scores(role=CAPTURED)
        after = _without_controls(self.sql(script("queries/run_scores.sql"), run=run_id))
        n_asked, remarks = circumstances(runs, run_id, baseline_id)
        compared = self.table("runs")
        result = judge_run(
            run_id=run_id,
            baseline_id=baseline_id,
            baseline=only_samples(before, wanted.get("baseline"), f"the baseline {baseline_id}"),
            candidate=only_samples(after, wanted.get("candidate"), f"the run {run_id}"),
            runs=compared[compared["run_id"].isin([run_id, baseline_id])],
            problems=self.problems(),
            metrics=self.metrics,
            policy=self.policy(policy or "default"),
            root=str(self.root),
            n_asked=n_asked,
            remarks=remarks,
        )
        return self._with_cases(result)

    def _with_cases(self, result: RegressionResult) -> RegressionResult:
        """Return the result with the cases that it names, and the root as it was given."""
        from harnesskit.reports.worse_cases import concerned

        cases = self.sql(
            "SELECT case_id, notes, signature, replay_input, file FROM cases WHERE case_id IN (SELECT unnest($ids))",
            ids=[str(case_id) for case_id in concerned(result.deltas)],
        )
        return dataclasses.replace(result, cases=cases, root=self.given or result.root)

    def sequence(self, run: str | None = None) -> pd.DataFrame:
        """Return how the evidence of an adaptive run came in: one row per win and look (`LOOKS`), the worst wins first.

        `harnesskit.plot_sequence` draws it. No rows for a run that is not adaptive: its trials were looked at once.

        Parameters
        ----------
        run
            The run; the newest replay run that scored something when None.

        Raises
        ------
        WorkspaceError
            There is no such run.
        """
        from harnesskit.model.analyses import LOOKS
        from harnesskit.run_choice import choose_run
        from harnesskit.trials.looks import looks_of
        from harnesskit.trials.stored_adaptive import read_adaptive

        _, frozen, records = read_adaptive(self.root, choose_run(self.runs(), run))
        return pd.DataFrame(columns=list(LOOKS.columns)) if frozen is None else looks_of(frozen, records)

    def fingerprints(self, baseline: str | None = None) -> pd.DataFrame:
        """Return what produced the samples of each run, and whether it is the baseline's: a row per run, newest first.

        Only runs with exactly the fingerprint of the baseline are controls for it (`harnesskit.run_fingerprints`).

        Parameters
        ----------
        baseline
            A run id; the fingerprint under which the next regression run looks up its control bank when None.

        Raises
        ------
        FrameError
            There is no such run.
        """
        from harnesskit.measures.fingerprints import run_fingerprints
        from harnesskit.trials.bank import find_bank

        runs = self.sql("SELECT * FROM runs ORDER BY coalesce(finished_at, started_at) DESC NULLS LAST, run_id")
        return run_fingerprints(runs, baseline=baseline or find_bank(self.root).fingerprint)

    def regressions(self, last: int = 20, *, policy: str | RegressionPolicy | None = None) -> pd.DataFrame:
        """Return one row per stored replay run with the verdict on it (`RUN_VERDICTS`), newest first.

        Each run is judged alone, as `regression` does.

        Parameters
        ----------
        last
            How many runs, counted from the newest.
        policy
            As for `regression`.

        Raises
        ------
        QueryError
            `last` is no number of runs.
        """
        from harnesskit.regression import overview_frame, verdict_row

        if isinstance(last, bool) or not isinstance(last, int) or last < 0:
            raise QueryError(f"regressions(last=…) needs a whole number of runs, 0 or more; found {last!r}.")
        runs = self.runs()
        replays = runs[runs["role"] == "replay"].head(last)
        return overview_frame(
            [verdict_row(self.regression(row["run_id"], policy=policy), row) for _, row in replays.iterrows()]
        )


def _without_controls(rows: pd.DataFrame) -> pd.DataFrame:
    """Leave out the control runs that an adaptive run made beside those of the candidate."""
    topped = (rows["arm"] == "control").fillna(False).to_numpy(dtype=bool) & rows["round"].notna().to_numpy(dtype=bool)
    return rows[~topped].reset_index(drop=True)
