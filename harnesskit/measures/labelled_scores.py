"""One score per session and metric beside its label: what the thresholds are held against."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from harnesskit.measures.session_scores import Reduce, session_scores
from harnesskit.measures.threshold_sweep import check_policy
from harnesskit.model.calibration import LABELLED_SCORES
from harnesskit.model.metrics import Metric, Metrics


def labelled_scores(
    scores: pd.DataFrame,
    labels: pd.DataFrame | Mapping[Any, Any] | None = None,
    *,
    metrics: Iterable[Metric] | None = None,
    reduce: Reduce = "mean",
    policy: str = "default",
) -> pd.DataFrame:
    """Return the score and the label that calibration uses: one row per session and metric.

    Parameters
    ----------
    scores, labels, metrics, reduce, policy
        See `hk.sweep_thresholds`.

    Raises
    ------
    FrameError
        A column is missing, a value is no number, or several graders scored one metric.

    Examples
    --------
    >>> scores = pd.DataFrame({"session_id": list("aab"), "metric": "coherence", "value": [0.2, 0.4, 0.9]})
    >>> labelled_scores(scores, {"a": True})[["session_id", "value"]].round(9).values.tolist()
    [['a', 0.3], ['b', 0.9]]
    """
    check_policy(policy, "labelled_scores()")
    known = Metrics.of(metrics)
    how: Reduce = "last" if policy == "reference" else reduce
    parts: list[pd.DataFrame] = []
    for one in session_scores(scores, labels, metrics=known, reduce=how, by="labelled_scores()"):
        failed = pd.arrays.BooleanArray(one.failed > 0, np.isnan(one.failed))
        columns = {"session_id": one.session, "metric": one.metric.name, "value": one.value, "failed": failed}
        parts.append(pd.DataFrame(columns))
    empty = pd.DataFrame(columns=list(LABELLED_SCORES.columns))
    return LABELLED_SCORES.order(pd.concat(parts, ignore_index=True)) if parts else empty
