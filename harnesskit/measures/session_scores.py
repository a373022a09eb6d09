"""Scores reduced to one per session and metric, by a stated rule, and the labels that belong to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
import pandas as pd

from harnesskit.measures.check_sessions import agreed_labels
from harnesskit.model.errors import FrameError, PolicyError, listed
from harnesskit.model.metrics import Metric, Metrics
from harnesskit.model.views import CASE_SCORES

if TYPE_CHECKING:
    from numpy.typing import NDArray

Reduce = Literal["mean", "worst", "last"]
_SCORED = ("ok", "scored", "")


@dataclass(frozen=True)
class SessionScores:
    """The sessions of one metric.

    Attributes
    ----------
    metric
        Its declaration.
    session, value, cluster
        One per session; the value is NaN when it has no usable score.
    failed
        1 failed, 0 good, NaN not labelled.
    out_of_range
        Scores that the declared range does not hold; they are not used.
    label_only, disputed
        Labelled sessions without a score, and sessions whose raters are evenly split.
    """

    metric: Metric
    session: NDArray[Any]
    value: NDArray[np.float64]
    cluster: NDArray[np.int64] | None
    failed: NDArray[np.float64]
    out_of_range: int
    label_only: int
    disputed: int
    several: int
    """Sessions with several scores."""

    @property
    def scored(self) -> NDArray[np.bool_]:
        """Which sessions have a score."""
        return ~np.isnan(self.value)

    @property
    def labelled(self) -> NDArray[np.bool_]:
        """Which sessions have a score and a label."""
        return self.scored & ~np.isnan(self.failed)


def label_frame(labels: pd.DataFrame | Mapping[Any, Any] | None) -> pd.DataFrame | None:
    """Return labels as a frame; a mapping says of each session whether it failed."""
    if labels is None or hasattr(labels, "columns"):
        return labels  # type: ignore[return-value]
    if isinstance(labels, Mapping):
        return pd.DataFrame({"session_id": [str(one) for one in labels], "failed": list(labels.values())})
    raise FrameError(
        f"labels are a frame with session_id and failed, or a mapping; found {type(labels).__name__}. "
        "Read a file with hk.read_labels(path)."
    )


def session_scores(
    scores: pd.DataFrame,
    labels: pd.DataFrame | Mapping[Any, Any] | None,
    *,
    metrics: Metrics,
    reduce: Reduce,
    by: str,
) -> Iterator[SessionScores]:
    """Yield the sessions of every metric, metrics in order of their names.

    Raises
    ------
    FrameError
        A column is missing, a value is no number, or several graders scored one metric.
    """
    if reduce not in get_args(Reduce):
        raise PolicyError(f"{by}: reduce must be one of {', '.join(get_args(Reduce))}; found {reduce!r}.")
    CASE_SCORES.require(scores, "session_id", "metric", "value", by=by)
    said = label_frame(labels)
    known = scores["session_id"].notna() & scores["metric"].notna()
    rows = scores if known.all() else scores[known]
    value = _numbers(rows, by)
    codes, names = pd.factorize(rows["metric"], sort=True)
    sessions, ids = pd.factorize(rows["session_id"].astype(str))
    clusters, texts = _clusters(rows, sessions, len(ids)), np.asarray(ids, dtype=object)
    agreed: dict[str | None, _Said] = {}
    for code, name in enumerate(names):
        mine = codes == code
        _one_grader(rows, mine, str(name), by)
        own = str(name) if said is not None and "metric" in said and (said["metric"] == name).any() else None
        if own not in agreed:
            frame, disputed = agreed_labels(_whole(said) if own is None else said, own, by)
            agreed[own] = _said(frame["failed"], ids, disputed)
        yield _one(metrics[str(name)], sessions[mine], texts, value[mine], clusters, agreed[own], reduce)


class _Said(NamedTuple):
    """What labels say of every session that has a score of anything; how many sessions they are on."""

    failed: NDArray[np.float64]
    sessions: int
    disputed: int


def _said(labels: pd.Series[Any], ids: pd.Index[Any], disputed: int) -> _Said:
    place = labels.index.get_indexer(ids) if len(labels) else np.full(len(ids), -1)
    known = labels.to_numpy(dtype=float) if len(labels) else np.array([np.nan])
    return _Said(np.where(place >= 0, known[place], np.nan), len(labels), disputed)


def _whole(said: pd.DataFrame | None) -> pd.DataFrame | None:
    """Return the labels of whole sessions."""
    return said if said is None or "metric" not in said else said[said["metric"].isna()]


def _one(
    metric: Metric,
    sessions: NDArray[np.int64],
    names: NDArray[Any],
    value: NDArray[np.float64],
    clusters: NDArray[np.int64] | None,
    labels: _Said,
    reduce: Reduce,
) -> SessionScores:
    low = -np.inf if metric.low is None else metric.low - 1e-9 * (metric.span or 1.0)
    high = np.inf if metric.high is None else metric.high + 1e-9 * (metric.span or 1.0)
    usable = np.isfinite(value)
    odd = usable & ((value < low) | (value > high))
    usable &= ~odd
    seen = np.zeros(len(names), dtype=bool)
    seen[sessions] = True
    count = np.bincount(sessions[usable], minlength=len(names))
    reduced = _reduced(sessions[usable], value[usable], count, metric, reduce)
    failed = labels.failed
    label_only = labels.sessions - int((seen & (count > 0) & ~np.isnan(failed)).sum())
    return SessionScores(
        metric, names[seen], reduced[seen], None if clusters is None else clusters[seen], failed[seen],
        int(odd.sum()), label_only, labels.disputed, int((count > 1).sum()),
    )  # fmt: skip


def _reduced(
    sessions: NDArray[np.int64], value: NDArray[np.float64], count: NDArray[np.int64], metric: Metric, reduce: Reduce
) -> NDArray[np.float64]:
    out = np.full(len(count), np.nan)
    if reduce == "mean":
        total = np.bincount(sessions, weights=value, minlength=len(count))
        out[count > 0] = total[count > 0] / count[count > 0]
    elif reduce == "last":
        out[sessions] = value  # later rows win
    else:
        higher = metric.higher_is_better is not False
        out[:] = np.inf if higher else -np.inf
        (np.minimum if higher else np.maximum).at(out, sessions, value)
        out[count == 0] = np.nan
    return out


def _numbers(rows: pd.DataFrame, by: str) -> NDArray[np.float64]:
    number = pd.to_numeric(rows["value"], errors="coerce").to_numpy(dtype=float, na_value=np.nan)
    lost = np.isnan(number)
    if lost.any():
        odd = rows["value"][lost & rows["value"].notna().to_numpy(dtype=bool)]
        if len(odd):
            raise FrameError(f"{by} needs numbers in column 'value'; found {listed(sorted({repr(v) for v in odd}))}.")
    if "status" in rows:
        status = rows["status"]
        number = np.where((status.isna() | status.isin(_SCORED)).to_numpy(dtype=bool), number, np.nan)
    return number


def _clusters(rows: pd.DataFrame, sessions: NDArray[np.int64], n: int) -> NDArray[np.int64] | None:
    """Return the cluster of each session, or None when each stands alone; a missing one is a cluster of its own."""
    if "cluster" not in rows or rows["cluster"].isna().all():
        return None
    codes, names = pd.factorize(rows["cluster"])
    out = np.arange(n, dtype=np.int64) + len(names)
    known = codes >= 0
    out[sessions[known]] = codes[known]
    return out if len(np.unique(out)) < n else None


def _one_grader(rows: pd.DataFrame, mine: NDArray[np.bool_], name: str, by: str) -> None:
    if "grader" not in rows:
        return
    graders = rows["grader"][mine].dropna().unique().tolist()
    if len(graders) > 1:
        raise FrameError(
            f"{by}: several graders scored {name!r}: {listed(sorted(map(str, graders)))}. A threshold belongs to one "
            "of them; choose it, e.g. scores[scores['grader'] == ...]."
        )
