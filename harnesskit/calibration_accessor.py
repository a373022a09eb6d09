"""``frame.hk``: the verbs of calibration, as one-line delegates; see `harnesskit.accessor`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import pandas as pd

from harnesskit.model.metrics import Metric

if TYPE_CHECKING:
    from harnesskit.measures.session_scores import Reduce


class CalibrationVerbs:
    """Verbs on a frame of scores."""

    _frame: pd.DataFrame

    def calibrate(
        self,
        labels: pd.DataFrame | Mapping[Any, Any] | None = None,
        *,
        target_precision: float = 0.9,
        delta: float = 0.1,
        cost_missed: float | None = None,
        cost_false_alarm: float | None = None,
        thresholds: Iterable[float] | None = None,
        metrics: Iterable[Metric] | None = None,
        reduce: Reduce = "mean",
        policy: str = "default",
        draws: int = 200,
        seed: int = 0,
    ) -> pd.DataFrame:
        """See `harnesskit.calibrate`."""
        from harnesskit.measures.calibration import calibrate

        return calibrate(
            self._frame, labels, target_precision=target_precision, delta=delta, cost_missed=cost_missed,
            cost_false_alarm=cost_false_alarm, thresholds=thresholds, metrics=metrics, reduce=reduce, policy=policy,
            draws=draws, seed=seed,
        )  # fmt: skip

    def sweep_thresholds(
        self,
        labels: pd.DataFrame | Mapping[Any, Any] | None = None,
        *,
        thresholds: Iterable[float] | None = None,
        metrics: Iterable[Metric] | None = None,
        reduce: Reduce = "mean",
        policy: str = "default",
    ) -> pd.DataFrame:
        """See `harnesskit.sweep_thresholds`."""
        from harnesskit.measures.threshold_sweep import sweep_thresholds

        return sweep_thresholds(
            self._frame, labels, thresholds=thresholds, metrics=metrics, reduce=reduce, policy=policy
        )

    def metric_agreement(
        self, *, metrics: Iterable[Metric] | None = None, reduce: Reduce = "mean", policy: str = "default"
    ) -> pd.DataFrame:
        """See `harnesskit.metric_agreement`."""
        from harnesskit.measures.metric_agreement import metric_agreement

        return metric_agreement(self._frame, metrics=metrics, reduce=reduce, policy=policy)

    def replay_gate(
        self,
        labels: pd.DataFrame | Mapping[Any, Any] | None = None,
        *,
        window: int | Iterable[int] = 5,
        target: float | Iterable[float] = 0.5,
        gain: float | Iterable[float] = 0.02,
        drop: float | Iterable[float] = 0.15,
    ) -> pd.DataFrame:
        """See `harnesskit.replay_gate`."""
        from harnesskit.measures.gate_replay import replay_gate

        return replay_gate(self._frame, labels, window=window, target=target, gain=gain, drop=drop)

    def labelled_scores(
        self,
        labels: pd.DataFrame | Mapping[Any, Any] | None = None,
        *,
        metrics: Iterable[Metric] | None = None,
        reduce: Reduce = "mean",
        policy: str = "default",
    ) -> pd.DataFrame:
        """See `harnesskit.labelled_scores`."""
        from harnesskit.measures.labelled_scores import labelled_scores

        return labelled_scores(self._frame, labels, metrics=metrics, reduce=reduce, policy=policy)
