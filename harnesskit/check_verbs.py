"""The verb of a check in shadow: what a grader with a bar would have stopped, held against the labels there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harnesskit.model.errors import PolicyError, WorkspaceError, listed
from harnesskit.model.promotion_policy import PromotionPolicy
from harnesskit.store.database import script
from harnesskit.stored_runs import StoredRuns

if TYPE_CHECKING:
    import pandas as pd

    from harnesskit.promotion import PromotionResult


class CheckVerbs(StoredRuns):
    """What is known of checks: graders with a bar that watch online samples."""

    def check(
        self,
        metric: str,
        *,
        bar: float | None = None,
        grader: str | None = None,
        policy: str | PromotionPolicy = "budgeted",
        cost_false_stop: float | None = None,
    ) -> PromotionResult:
        """Return whether a check may start to stop sessions: its alarms on online samples, held against the labels.

        Parameters
        ----------
        metric
            Metric that is watched.
        bar
            Score on whose bad side a session is stopped; the threshold of the metric when None.
        grader
            Whose scores; needed where several graders scored the metric.
        policy
            ``budgeted`` for one look, ``open_ended`` to look with every label; `min_precision`, `min_recall` and
            `max_alarm_rate` are its bars.
        cost_false_stop
            What stopping a good session costs, in any unit.

        Raises
        ------
        WorkspaceError
            No online sample has a score of this metric, or several graders scored it.
        PolicyError
            There is no bar, or the policy does not fit.
        """
        from harnesskit.decisions.check_promotion import decide_check
        from harnesskit.measures.check_evidence import check_evidence
        from harnesskit.promotion import PromotionResult, looks_of

        rules, known = PromotionPolicy.parse(policy), self.metrics[metric]
        line = known.threshold if bar is None else bar
        if line is None:
            raise PolicyError(f"metric {metric!r} has no threshold; give bar=, the score below which to stop.")
        rows = self._seen(metric, grader)
        name = grader or metric
        evidence = check_evidence(
            rows, self.table("labels"), policy=rules, metric=metric, bar=line,
            higher_is_better=known.higher_is_better is not False, cost_false_stop=cost_false_stop,
        )  # fmt: skip
        check = {"metric": metric, "grader": grader, "bar": line, "higher_is_better": known.higher_is_better}
        return PromotionResult(
            name, "check", decide_check(evidence, policy=rules, subject=name), evidence,
            frozen={"check": check, "policy": rules.plain()}, looks=looks_of(self.root, name),
            root=self.given or str(self.root), candidate=rows,
        )  # fmt: skip

    def _seen(self, metric: str, grader: str | None) -> pd.DataFrame:
        rows = self.sql(script("queries/shadow_scores.sql"), metric=metric, grader=grader)
        if rows.empty:
            whose = f" by {grader!r}" if grader else ""
            raise WorkspaceError(f"No online sample under {self.root} has a score of {metric!r}{whose}.")
        graders = sorted({str(one) for one in rows["grader"].dropna()})
        if len(graders) > 1:
            raise WorkspaceError(f"{metric!r} was scored by several graders ({listed(graders)}); name one as grader=.")
        return rows
