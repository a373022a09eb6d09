"""A stored run held against its baseline: which runs are compared, and everything that follows from them."""

from __future__ import annotations

import json
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from harnesskit.decisions.regression import decide_regression
from harnesskit.measures.comparison import compare_runs
from harnesskit.measures.deltas import case_deltas
from harnesskit.measures.fingerprints import run_fingerprints
from harnesskit.measures.ledger import evidence_ledger
from harnesskit.measures.missing import missing_bounds
from harnesskit.model.case_status import case_states
from harnesskit.model.decision import Decision
from harnesskit.model.metrics import Metrics
from harnesskit.model.policy import RegressionPolicy
from harnesskit.model.results import RUN_VERDICTS
from harnesskit.regression_evidence import regression_evidence, require_samples
from harnesskit.reports.model import Report
from harnesskit.reports.regression import regression_report
from harnesskit.run_choice import CAPTURED
from harnesskit.trials.adaptive_rows import side_frames
from harnesskit.trials.looks import looks_of
from harnesskit.trials.regression_report import RegressionReport
from harnesskit.trials.stored_adaptive import adaptive_verdict, read_adaptive

STATUSES = ("regressed", "improved", "unchanged", "inconclusive", "skipped")


@dataclass(frozen=True)
class RegressionResult:
    """A run, what it was compared with, and what follows.

    Attributes
    ----------
    run_id, baseline_id
        The run, and the run (or ``captured``) that it was compared with.
    deltas, comparison, ledger, runs, problems
        Frames by their contracts; `runs` has a row for each side.
    decision
        The verdict.
    root
        The workspace, as it was given.
    summary
        The run in the reference's terms, when it was made under the policy ``reference``.
    cases
        What the cases that got worse and the suspects are: their rows of ``cases``.
    adaptive
        Whether the run decided itself what to replay; its verdict follows from what it froze.
    before, after
        The scores of both sides, as `harnesskit.case_deltas` takes them.
    looks
        How the evidence of an adaptive run came in, for `harnesskit.plot_sequence`; empty for another run.
    baseline_fingerprint
        What produced the control bank of an adaptive run; None for another run, or when it is not known.
    """

    run_id: str
    baseline_id: str
    deltas: pd.DataFrame = field(repr=False)
    comparison: pd.DataFrame = field(repr=False)
    ledger: pd.DataFrame = field(repr=False)
    runs: pd.DataFrame = field(repr=False)
    problems: pd.DataFrame = field(repr=False)
    decision: Decision
    root: str = field(repr=False)
    summary: RegressionReport | None = field(default=None, repr=False)
    cases: pd.DataFrame | None = field(default=None, repr=False)
    adaptive: bool = field(default=False, repr=False)
    before: pd.DataFrame = field(default_factory=pd.DataFrame, repr=False)
    after: pd.DataFrame = field(default_factory=pd.DataFrame, repr=False)
    looks: pd.DataFrame = field(default_factory=pd.DataFrame, repr=False)
    baseline_fingerprint: Mapping[str, Any] | None = field(default=None, repr=False)

    @property
    def clean(self) -> bool:
        """Whether the verdict is ``pass``: never for a run in which nothing could be compared."""
        return self.decision.verdict == "pass"

    @property
    def fingerprints(self) -> pd.DataFrame:
        """What produced the samples of the runs compared, and which equal the baseline's (`run_fingerprints`)."""
        named = self.baseline_id if self.baseline_id in set(self.runs["run_id"]) else None
        return run_fingerprints(self.runs, baseline=self.baseline_fingerprint or named)

    def report(self, title: str | None = None, *, overview: pd.DataFrame | None = None) -> Report:
        """Return the report; ``.save("report.html")``, ``.md`` or ``.json``.

        Parameters
        ----------
        title
            Heading; the run when None.
        overview
            Verdicts on other runs, to show beside this one: `Harness.regressions()`.
        """
        policy = self.decision.policy.get("name", "default")
        argument = {
            "fixed": f":{self.decision.policy.get('trials')}",
            "floor": f":{self.decision.policy['floor_score']}",
        }
        command = ["harnesskit", "report", "--root", self.root, "--run", self.run_id]
        if not self.adaptive:
            command += ["--baseline", self.baseline_id, "--policy", f"{policy}{argument.get(str(policy), '')}"]
        return regression_report(
            self.deltas,
            self.comparison,
            self.decision,
            ledger=self.ledger,
            runs=self.runs,
            overview=overview,
            problems=self.problems,
            cases=self.cases,
            fingerprints=self.fingerprints,
            looks=self.looks,
            title=title or f"Regression report: {self.run_id}",
            reproduce=shlex.join(command),
            evidence=regression_evidence(self),
        )


