"""The verb of a study: how reliably each arm passes over repeats, and what that costs, from stored runs."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pandas as pd

from harnesskit.model.errors import WorkspaceError, listed
from harnesskit.store.database import script
from harnesskit.store.known import known_names
from harnesskit.tables import Tables

if TYPE_CHECKING:
    from harnesskit.measures.trial_passes import Unscored
    from harnesskit.reports.model import Report

_ROLES = ("control", "candidate", "replay")


@dataclass(frozen=True)
class StudyResult:
    """What a study found.

    Attributes
    ----------
    rates, differences, costs
        `harnesskit.pass_rates` by arm, `harnesskit.pass_differences` and `harnesskit.trial_costs`.
    scores, samples
        The trials behind them.
    runs
        The runs that took part.
    """

    rates: pd.DataFrame = field(repr=False)
    differences: pd.DataFrame = field(repr=False)
    costs: pd.DataFrame = field(repr=False)
    scores: pd.DataFrame = field(repr=False)
    samples: pd.DataFrame = field(repr=False)
    runs: tuple[str, ...]
    reproduce: str = ""

    def report(self, *, title: str = "How reliably does each arm pass?") -> Report:
        """Return the report of the study."""
        from harnesskit.reports.study import study_report

        return study_report(
            self.rates, self.differences, self.costs, title=title, runs=self.runs, reproduce=self.reproduce
        )


class StudyVerbs(Tables):
    """What stored runs say about reliability over repeats."""

    def study(
        self,
        runs: str | Sequence[str] | None = None,
        *,
        k: int | Iterable[int] = (1, 2, 3, 4),
        metric: str | Sequence[str] | None = None,
        by: str | Sequence[str] | None = None,
        baseline: str | None = None,
        pass_at: float | Mapping[str, float] | None = None,
        unscored: Unscored = "left_out",
    ) -> StudyResult:
        """Return pass@k and pass^k of each arm, paired differences between arms, cost and latency.

        Parameters
        ----------
        runs
            Run ids; None takes every control, candidate and replay run that was no trial of a rule and has an arm.
        k, baseline, pass_at, unscored
            As for `harnesskit.pass_differences`; `pass_at` None takes the declared thresholds.
        metric
            Only these metrics.
        by
            Further columns that make groups, e.g. ``"kind"``.

        Raises
        ------
        WorkspaceError
            No run has trials of cases.
        QueryError, PolicyError, FrameError
            A run or metric is not known, or an argument does not fit.
        """
        from harnesskit.measures.pass_differences import pass_differences
        from harnesskit.measures.pass_rates import pass_rates
        from harnesskit.measures.trial_costs import trial_costs

        chosen = self._study_runs(runs)
        scores = self.sql(script("queries/study_scores.sql"), runs=chosen)
        wanted = known_names(self._connection, "metric", metric)
        if wanted is not None:
            scores = scores[scores["metric"].isin(wanted) | scores["metric"].isna()]
        scores = scores.assign(arm=scores["arm"].where(scores["arm"].notna(), scores["role"]))
        samples = self.sql(script("queries/study_samples.sql"), runs=chosen)
        if scores.empty:
            raise WorkspaceError(f"study(): the runs {listed(chosen)} hold no trials of cases; import or replay some.")
        k = [k] if isinstance(k, int) else list(k)
        more = [by] if isinstance(by, str) else list(by or ())
        common: dict[str, Any] = {"k": k, "pass_at": pass_at, "metrics": self.metrics, "unscored": unscored}
        return StudyResult(
            pass_rates(scores, by=[*more, "arm"], **common),
            pass_differences(scores, baseline=baseline, by=more, **common),
            trial_costs(samples, baseline=baseline),
            scores,
            samples,
            tuple(chosen),
            self._study_line(runs, metric, by, k=k, baseline=baseline, pass_at=pass_at, unscored=unscored),
        )

    def _study_line(self, *named: str | Sequence[str] | None, **set_to: Any) -> str:
        """Return the command that makes this study again; a mapping of bars has no option and is left out."""
        words = ["harnesskit", "study", "--root", str(getattr(self, "given", self.root))]
        for option, given in zip(("--run", "--metric", "--by"), named, strict=True):
            for name in [given] if isinstance(given, str) else list(given or ()):
                words += [option, name]
        k = set_to["k"]
        words += ["--k", ",".join(str(one) for one in ([k] if isinstance(k, int) else k))]
        words += ["--baseline", set_to["baseline"]] if set_to["baseline"] is not None else []
        words += ["--pass-at", str(set_to["pass_at"])] if isinstance(set_to["pass_at"], int | float) else []
        words += ["--unscored-fail"] if set_to["unscored"] == "fail" else []
        return shlex.join(words)

    def _study_runs(self, runs: str | Sequence[str] | None) -> list[str]:
        if runs is not None:
            return known_names(self._connection, "run", runs) or []
        known = self.table("runs")
        held = self.sql("SELECT DISTINCT run_id FROM samples WHERE case_id IS NOT NULL AND arm IS NOT NULL")["run_id"]
        fit = known["role"].isin(_ROLES) & known["rule_id"].isna() & known["run_id"].isin(held)
        found = [str(run) for run in known.loc[fit, "run_id"]]
        if not found:
            raise WorkspaceError(
                f"study(): the workspace {self.root} has no control, candidate or replay run with trials of cases; "
                "import one (harnesskit load FILE --role control) or replay."
            )
        return found
