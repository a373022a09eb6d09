"""The mean label of all units from a few labels and many judgments: the judge sharpens it and cannot bias it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from harnesskit.measures.pass_bars import PassAt, PassBar, pass_bars
from harnesskit.model.errors import FrameError, listed
from harnesskit.model.frames import LABELS
from harnesskit.model.grader_trust import CORRECTED
from harnesskit.model.metrics import Metric, Metrics
from harnesskit.model.views import CASE_SCORES
from harnesskit.stats.paired import welch
from harnesskit.stats.ppi import FEWEST, PoweredMean, powered_mean

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_ALPHA = 0.01
RANDOM = "holds if the labelled units are a random part of all"
UNLIKE = (
    "the judge sees the labelled units differently from the others ({labelled:.2f} against {others:.2f}): "
    "they are hardly a random part, and the estimate does not hold for all"
)
FEW = f"fewer than {FEWEST} labels: the labels alone count"
TOO_FEW = "fewer than two units have a label and a judgment"
NO_BAR = "no threshold says when the judge calls a unit failed: give pass_at"


def ppi_mean(
    scores: pd.DataFrame,
    labels: pd.DataFrame,
    *,
    unit: str = "session_id",
    value: str = "failed",
    metrics: Iterable[Metric] | None = None,
    pass_at: PassAt = None,
    confidence: float = 0.95,
) -> pd.DataFrame:
    """Estimate the mean label over all judged units: one row per metric (prediction-powered inference, PPI++).

    Scores of a unit are averaged over its traces, labels over its raters. For the label ``failed`` the judge counts as
    1 where its score is on the bad side of the bar, so the mean is a failure rate; any other label is taken to be on
    the scale of the metric. Labels that name a metric are used for it, the others for every metric.

    Parameters
    ----------
    scores
        Rows of case_scores or online_samples; reads `unit`, ``metric, value``.
    labels
        Labels of a random part of the units; reads `unit`, `value`, ``metric`` when there.
    unit, value
        Names of the columns.
    metrics, pass_at
        What passes, as for `harnesskit.case_flips`.

    Returns
    -------
    DataFrame
        By the contract ``corrected means``, sorted by metric.

    Raises
    ------
    FrameError
        A column is missing, or a score or label is text.

    Examples
    --------
    >>> sessions = [f"s-{i}" for i in range(400)]
    >>> bad = np.arange(400) % 5 == 0
    >>> judged = pd.DataFrame({"session_id": sessions, "metric": "q", "value": np.where(bad, 0.2, 0.9)})
    >>> labels = pd.DataFrame({"session_id": sessions[:60], "failed": bad[:60]})
    >>> row = ppi_mean(judged, labels, pass_at=0.5).iloc[0]
    >>> round(float(row["mean"]), 2), int(row["n_labelled"]), int(row["n_judged"])
    (0.2, 60, 400)

    References
    ----------
    Angelopoulos et al. (2023), Science 382; Angelopoulos, Duchi & Zrnic (2023), arXiv 2311.01453.
    """
    CASE_SCORES.require(scores, unit, "metric", "value", by="ppi_mean()", what="as the scores")
    LABELS.require(labels, unit, value, by="ppi_mean()", what="as the labels")
    known = Metrics.of(metrics)
    judged = _unit_means(scores, unit, "value", ["metric"])
    values = {str(name): group.to_numpy(dtype=float) for name, group in judged.groupby("metric")}
    failing = value == "failed"
    bars = pass_bars(values, values, known, pass_at if failing else None, by="ppi_mean()")
    rows = []
    for metric in sorted(values):
        one = judged.xs(metric, level="metric")
        said = _unit_means(_about(labels, metric), unit, value, [])
        rows.append(
            {"metric": metric, "label": value, **_row(one, said, bars[metric] if failing else None, confidence)}
        )
    frame = pd.DataFrame(rows, columns=list(CORRECTED.columns))
    return frame.astype({"n_labelled": "Int64", "n_judged": "Int64"})


def _about(labels: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Return the labels of a metric: those that name it, else those on the whole unit."""
    if "metric" not in labels:
        return labels
    own = labels[labels["metric"] == metric]
    return own if len(own) else labels[labels["metric"].isna()]


def _unit_means(rows: pd.DataFrame, unit: str, column: str, by: list[str]) -> pd.Series[Any]:
    number = pd.to_numeric(rows[column].astype(object), errors="coerce").astype(float)
    odd = number.isna() & rows[column].notna()
    if odd.any():
        some = listed(sorted({repr(one) for one in rows.loc[odd, column]}))
        raise FrameError(f"ppi_mean() needs numbers, or true and false, in column {column!r}; found {some}.")
    usable = rows.assign(number=number)[np.isfinite(number) & rows[unit].notna()]
    return usable.astype(dict.fromkeys([unit, *by], str)).groupby([*by, unit])["number"].mean()


def _row(judged: pd.Series[Any], said: pd.Series[Any], bar: PassBar | None, confidence: float) -> dict[str, Any]:
    row: dict[str, Any] = {"n_judged": len(judged), "pass_at": np.nan if bar is None else bar.score}
    if bar is not None:
        if np.isnan(bar.score):
            return {**row, "n_labelled": 0, "warning": NO_BAR}
        good = judged <= bar.score + 1e-9 if bar.higher_is_better is False else judged >= bar.score - 1e-9
        judged = 1.0 - good.astype(float)
    both = judged.index.intersection(said.index)
    f, y = judged[both].to_numpy(dtype=float), said[both].to_numpy(dtype=float)
    others = judged[~judged.index.isin(both)].to_numpy(dtype=float)
    row |= {"n_labelled": len(y), "judge_only": float(judged.mean()) if len(judged) else np.nan}
    if len(y) < 2:
        return {**row, "warning": TOO_FEW}
    found = powered_mean(y, f, others, confidence=confidence)
    alone = powered_mean(y, f, [], weight=0.0, confidence=confidence)
    return {
        **row, "mean": found.mean, "low": found.low, "high": found.high, "weight": found.weight,
        "labels_only": found.classical, "labels_low": alone.low, "labels_high": alone.high,
        "judge_on_labelled": float(f.mean()), "warning": _doubts(y, f, others, found),
    }  # fmt: skip


def _doubts(y: Floats, f: Floats, others: Floats, found: PoweredMean) -> str:
    doubts = [RANDOM]
    if len(others) > 1 and np.ptp(np.concatenate([f, others])) > 0 and welch(f, others).p < _ALPHA:
        doubts = [UNLIKE.format(labelled=f.mean(), others=others.mean())]
    if len(y) < FEWEST:
        doubts.append(FEW)
    return "; ".join(doubts)
