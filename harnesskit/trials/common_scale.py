"""The common scale of an adaptive run: every metric that a verdict is possible on, 0 to 1 wide, higher better."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from harnesskit.measures.failed_runs import yes_or_no
from harnesskit.model.metrics import Metrics


class Scale(NamedTuple):
    """How a metric is brought to the common scale, higher better: sign * value / unit."""

    metric: str
    sign: float
    unit: float
    low: float
    high: float
    binary: bool

    def common(self, value: float) -> float | None:
        """Return the value on the common scale, None when it cannot be a value of the metric."""
        slack = 1e-9 * self.unit
        return self.sign * value / self.unit if self.low - slack <= value <= self.high + slack else None

    @property
    def worst(self) -> float:
        """The worse end of a yes-or-no metric on the common scale."""
        return 0.0 if self.sign > 0 else -1.0

    def failed(self, common: float) -> bool:
        """Whether a value on the common scale is a failure of a yes-or-no metric."""
        return common < (0.5 if self.sign > 0 else -0.5)


def common_values(values: Mapping[str, float], scales: Sequence[Scale]) -> tuple[float | None, ...]:
    """Return the scores of a run on the common scale, None where there is none or it cannot be one."""
    return tuple(one.common(values[one.metric]) if one.metric in values else None for one in scales)


def fit_scales(bank: Sequence[Mapping[str, float]], metrics: Metrics) -> tuple[Scale, ...]:
    """Return the metrics of the bank that a verdict is possible on."""
    seen: dict[str, list[float]] = {}
    for values in bank:
        for name, value in values.items():
            seen.setdefault(name, []).append(value)
    found = []
    for name in sorted(seen):
        metric = metrics[name]
        if not metric.decidable or not (metric.declared or all(metric.holds(v) for v in seen[name])):
            continue
        low = -np.inf if metric.low is None else metric.low
        high = np.inf if metric.high is None else metric.high
        sign, unit = (1.0 if metric.higher_is_better else -1.0), float(metric.unit or 1.0)
        found.append(Scale(name, sign, unit, low, high, yes_or_no(metric, seen[name])))
    return tuple(found)
