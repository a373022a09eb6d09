"""Live sessions become the units of a forward trial: traces per session, sessions per cluster and arm, averaged.

- A session without a usable score of a metric is unscored: it is counted, and it is neither healthy nor breached.
- A score with a status other than ok, not finite, or outside the declared range is unscored.
- Sessions without an arm took no part; they are counted.
- A cluster counts once per arm, at the time of its first session there, with the mean of its scored sessions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from harnesskit.model.errors import FrameError, listed
from harnesskit.model.sessions import SESSIONS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from harnesskit.model.metrics import Metric

    Floats = NDArray[np.float64]

TREATED = {"candidate": True, "treatment": True, "control": False}
PERIODS = {**TREATED, "after": True, "before": False}
_SCORED = ("ok", "scored", "")


@dataclass(frozen=True)
class Sessions:
    """Sessions in their order, one row each.

    Attributes
    ----------
    table
        ``session, cluster`` (codes), ``treated`` (missing: no arm), ``stratum``, in order of time.
    scores
        The mean score of each session on the common scale, a column per metric; missing where unscored.
    names
        Text of each session id, by code.
    by_time
        Whether the order is that of ``occurred_at``; else that of the rows.
    clusters
        Text of each cluster, by code.
    """

    table: pd.DataFrame
    scores: pd.DataFrame
    by_time: bool
    names: list[str]
    clusters: list[str]


def sessions_of(
    frame: pd.DataFrame,
    metrics: dict[str, Metric],
    *,
    arm: str | None,
    cluster: str,
    stratum: str | None,
    by: str,
    arms: dict[str, bool] = TREATED,
) -> Sessions:
    """Return the sessions of a frame in the long form (``metric, value``) or the wide one (a column per metric)."""
    long = "value" in frame if hasattr(frame, "columns") else True
    needed = ["session_id", *(["metric", "value"] if long else metrics), *([arm] if arm else [])]
    SESSIONS.require(frame, *needed, *([stratum] if stratum else []), by=by)
    rows = frame[frame["session_id"].notna()].reset_index(drop=True)
    code, names = pd.factorize(rows["session_id"].astype(str))
    n, first = len(names), np.unique(code, return_index=True)[1]
    order, by_time = _order(rows, code, n)
    groups, clusters = _clusters(rows, cluster, code, names)
    table = pd.DataFrame({"session": np.arange(n), "cluster": groups[first], "order": order})
    table["treated"] = _arms(rows, arm, code, names, arms, by) if arm else np.nan
    table["stratum"] = rows[stratum].astype(object).to_numpy()[first] if stratum else None
    values = pd.DataFrame({name: _means(rows, code, n, metric, long, by) for name, metric in metrics.items()})
    sequence = np.argsort(table["order"].to_numpy(), kind="stable")
    return Sessions(
        table.iloc[sequence].reset_index(drop=True),
        values.iloc[sequence].reset_index(drop=True),
        by_time,
        [str(name) for name in names],
        clusters,
    )


def _order(rows: pd.DataFrame, code: NDArray[np.int64], n: int) -> tuple[Floats, bool]:
    """Return the time of the first row of each session, or its first row where times are missing."""
    place = np.full(n, np.inf)
    np.minimum.at(place, code, np.arange(len(rows), dtype=float))
    if "occurred_at" not in rows or not len(rows):
        return place, False
    times = pd.to_datetime(rows["occurred_at"], utc=True, errors="coerce", format="mixed")
    if times.isna().any():
        return place, False
    begin = np.full(n, np.inf)
    np.minimum.at(begin, code, times.astype("datetime64[us, UTC]").astype("int64").to_numpy(dtype=float))
    return np.argsort(np.lexsort((place, begin))).astype(float), True


def _clusters(
    rows: pd.DataFrame, cluster: str, code: NDArray[np.int64], names: Any
) -> tuple[NDArray[np.int64], list[str]]:
    """Return the cluster of each row; a session without one is a cluster of its own."""
    given = rows[cluster] if cluster in rows else pd.Series(None, index=rows.index, dtype=object)
    own = given.isna().to_numpy(dtype=bool)
    labels = [f"s:{names[c]}" if alone else f"c:{v}" for c, alone, v in zip(code, own, given, strict=True)]
    groups, found = pd.factorize(np.array(labels, dtype=object))
    return np.asarray(groups, dtype=np.int64), [str(label)[2:] for label in found]


def _arms(rows: pd.DataFrame, arm: str, code: NDArray[np.int64], names: Any, arms: dict[str, bool], by: str) -> Floats:
    text = rows[arm].astype(object).where(rows[arm].notna(), "").astype(str).str.strip().str.lower()
    odd = sorted({repr(value) for value in text.unique() if value and value not in arms})
    if odd:
        raise FrameError(f"{by}: {arm} must be one of {', '.join(arms)}; found {listed(odd)}.")
    treated = text.map(arms).astype(float).to_numpy()
    low, high = (pd.Series(treated).groupby(code).agg(end).to_numpy(dtype=float) for end in ("min", "max"))
    mixed = np.flatnonzero(low < high)
    if len(mixed):
        some = listed([repr(str(names[one])) for one in mixed])
        raise FrameError(f"{by}: a session has one arm; found both in {some}.")
    return np.asarray(high, dtype=float)


def _means(rows: pd.DataFrame, code: NDArray[np.int64], n: int, metric: Metric, long: bool, by: str) -> Floats:
    """Return the mean of the usable scores of each session, on the common scale, higher better."""
    mine = (rows["metric"] == metric.name).fillna(False).to_numpy(dtype=bool) if long else np.ones(len(rows), bool)
    if long and "grader" in rows and len(rows.loc[mine, "grader"].dropna().unique()) > 1:
        some = listed(sorted({repr(name) for name in rows.loc[mine, "grader"].dropna()}))
        raise FrameError(f"{by}: {metric.name!r} has scores of several graders ({some}); keep the rows of one.")
    column = rows["value"] if long else rows[metric.name]
    value = pd.to_numeric(column, errors="coerce").to_numpy(dtype=float, na_value=np.nan)
    odd = mine & np.isnan(value) & column.notna().to_numpy(dtype=bool)
    if odd.any():
        some = listed(sorted({repr(v) for v in column[odd]}))
        raise FrameError(f"{by} needs numbers as scores of {metric.name!r}; found {some}. Convert or empty them.")
    usable = mine & np.isfinite(value)
    if "status" in rows:
        usable &= rows["status"].astype(object).where(rows["status"].notna(), "").isin(_SCORED).to_numpy(dtype=bool)
    if metric.declared:
        usable &= np.array([bool(np.isfinite(v)) and metric.holds(v) for v in value], dtype=bool)
    total = np.bincount(code[usable], value[usable], minlength=n)
    count = np.bincount(code[usable], minlength=n)
    sign = -1.0 if metric.higher_is_better is False else 1.0
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(count > 0, sign * total / count / float(metric.unit or 1.0), np.nan), dtype=float)
