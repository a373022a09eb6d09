"""The verb of a check in shadow: what a grader with a bar would have stopped, held against the labels there are."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from harnesskit.model.errors import PolicyError, WorkspaceError, listed
from harnesskit.model.promotion_policy import PromotionPolicy
from harnesskit.store.database import script
from harnesskit.stored_runs import StoredRuns

if TYPE_CHECKING:
    from collections.abc import Collection

    import pandas as pd

    from harnesskit.promotion import PromotionResult

BY = "@"
"""Between metric and grader in the name of a check."""


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
            Whose scores; needed where several graders scored the metric. The check is then named ``metric@grader``.
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
        return self._weigh_check(metric, bar, grader, policy, cost_false_stop)

    def check_of(
        self,
        metric: str,
        *,
        bar: float | None,
        grader: str | None,
        policy: PromotionPolicy,
        cost_false_stop: float | None,
        samples: Collection[str],
        labels: Collection[str],
    ) -> PromotionResult:
        """Return what `check` said when there were these samples and labels (see `label_keys`) and no others.

        Raises
        ------
        WorkspaceError
            One of them is not there any more.
        """
        return self._weigh_check(metric, bar, grader, policy, cost_false_stop, samples, labels)

    def _weigh_check(
        self,
        metric: str,
        bar: float | None,
        grader: str | None,
        policy: str | PromotionPolicy,
        cost_false_stop: float | None,
        samples: Collection[str] | None = None,
        wanted: Collection[str] | None = None,
    ) -> PromotionResult:
        from harnesskit.decisions.check_promotion import decide_check
        from harnesskit.measures.check_evidence import check_evidence
        from harnesskit.promotion import PromotionResult, looks_of
        from harnesskit.regression_evidence import only_samples

        rules, known = PromotionPolicy.parse(policy), self.metrics[metric]
        line = known.threshold if bar is None else bar
        if line is None:
            raise PolicyError(f"metric {metric!r} has no threshold; give bar=, the score below which to stop.")
        rows = only_samples(self._seen(metric, grader), samples, f"the online samples of {metric!r}")
        labels = _only_labels(_about(self.table("labels"), metric), wanted)
        name = metric if grader is None else f"{metric}{BY}{grader}"
        evidence = check_evidence(
            rows, labels, policy=rules, metric=metric, bar=line,
            higher_is_better=known.higher_is_better is not False, cost_false_stop=cost_false_stop,
        )  # fmt: skip
        check = {
            "metric": metric, "grader": grader, "bar": line, "higher_is_better": known.higher_is_better,
            "cost_false_stop": cost_false_stop, "labels": label_keys(labels),
        }  # fmt: skip
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
            raise WorkspaceError(
                f"{metric!r} was scored by several graders ({listed(graders)}); name one as grader=, or the check as "
                f"{metric + BY + graders[0]!r}."
            )
        return rows


def label_keys(labels: pd.DataFrame) -> list[str]:
    """Return a name for each label, sorted: a digest of its session, rater, time, metric and what it says."""
    return sorted(_keys(labels))


def _keys(labels: pd.DataFrame) -> list[str]:
    columns = [labels[name] for name in ("session_id", "rater", "at", "metric", "failed")]
    texts = ["\x1f".join(map(str, row)) for row in zip(*columns, strict=True)]
    return [hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:16] for text in texts]


def _about(labels: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Return the labels of a metric and of whole sessions."""
    return labels[labels["metric"].isna() | (labels["metric"] == metric)]


def _only_labels(labels: pd.DataFrame, wanted: Collection[str] | None) -> pd.DataFrame:
    """Return the labels that are named; all of them when None."""
    if wanted is None:
        return labels
    keys, named = _keys(labels), set(wanted)
    gone = named - set(keys)
    if gone:
        raise WorkspaceError(f"{len(gone)} of the {len(named)} labels that the report rests on are not there.")
    return labels[[key in named for key in keys]]
