"""``frame.hk``: the verbs on how far graders can be trusted, as one-line delegates; see `harnesskit.accessor`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import pandas as pd

from harnesskit.model.metrics import Metric

if TYPE_CHECKING:
    from harnesskit.measures.agreement import Level


class TrustVerbs:
    """Verbs on a frame of scores, of grades, or of labels."""

    _frame: pd.DataFrame

    def agreement(
        self,
        *,
        unit: str = "session_id",
        rater: str = "rater",
        value: str = "value",
        cluster: str | None = None,
        level: Level = "nominal",
        draws: int = 2000,
        seed: int = 0,
    ) -> pd.DataFrame:
        """See `harnesskit.agreement`."""
        from harnesskit.measures.agreement import agreement

        return agreement(
            self._frame, unit=unit, rater=rater, value=value, cluster=cluster, level=level, draws=draws, seed=seed
        )

    def label_confusion(self, *, unit: str = "session_id", rater: str = "rater", value: str = "value") -> pd.DataFrame:
        """See `harnesskit.label_confusion`."""
        from harnesskit.measures.agreement import label_confusion

        return label_confusion(self._frame, unit=unit, rater=rater, value=value)

    def grader_retest(
        self, *, metrics: Iterable[Metric] | None = None, pass_at: float | Mapping[str, float] | None = None
    ) -> pd.DataFrame:
        """See `harnesskit.grader_retest`."""
        from harnesskit.measures.grader_retest import grader_retest

        return grader_retest(self._frame, metrics=metrics, pass_at=pass_at)

    def ppi_mean(
        self,
        labels: pd.DataFrame,
        *,
        unit: str = "session_id",
        value: str = "failed",
        metrics: Iterable[Metric] | None = None,
        pass_at: float | Mapping[str, float] | None = None,
        confidence: float = 0.95,
    ) -> pd.DataFrame:
        """See `harnesskit.ppi_mean`."""
        from harnesskit.measures.ppi_mean import ppi_mean

        return ppi_mean(
            self._frame, labels, unit=unit, value=value, metrics=metrics, pass_at=pass_at, confidence=confidence
        )

    def judge_votes(self) -> pd.DataFrame:
        """See `harnesskit.judge_votes`."""
        from harnesskit.measures.judge_votes import judge_votes

        return judge_votes(self._frame)

    def judge_ledger(self) -> pd.DataFrame:
        """See `harnesskit.judge_ledger`."""
        from harnesskit.measures.judge_votes import judge_ledger

        return judge_ledger(self._frame)

    def position_bias(self) -> pd.DataFrame:
        """See `harnesskit.position_bias`."""
        from harnesskit.measures.position_bias import position_bias

        return position_bias(self._frame)
