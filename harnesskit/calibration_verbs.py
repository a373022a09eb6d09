"""The verb that holds thresholds against labels, and what it hands out."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harnesskit.model.errors import WorkspaceError
from harnesskit.stored_runs import StoredRuns

if TYPE_CHECKING:
    import pandas as pd

    from harnesskit.measures.session_scores import Reduce
    from harnesskit.reports.model import Report

CASES = "cases"
_REFERENCE_RUNS = ("captured", "online:history")


@dataclass(frozen=True)
class CalibrationResult:
    """The metrics of a workspace held against labels.

    Attributes
    ----------
    table, sweep, agreement, sessions
        `hk.calibrate`, `hk.sweep_thresholds`, `hk.metric_agreement`, `hk.labelled_scores`.
    scores, labels
        What they were computed from.
    graders
        Metric to the grader whose scores were used.
    source
        Where the labels are from, in words.
    problems
        Labels of a file that were refused: rows as of ``problems``.
    """

    table: pd.DataFrame
    sweep: pd.DataFrame = field(repr=False)
    agreement: pd.DataFrame = field(repr=False)
    sessions: pd.DataFrame = field(repr=False)
    scores: pd.DataFrame = field(repr=False)
    labels: pd.DataFrame = field(repr=False)
    graders: dict[str, str]
    source: str
    problems: list[dict[str, Any]] = field(repr=False)
    command: str = field(repr=False)

    def report(self, title: str = "Does a breach mean a failure?") -> Report:
        """Return the report; ``.save("calibration.html")``, ``.md`` or ``.json``."""
        from harnesskit.reports.calibration import calibration_report

        facts = {"labels": self.source, "labels refused": len(self.problems), "graders": self.graders}
        return calibration_report(
            self.table, self.sweep, agreement=self.agreement, scores=self.sessions, title=title,
            reproduce=self.command, metadata=facts,
        )  # fmt: skip


class CalibrationVerbs(StoredRuns):
    """What the labels of a workspace say of its thresholds."""

    def calibrate(
        self,
        labels: pd.DataFrame | Mapping[Any, Any] | str | Path | None = None,
        *,
        metric: str | Iterable[str] | None = None,
        grader: str | None = None,
        target_precision: float = 0.9,
        cost_missed: float | None = None,
        cost_false_alarm: float | None = None,
        thresholds: Iterable[float] | None = None,
        reduce: Reduce = "mean",
        policy: str = "default",
    ) -> CalibrationResult:
        """Hold the breaches of online and captured sessions against labels; a session's online scores come first.

        Parameters
        ----------
        labels
            The workspace's own when None; a file (`hk.read_labels`); ``cases``: the session of a failure failed, that
            of a win did not; or a frame or mapping.
        metric
            Only this metric or these.
        grader
            Whose scores; for each metric the one with the most scores when None (`CalibrationResult.graders`).
        target_precision, cost_missed, cost_false_alarm, thresholds, reduce
            See `hk.calibrate`.
        policy
            ``reference`` reads what the reference's calibrate command reads: captured scores, and over them the last
            value of each series of the score history.

        Raises
        ------
        WorkspaceError
            There are no labels, or no scores of online or captured sessions.
        """
        from harnesskit.measures.calibration import calibrate
        from harnesskit.measures.labelled_scores import labelled_scores
        from harnesskit.measures.metric_agreement import metric_agreement
        from harnesskit.measures.threshold_sweep import sweep_thresholds

        scores, graders = self._session_rows(metric, grader, policy)
        said, source, problems = self._said(labels)
        how: dict[str, Any] = {"metrics": self.metrics, "reduce": reduce, "policy": policy}
        costs: dict[str, Any] = {"cost_missed": cost_missed, "cost_false_alarm": cost_false_alarm}
        grid = None if thresholds is None else tuple(thresholds)
        table = calibrate(scores, said, target_precision=target_precision, thresholds=grid, **costs, **how)
        sweep = sweep_thresholds(scores, said, thresholds=grid, **how)
        command = ["harnesskit", "calibrate", "--root", str(self.given or self.root)]
        command += ["--target-precision", f"{target_precision:g}", "--policy", policy]
        command += ["--labels", str(labels)] if isinstance(labels, str | Path) else []
        sessions = labelled_scores(scores, said, **how)
        return CalibrationResult(
            table, sweep, metric_agreement(scores, **how), sessions, scores, said, graders, source, problems,
            shlex.join(command),
        )  # fmt: skip

    def _session_rows(
        self, metric: str | Iterable[str] | None, grader: str | None, policy: str
    ) -> tuple[pd.DataFrame, dict[str, str]]:
        """Return the scores of sessions, captured ones first, of one grader per metric."""
        import pandas as pd

        names = metric if metric is None or isinstance(metric, str) else list(metric)
        rows = self.scores(metric=names)
        rows = rows[rows["role"].isin(["online", "captured"])]
        if policy == "reference":
            rows = rows[rows["run_id"].isin(_REFERENCE_RUNS) & (rows["status"] == "ok")]
        if grader is not None:
            rows = rows[rows["grader"] == grader]
        if rows.empty:
            whose = f" by grader {grader!r}" if grader is not None else ""
            raise WorkspaceError(f"there is no score{whose} of an online or captured session to calibrate.")
        most = rows.groupby("metric")["grader"].agg(lambda column: column.value_counts().index[0])
        graders = {str(name): str(one) for name, one in most.items()}
        rows = rows[rows["grader"] == rows["metric"].map(most)]
        captured, online = rows[rows["role"] == "captured"], rows[rows["role"] == "online"]
        if policy != "reference":
            keys = ["session_id", "metric"]
            known = pd.MultiIndex.from_frame(online.loc[online["value"].notna(), keys].astype(str))
            captured = captured[~pd.MultiIndex.from_frame(captured[keys].astype(str)).isin(known)]
            return pd.concat([captured, online], ignore_index=True), graders
        captured = captured.sort_values(["occurred_at", "case_id"], kind="stable", na_position="first")
        return pd.concat([captured, online], ignore_index=True), graders

    def _said(self, labels: Any) -> tuple[pd.DataFrame, str, list[dict[str, Any]]]:
        """Return the labels, where they are from, and what was refused."""
        import pandas as pd

        if labels is None:
            found = self.table("labels")
            if found.empty:
                raise WorkspaceError(
                    "this workspace has no labels (harnesskit/labels.jsonl): give a file with session_id and failed, "
                    "or 'cases' to take a failure as failed and a win as good."
                )
            return found, "labels of the workspace", []
        if isinstance(labels, str) and labels == CASES:
            cases = self.table("cases").dropna(subset=["session_id"])
            cases = cases[cases["session_id"] != ""]
            if cases.empty:
                raise WorkspaceError("no case of this workspace names its session, so cases give no labels.")
            columns = {"session_id": cases["session_id"], "rater": cases["case_id"], "at": cases["created_at"]}
            return pd.DataFrame(columns | {"failed": cases["kind"] == "failure"}), "kinds of the cases", []
        if isinstance(labels, str | Path):
            from harnesskit.importers.label_files import read_labels

            found = read_labels(labels)
            return found, Path(labels).name, list(found.attrs["problems"])
        from harnesskit.measures.session_scores import label_frame

        given = label_frame(labels)
        if given is None or given.empty:
            raise WorkspaceError("the labels that were given are empty: there is nothing to calibrate against.")
        return given, "given", []
