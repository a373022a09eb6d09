"""The gate of Tier 1 over stored series, under other settings: what would have fired."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from harnesskit.measures.check_sessions import agreed_labels
from harnesskit.measures.session_scores import label_frame
from harnesskit.model.calibration import GATE_REPLAY
from harnesskit.model.errors import FrameError, PolicyError, listed
from harnesskit.model.views import CASE_SCORES
from harnesskit.stats.gate_paths import gate_alarms
from harnesskit.stats.sweeps import share_band

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BY = "replay_gate()"
_SCORED = ("ok", "scored", "")


class _Series(NamedTuple):
    """Series down the rows, turns across; the session of each, and what is known of the sessions."""

    values: NDArray[np.float64]
    session: NDArray[np.int64]
    failed: NDArray[np.float64]
    unscored: int


def replay_gate(
    scores: pd.DataFrame,
    labels: pd.DataFrame | Mapping[Any, Any] | None = None,
    *,
    window: int | Iterable[int] = 5,
    target: float | Iterable[float] = 0.5,
    gain: float | Iterable[float] = 0.02,
    drop: float | Iterable[float] = 0.15,
) -> pd.DataFrame:
    """Replay the gate of Tier 1 over stored series: one row per setting, every combination of those given.

    A series is a session and metric, its values oldest first; it stalls or regresses as the live gate says. Held
    against labels, the unit is the session: it is alarmed when any of its series fires.

    Parameters
    ----------
    scores
        ``session_id, metric, value``; ``occurred_at`` when there gives the order (that of the rows otherwise),
        ``status`` says which are scored, ``turn_index`` or ``sample_id`` which belong to one turn.
    labels
        See `hk.sweep_thresholds`.
    window, target, gain, drop
        One setting or several of each: ``gate_window, gate_target, gate_gain, gate_drop`` of the configuration.

    Raises
    ------
    FrameError
        A column is missing, or a value is no number.
    PolicyError
        A setting is no finite number.

    Examples
    --------
    >>> series = [0.3, 0.3, 0.3, 0.3, 0.9]
    >>> scores = pd.DataFrame({"session_id": "s-1", "metric": "coherence", "value": series})
    >>> replay_gate(scores, {"s-1": True}, window=[2, 4])[["window", "stalled", "tp", "fn"]].values.tolist()
    [[2, 1, 1, 0], [4, 0, 0, 1]]
    """
    CASE_SCORES.require(scores, "session_id", "metric", "value", by=_BY)
    settings = [_settings(name, given) for name, given in
                (("window", window), ("target", target), ("gain", gain), ("drop", drop))]  # fmt: skip
    series = _series(scores, label_frame(labels))
    rows = [_row(series, *setting) for setting in product(*settings)]
    return GATE_REPLAY.order(pd.DataFrame(rows, columns=list(GATE_REPLAY.columns)))


def _settings(name: str, given: Any) -> list[Any]:
    found = list(given) if isinstance(given, Iterable) else [given]
    bad = [one for one in found if isinstance(one, bool | str) or not np.isfinite(one)]
    if bad or not found:
        raise PolicyError(f"{_BY}: {name} needs a finite number, or several; found {given!r}.")
    return [int(one) if name == "window" else float(one) for one in found]


def _series(scores: pd.DataFrame, labels: pd.DataFrame | None) -> _Series:
    rows = scores[scores["session_id"].notna() & scores["metric"].notna()].reset_index(drop=True)
    if "occurred_at" in rows and len(rows):
        at = pd.to_datetime(rows["occurred_at"], utc=True, errors="coerce", format="mixed")
        rows = rows.loc[at.sort_values(kind="stable", na_position="first").index].reset_index(drop=True)
    value = pd.to_numeric(rows["value"], errors="coerce").to_numpy(dtype=float, na_value=np.nan)
    odd = rows["value"][np.isnan(value) & rows["value"].notna().to_numpy(dtype=bool)]
    if len(odd):
        raise FrameError(f"{_BY} needs numbers in column 'value'; found {listed(sorted({repr(v) for v in odd}))}.")
    if "status" in rows:
        value = np.where((rows["status"].isna() | rows["status"].isin(_SCORED)).to_numpy(dtype=bool), value, np.nan)
    value = np.where(np.isfinite(value), value, np.nan)
    sessions, ids = pd.factorize(rows["session_id"].astype(str))
    metrics = pd.factorize(rows["metric"])[0]
    one = pd.factorize(sessions.astype(np.int64) * (int(metrics.max(initial=0)) + 1) + metrics)[0]
    turn = _turns(rows, sessions, one)
    table = np.full((int(one.max(initial=-1)) + 1, int(turn.max(initial=-1)) + 1), np.nan)
    table[one, turn] = value
    of = np.zeros(len(table), dtype=np.int64)
    of[one] = sessions
    said = agreed_labels(labels, None, _BY)[0]["failed"].astype(float)
    failed = np.asarray(said.reindex(ids), dtype=np.float64)
    return _Series(table, of, failed, int(np.isnan(value).sum()))


def _turns(rows: pd.DataFrame, sessions: NDArray[Any], one: NDArray[Any]) -> NDArray[np.int64]:
    """Return the turn of each value within its session: by sample where a sample has at most one value of a metric."""
    if "sample_id" in rows and rows["sample_id"].notna().all() and not rows.duplicated(["sample_id", "metric"]).any():
        frame = pd.DataFrame({"session": sessions, "sample": pd.factorize(rows["sample_id"])[0]})
        first = frame.drop_duplicates()
        place = first.assign(turn=first.groupby("session").cumcount()).set_index("sample")["turn"]
        return np.asarray(place.reindex(frame["sample"]), dtype=np.int64)
    return np.asarray(pd.Series(one).groupby(one).cumcount(), dtype=np.int64)


def _row(series: _Series, window: int, target: float, gain: float, drop: float) -> dict[str, Any]:
    found = gate_alarms(series.values, window=window, target=target, gain=gain, drop=drop)
    any_ = found.stalled | found.regressed
    n = len(series.failed)
    fired = np.bincount(series.session, weights=any_.any(axis=1), minlength=n) > 0
    width = any_.shape[1]
    places = (series.session[:, None] * width + np.arange(width))[any_]
    known = ~np.isnan(series.failed)
    bad = series.failed[known] > 0
    hit = fired[known]
    tp, fp, fn = int((hit & bad).sum()), int((hit & ~bad).sum()), int((~hit & bad).sum())
    band = share_band([tp, tp], [tp + fp, tp + fn])
    return {
        "window": window, "target": target, "gain": gain, "drop": drop, "n_sessions": n,
        "n_values": int((~np.isnan(series.values)).sum()), "n_unscored": series.unscored,
        "stalled": int(found.stalled.sum()), "regressed": int(found.regressed.sum()),
        "alarmed_turns": len(np.unique(places)), "alarmed_sessions": int(fired.sum()),
        "n_labelled": int(known.sum()), "tp": tp, "fp": fp, "fn": fn, "tn": int((~hit & ~bad).sum()),
        "precision": tp / (tp + fp) if tp + fp else np.nan, "precision_low": band.low[0],
        "precision_high": band.high[0], "recall": tp / (tp + fn) if tp + fn else np.nan,
        "recall_low": band.low[1], "recall_high": band.high[1],
    }  # fmt: skip
