"""How often sessions breach the threshold with and without a rule: shown beside the evidence, deciding nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from harnesskit.measures.evidence_rows import UNKNOWN, row
from harnesskit.stats.intervals import clopper_pearson
from harnesskit.stats.paired import boschloo_less
from harnesskit.stats.proportions import newcombe

if TYPE_CHECKING:
    from harnesskit.measures.trial_evidence import Units
    from harnesskit.model.metrics import Metric


def breach_rows(units: Units, metric: Metric) -> list[dict[str, Any]]:
    """Return the breach rate with the rule, without it, and their difference (positive: fewer with the rule).

    Of scored units only: a unit without a score has not been seen to be healthy. Clopper-Pearson intervals of the
    rates, Newcombe's of the difference, Boschloo's one-sided p. No rows without a threshold.
    """
    if metric.threshold is None or metric.unit is None:
        return []
    sign = -1.0 if metric.higher_is_better is False else 1.0
    bar = sign * metric.threshold / float(metric.unit)
    breached = units.raw < bar - 1e-9
    rates, rows = [], []
    for with_rule, name in ((True, "breach_rate candidate"), (False, "breach_rate control")):
        here = units.scored & (units.treated == with_rule)
        k, n = int(np.sum(breached & here)), int(here.sum())
        rates.append((k, n))
        both = clopper_pearson(k, n) if n else None
        rows.append(
            row(
                name,
                UNKNOWN,
                f"{k} of {n} scored units below {metric.threshold:g}",
                metric=metric.name,
                scale="share",
                estimate=k / n if n else None,
                low=both.low if both else None,
                high=both.high if both else None,
                interval_kind="Clopper-Pearson" if both else None,
                n=n,
            )
        )
    (k1, n1), (k0, n0) = rates
    if n1 and n0:
        low, high = newcombe((k0, n0), (k1, n1))
        p = boschloo_less((k1, n1), (k0, n0))
        rows.append(
            row(
                "breach_rate",
                UNKNOWN,
                f"breaches: {k1} of {n1} with the rule, {k0} of {n0} without; Boschloo one-sided p = {p:.3g} at one "
                "look; decides nothing",
                metric=metric.name,
                scale="share",
                estimate=k0 / n0 - k1 / n1,
                low=low,
                high=high,
                interval_kind="Newcombe",
                n=n1 + n0,
                n_candidate=n1,
                n_control=n0,
            )
        )
    return rows
