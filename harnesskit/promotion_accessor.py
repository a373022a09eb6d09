"""``frame.hk``: the verbs about guards that take two frames of scores, as one-line delegates; no state, no logic."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from harnesskit.model.metrics import Metric
from harnesskit.model.promotion_policy import PromotionPolicy

if TYPE_CHECKING:
    import pandas as pd


class PromotionVerbs:
    """The verbs about the evidence of a guard; the frame is that of the control runs."""

    _frame: pd.DataFrame

    def promotion_evidence(
        self,
        candidate: pd.DataFrame,
        *,
        target_metric: str,
        policy: str | PromotionPolicy = "budgeted",
        metrics: Iterable[Metric] | None = None,
        failures: Sequence[str] | None = None,
        wins: Sequence[str] | None = None,
        n_wins: int | None = None,
        guard_metrics: Sequence[str] | None = None,
        prior_sd: float | None = None,
    ) -> pd.DataFrame:
        """See `harnesskit.promotion_evidence`."""
        from harnesskit.measures.promotion import promotion_evidence

        return promotion_evidence(
            self._frame, candidate, target_metric=target_metric, policy=policy, metrics=metrics, failures=failures,
            wins=wins, n_wins=n_wins, guard_metrics=guard_metrics, prior_sd=prior_sd,
        )  # fmt: skip

    def evidence_path(
        self,
        candidate: pd.DataFrame,
        *,
        target_metric: str,
        policy: str | PromotionPolicy = "budgeted",
        metrics: Iterable[Metric] | None = None,
        failures: Sequence[str] | None = None,
        wins: Sequence[str] | None = None,
        n_wins: int | None = None,
        guard_metrics: Sequence[str] | None = None,
        prior_sd: float | None = None,
    ) -> pd.DataFrame:
        """See `harnesskit.evidence_path`."""
        from harnesskit.measures.promotion_path import evidence_path

        return evidence_path(
            self._frame, candidate, target_metric=target_metric, policy=policy, metrics=metrics, failures=failures,
            wins=wins, n_wins=n_wins, guard_metrics=guard_metrics, prior_sd=prior_sd,
        )  # fmt: skip

    def guard_wins(
        self,
        candidate: pd.DataFrame,
        *,
        target_metric: str,
        policy: str | PromotionPolicy = "budgeted",
        metrics: Iterable[Metric] | None = None,
        failures: Sequence[str] | None = None,
        wins: Sequence[str] | None = None,
        n_wins: int | None = None,
        guard_metrics: Sequence[str] | None = None,
        prior_sd: float | None = None,
    ) -> pd.DataFrame:
        """See `harnesskit.guard_wins`."""
        from harnesskit.measures.guard_wins import guard_wins

        return guard_wins(
            self._frame, candidate, target_metric=target_metric, policy=policy, metrics=metrics, failures=failures,
            wins=wins, n_wins=n_wins, guard_metrics=guard_metrics, prior_sd=prior_sd,
        )  # fmt: skip

    def replay_pairs(
        self,
        candidate: pd.DataFrame,
        *,
        target_metric: str,
        metrics: Iterable[Metric] | None = None,
        samples: pd.DataFrame | None = None,
    ) -> pd.DataFrame:
        """See `harnesskit.replay_pairs`."""
        from harnesskit.measures.pairs import replay_pairs

        return replay_pairs(self._frame, candidate, target_metric=target_metric, metrics=metrics, samples=samples)
