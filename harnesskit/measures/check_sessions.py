"""Sessions as a check and as people saw them: would it have stopped them, and did they fail."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from harnesskit.model.errors import FrameError, listed
from harnesskit.model.frames import LABELS
from harnesskit.model.sessions import ALARMS

_SCORED = ("ok", "scored", "")


@dataclass(frozen=True)
class CheckedSessions:
    """One row per session, in order of time.

    Attributes
    ----------
    table
        ``session, answered`` (the check said something), ``alarm, labelled, failed, cluster`` (codes), ``value``.
    by_time
        Whether the order is that of ``occurred_at``.
    clustered
        Whether some cluster has several sessions.
    last_label
        Place of the newest labelled session; -1 without any.
    disputed, unknown
        Labelled sessions whose raters are evenly split, and labels of sessions that the check never saw.
    """

    table: pd.DataFrame
    by_time: bool
    clustered: bool
    last_label: int
    disputed: int
    unknown: int


def checked_sessions(
    alarms: pd.DataFrame,
    labels: pd.DataFrame | None,
    *,
    metric: str | None,
    bar: float | None,
    higher_is_better: bool,
    by: str,
) -> CheckedSessions:
    """Return sessions with what the check and the labels say of them."""
    seen, by_time = _alarmed(alarms, bar, higher_is_better, by)
    said, disputed = agreed_labels(labels, metric, by)
    table = seen.join(said, on="session")
    table["labelled"] = table["failed"].notna()
    table["failed"] = table["failed"].fillna(False).astype(bool)
    unknown = int((~said.index.isin(table["session"])).sum())
    at = np.flatnonzero(table["labelled"].to_numpy(dtype=bool))
    clusters = table["cluster"].value_counts()
    clustered, last = bool((clusters > 1).any()), int(at[-1]) if len(at) else -1
    return CheckedSessions(table.reset_index(drop=True), by_time, clustered, last, disputed, unknown)


def _alarmed(alarms: pd.DataFrame, bar: float | None, higher_is_better: bool, by: str) -> tuple[pd.DataFrame, bool]:
    """Return one row per session: a session alarms when one of its traces does."""
    needs = "alarm" if hasattr(alarms, "columns") and "alarm" in alarms else "value"
    ALARMS.require(alarms, "session_id", needs, by=by, what="as the alarms")
    if needs == "value" and bar is None:
        raise FrameError(f"{by} needs a column 'alarm', or bar=, the score that the column 'value' is held against.")
    rows = alarms[alarms["session_id"].notna()].reset_index(drop=True)
    text = rows["session_id"].astype(str)
    usable = np.ones(len(rows), dtype=bool)
    if "status" in rows:
        usable = rows["status"].astype(object).fillna("").isin(_SCORED).to_numpy(dtype=bool)
    value = np.full(len(rows), np.nan)
    if "value" in rows:
        number = pd.to_numeric(rows["value"], errors="coerce").to_numpy(dtype=float, na_value=np.nan)
        odd = rows["value"][np.isnan(number) & rows["value"].notna().to_numpy(dtype=bool)]
        if len(odd):
            some = listed(sorted({repr(one) for one in odd}))
            raise FrameError(f"{by} needs numbers in column 'value' of the alarms; found {some}.")
        value = np.where(usable, number, np.nan)
    if needs == "alarm":
        answered = usable & rows["alarm"].notna().to_numpy(dtype=bool)
        alarm = answered & rows["alarm"].astype(object).fillna(False).map(_truth(by)).to_numpy(dtype=bool)
    else:
        assert bar is not None
        answered = np.isfinite(value)
        alarm = answered & (value < bar - 1e-9 if higher_is_better else value > bar + 1e-9)
    codes, names = pd.factorize(text)
    grouped = pd.DataFrame({"answered": answered, "alarm": alarm, "value": value}).groupby(codes)
    first = np.unique(codes, return_index=True)[1]
    own = rows["cluster"] if "cluster" in rows else pd.Series(None, index=rows.index, dtype=object)
    cluster = np.array([f"s:{n}" if pd.isna(v) else f"c:{v}" for n, v in zip(text, own, strict=True)], dtype=object)
    frame = grouped.agg({"answered": "any", "alarm": "any", "value": "mean"})
    frame["session"], frame["cluster"] = np.asarray(names, dtype=object), pd.factorize(cluster[first])[0]
    if "occurred_at" not in rows or not len(rows):
        return frame, False
    times = pd.to_datetime(rows["occurred_at"], utc=True, errors="coerce", format="mixed")
    frame["at"] = times.groupby(codes).min()
    if frame["at"].isna().any():
        return frame.drop(columns="at"), False
    return frame.sort_values("at", kind="stable").drop(columns="at"), True


def _truth(by: str) -> Callable[[Any], bool]:
    def truth(value: Any) -> bool:
        if isinstance(value, bool | np.bool_) or value in (0, 1):
            return bool(value)
        raise FrameError(f"{by}: an alarm is true or false, found {value!r}.")

    return truth


def agreed_labels(labels: pd.DataFrame | None, metric: str | None, by: str) -> tuple[pd.DataFrame, int]:
    """Return whether each labelled session failed: the newest label of each rater, then their majority.

    A session whose raters are evenly split is not labelled.
    """
    empty = pd.DataFrame({"failed": pd.Series([], dtype=object)}, index=pd.Index([], dtype=object))
    if labels is None or (hasattr(labels, "columns") and not len(labels.columns)):
        return empty, 0
    LABELS.require(labels, "session_id", "failed", by=by, what="as the labels")
    rows = labels[labels["session_id"].notna() & labels["failed"].notna()]
    if metric is not None and "metric" in rows:
        rows = rows[rows["metric"].isna() | (rows["metric"] == metric)]
    if rows.empty:
        return empty, 0
    odd = [value for value in rows["failed"].unique().tolist() if not (isinstance(value, bool) or value in (0, 1))]
    if odd:
        raise FrameError(f"{by}: a label says failed, true or false; found {listed([repr(v) for v in odd])}.")
    known = rows.assign(session_id=rows["session_id"].astype(str), failed=rows["failed"].astype(bool))
    if "at" in known:
        known = known.assign(at=pd.to_datetime(known["at"], utc=True, errors="coerce", format="mixed"))
        known = known.sort_values("at", kind="stable", na_position="first")
    if "rater" in known:
        known = known.drop_duplicates(["session_id", "rater"], keep="last")
    share = known.groupby("session_id")["failed"].mean()
    split = share == 0.5
    return pd.DataFrame({"failed": (share[~split] > 0.5).astype(object)}), int(split.sum())
