"""Control runs and candidate runs of the same case side by side, with what went in and what came out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from harnesskit.measures.promotion_runs import CANDIDATE, CONTROL, Runs, promotion_runs
from harnesskit.model.errors import FrameError
from harnesskit.model.frames import SAMPLES
from harnesskit.model.metrics import Metric, Metrics
from harnesskit.model.promotion_results import PAIRS


def replay_pairs(
    control: pd.DataFrame,
    candidate: pd.DataFrame,
    *,
    target_metric: str,
    metrics: Iterable[Metric] | None = None,
    samples: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Put control and candidate runs of each case side by side: one row per pair, the worst first.

    The i-th scored run of one side meets the i-th of the other, in the order they were made, control runs from the
    bank first; runs beyond those of the other side meet its last one, so that every run is seen. Captured scores are
    no runs. Pairs serve for reading; the verdict rests on all runs of both sides.

    Parameters
    ----------
    control, candidate, target_metric, metrics
        As for `harnesskit.promotion_evidence`.
    samples
        Rows of the table samples, for what went in and came out; reads ``sample_id``, and ``input, output`` when there.

    Returns
    -------
    DataFrame
        By the contract ``replay pairs``; failures first, then wins, each by change. ``control`` and ``candidate`` are
        in the metric's own unit, ``delta`` is on the common scale.

    Raises
    ------
    FrameError
        A column is missing, or no run has the metric.

    Examples
    --------
    >>> before = pd.DataFrame({"case_id": ["f"] * 2, "kind": "failure", "metric": "q", "value": [0.3, 0.4]})
    >>> pairs = replay_pairs(before, before.assign(value=[0.9, 0.2]), target_metric="q")
    >>> pairs[["control", "candidate", "delta"]].round(2).values.tolist()
    [[0.3, 0.2, -0.1], [0.4, 0.9, 0.5]]
    """
    known = Metrics.of(metrics)
    runs = promotion_runs(control, candidate, known, by="replay_pairs()")
    if target_metric not in runs.scores:
        raise FrameError(
            f"replay_pairs() found no score of {target_metric!r}; the frames have "
            f"{', '.join(map(repr, runs.scores.columns[:5])) or 'no metric'}."
        )
    rows = [pair for case in sorted(set(runs.table["case_id"])) for pair in _of_case(runs, case, target_metric)]
    frame = pd.DataFrame(rows, columns=[*PAIRS.columns][:9])
    frame["metric"] = target_metric
    for side in ("control", "candidate"):
        frame[side] = _own_unit(frame[side].astype(float), known, target_metric, runs)
    frame = _with_texts(frame, samples)
    frame["read"] = frame["read"].map({1.0: True, 0.0: False}).astype("boolean")
    order = frame.assign(kind_=frame["kind"] == "win").sort_values(
        ["kind_", "delta", "case_id", "control_sample", "candidate_sample"], kind="stable"
    )
    return PAIRS.order(frame.loc[order.index, list(PAIRS.columns)])


def _of_case(runs: Runs, case: str, metric: str) -> list[dict[str, Any]]:
    table, score = runs.table, runs.score(metric)
    here = (table["case_id"] == case).to_numpy(dtype=bool) & ~runs.flag("captured") & np.isfinite(score)
    sides = [np.flatnonzero(here & (table["arm"] == arm).to_numpy(dtype=bool)) for arm in (CONTROL, CANDIDATE)]
    if not all(len(side) for side in sides):
        return []
    found = []
    for i in range(max(len(side) for side in sides)):
        before, after = (int(side[min(i, len(side) - 1)]) for side in sides)
        found.append(
            {
                "case_id": case, "kind": table["kind"].iloc[after], "metric": metric, "control": score[before],
                "candidate": score[after], "delta": score[after] - score[before], "read": table["read"].iloc[after],
                "control_sample": table["sample"].iloc[before], "candidate_sample": table["sample"].iloc[after],
            }
        )  # fmt: skip
    return found


def _own_unit(scores: pd.Series[Any], metrics: Metrics, name: str, runs: Runs) -> pd.Series[Any]:
    """Return scores on the common scale in the metric's own unit again."""
    metric, unit = metrics[name], runs.scale["unit"][name]
    if unit is None or pd.isna(unit):
        return scores
    sign, start = (1.0 if metric.higher_is_better else -1.0), 0.0
    if metric.low is not None and metric.high is not None:
        start = metric.low if metric.higher_is_better else metric.high
    return start + sign * float(unit) * scores


def _with_texts(frame: pd.DataFrame, samples: pd.DataFrame | None) -> pd.DataFrame:
    if samples is None:
        return frame.assign(control_output=None, candidate_output=None, input=None)
    SAMPLES.require(samples, "sample_id", by="replay_pairs()", what="as samples")
    known = samples.drop_duplicates("sample_id").set_index(samples["sample_id"].drop_duplicates().astype(str))

    def told(ids: pd.Series[Any], column: str) -> Any:
        if column not in known:
            return None
        found = ids.map(known[column]).astype(object)
        return found.where(found.notna(), None)

    return frame.assign(
        control_output=told(frame["control_sample"], "output"),
        candidate_output=told(frame["candidate_sample"], "output"),
        input=told(frame["candidate_sample"], "input"),
    )
