"""How often metrics agree that a session is in breach."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from harnesskit.measures.session_scores import Reduce, session_scores
from harnesskit.measures.threshold_sweep import check_policy, oriented
from harnesskit.model.calibration import METRIC_AGREEMENT
from harnesskit.model.metrics import Metric, Metrics
from harnesskit.stats.intervals import clopper_pearson


def metric_agreement(
    scores: pd.DataFrame,
    *,
    metrics: Iterable[Metric] | None = None,
    reduce: Reduce = "mean",
    policy: str = "default",
) -> pd.DataFrame:
    """Return how often two metrics give one verdict on a session: one row per pair, then one on all together.

    Only sessions that have a score of both (of all) are compared, and their share of all sessions is given: where a
    metric exists only for sessions that another one fired on, agreement is that of those sessions.

    Parameters
    ----------
    scores, metrics, reduce, policy
        See `hk.sweep_thresholds`; metrics without a threshold or a direction are left out.

    Raises
    ------
    FrameError
        A column is missing, a value is no number, or several graders scored one metric.

    Examples
    --------
    >>> scores = pd.DataFrame({"session_id": ["a", "b"] * 2, "metric": ["coherence"] * 2 + ["plan_quality"] * 2})
    >>> metric_agreement(scores.assign(value=[0.2, 0.9, 0.3, 0.1]))["agree"].tolist()
    [0.5, 0.5]
    """
    check_policy(policy, "metric_agreement()")
    known = Metrics.of(metrics)
    how: Reduce = "last" if policy == "reference" else reduce
    breach: dict[str, pd.Series[Any]] = {}
    everybody: set[Any] = set()
    for one in session_scores(scores, None, metrics=known, reduce=how, by="metric_agreement()"):
        everybody.update(one.session.tolist())
        if one.metric.threshold is None or one.metric.higher_is_better is None:
            continue
        value, bar = oriented(one, np.array([one.metric.threshold]), policy)
        breach[one.metric.name] = pd.Series((value < bar[0])[one.scored], index=one.session[one.scored])
    groups = [*combinations(breach, 2), *([tuple(breach)] if len(breach) > 1 else [])]
    rows = [_row(names, breach, len(everybody)) for names in groups]
    if rows:
        rows[-1] |= {"metric_a": None, "metric_b": None}
    return METRIC_AGREEMENT.order(pd.DataFrame(rows, columns=list(METRIC_AGREEMENT.columns)))


def _row(names: tuple[str, ...], breach: dict[str, pd.Series[Any]], sessions: int) -> dict[str, Any]:
    table = pd.concat([breach[name] for name in names], axis=1, join="inner").to_numpy(dtype=bool)
    n = len(table)
    same = int((table == table[:, :1]).all(axis=1).sum()) if n else 0
    low, high = clopper_pearson(same, n) if n else (np.nan, np.nan)
    agree = same / n if n else np.nan
    return {
        "metric_a": names[0], "metric_b": names[1], "n": n, "share_scored": n / sessions if sessions else np.nan,
        "agree": agree, "low": low, "high": high,
    }  # fmt: skip
