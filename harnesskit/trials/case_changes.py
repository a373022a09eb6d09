"""What changed in one case between its baseline and its replay, judged by a bare margin as the reference does."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from typing import Literal

from harnesskit.model.config import HarnessConfig

Change = Literal["regressed", "improved", "unchanged"]


def metric_order(config: HarnessConfig, metrics: Iterable[str]) -> list[str]:
    """Return `metrics` in the order that the reference looks at them: tier by tier, then the others by name.

    Examples
    --------
    >>> metric_order(HarnessConfig(), ["argument_correctness", "outcome_correct", "coherence", "task_completion"])
    ['task_completion', 'coherence', 'argument_correctness', 'outcome_correct']
    """
    tiers = [*config.trace_metrics_tier1, *config.trace_metrics_tier2, *config.trace_metrics_tier3]
    there = set(metrics)
    known = [metric for metric in dict.fromkeys(tiers) if metric in there]
    return [*known, *sorted(there - set(known))]


def score_deltas(
    baseline: Mapping[str, float], replayed: Mapping[str, float], config: HarnessConfig
) -> dict[str, float]:
    """Return replay minus baseline of every metric that has a finite score on both sides, in the reference's order.

    Examples
    --------
    >>> score_deltas({"q": 0.5, "r": 1.0}, {"q": 0.75, "s": 0.1}, HarnessConfig())
    {'q': 0.25}
    """
    shared = [
        metric
        for metric in baseline
        if metric in replayed and math.isfinite(baseline[metric]) and math.isfinite(replayed[metric])
    ]
    return {metric: replayed[metric] - baseline[metric] for metric in metric_order(config, shared)}


def gain(metric: str, delta: float, lower_is_better: Collection[str]) -> float:
    """Return the change in the good direction: positive is better.

    Examples
    --------
    >>> gain("latency", -2.0, {"latency"}), gain("q", -0.1, {"latency"})
    (2.0, -0.1)
    """
    return -delta if metric in lower_is_better else delta


def case_change(deltas: Mapping[str, float], config: HarnessConfig, lower_is_better: Collection[str] = ()) -> Change:
    """Return the status of a case with at least one delta: any metric that fell by the margin makes it regressed.

    Raw floats are compared, as the reference compares them: a nominal .05 may come out as 0.04999999999999993 and is
    then less than the margin.

    Examples
    --------
    >>> case_change({"q": 0.2, "r": -0.05}, HarnessConfig()), case_change({"q": 0.75 - 0.70}, HarnessConfig())
    ('regressed', 'improved')
    >>> case_change({"q": 0.85 - 0.80}, HarnessConfig())  # 0.04999999999999993
    'unchanged'
    """
    gains = [gain(metric, delta, lower_is_better) for metric, delta in deltas.items()]
    if any(change <= -config.rule_regress_margin for change in gains):
        return "regressed"
    return "improved" if any(change >= config.rule_promote_margin for change in gains) else "unchanged"