def verdict_row(result: RegressionResult, run: pd.Series[Any]) -> dict[str, Any]:
    """Return one row of the overview: a run of ``queries/replay_runs.sql`` and the verdict on it."""
    asked, kept = run["n_asked"], int(run["n_cases"])
    cases = case_states(result.deltas)
    scored = result.deltas.loc[result.deltas["n_candidate"].fillna(0) > 0, "case_id"].nunique()
    return {
        "run_id": result.run_id,
        "ended": run["ended"],
        "baseline_id": result.baseline_id,
        "verdict": result.decision.verdict,
        "n_asked": kept if pd.isna(asked) else int(asked),
        "n_kept": kept,
        "n_scored": int(scored),
        **{f"n_{status}": int((cases == status).sum()) for status in STATUSES},
        "reason": result.decision.reasons[0] if result.decision.reasons else "",
    }


def overview_frame(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Return the rows of the overview as a frame by its contract."""
    return pd.DataFrame(rows, columns=list(RUN_VERDICTS.columns))


def judge_run(
    *,
    run_id: str,
    baseline_id: str,
    baseline: pd.DataFrame,
    candidate: pd.DataFrame,
    runs: pd.DataFrame,
    problems: pd.DataFrame,
    metrics: Metrics,
    policy: str | RegressionPolicy,
    root: str,
    n_asked: int | None = None,
    remarks: Sequence[str] = (),
) -> RegressionResult:
    """Return everything that follows from the scores of a run and of its baseline."""
    rules: Any = RegressionPolicy.parse(policy)
    deltas = case_deltas(baseline, candidate, policy=rules, metrics=metrics)
    comparison = compare_runs(deltas)
    missing = missing_bounds(baseline, candidate, policy=rules, metrics=metrics)
    decision = decide_regression(
        deltas, comparison, policy=rules, subject=run_id, n_asked=n_asked, remarks=remarks, missing=missing
    )
    ledger = evidence_ledger(baseline, candidate, policy=rules, metrics=metrics)
    frames = deltas, comparison, ledger, runs, problems
    return RegressionResult(run_id, baseline_id, *frames, decision, root, before=baseline, after=candidate)


def judge_adaptive(
    root: Path,
    run_id: str,
    runs: pd.DataFrame,
    problems: pd.DataFrame,
    *,
    samples: Mapping[str, Collection[str]] | None = None,
) -> RegressionResult | None:
    """Return the verdict on an adaptive run, from its samples and what it froze; None for another run.

    Parameters
    ----------
    samples
        Ids of the samples to judge by (``baseline``, ``candidate``); None for all of the run.
    """
    row, frozen, records = read_adaptive(root, run_id)
    if frozen is None:
        return None
    if samples is not None:
        wanted = {one for side in samples.values() for one in side}
        banked = {run.sample_id for runs_of in frozen.controls.values() for run in runs_of}
        require_samples(wanted, banked | {record.sample.sample_id for record in records}, f"the run {run_id}")
        records = [record for record in records if record.sample.sample_id in wanted]
    stopped = json.loads(row.parameters or "{}").get("stopped")
    found = adaptive_verdict(frozen, records, subject=run_id, stopped=stopped)
    before, after = side_frames(frozen, records)
    sources = [str(one) for one in frozen.baseline.get("runs", ())]
    return RegressionResult(
        run_id,
        sources[-1] if sources else CAPTURED,
        found.deltas,
        found.comparison,
        found.ledger,
        runs[runs["run_id"].isin([run_id, *sources])],
        problems,
        found.decision,
        str(root),
        adaptive=True,
        before=before,
        after=after,
        looks=looks_of(frozen, records),
        baseline_fingerprint=frozen.baseline.get("fingerprint"),
    )
