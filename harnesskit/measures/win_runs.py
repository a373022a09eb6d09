"""The fresh runs of one case: which count, and which of them passed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from harnesskit.model.errors import FrameError, PolicyError, listed
from harnesskit.model.views import CASE_SCORES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from harnesskit.model.metrics import Metrics

    Floats = NDArray[np.float64]

_SCORED = ("ok", "scored", "")
_NEVER_RAN = ("env_wait_timeout", "interrupted")
_RUN = ("run_id", "arm", "round", "trial")
_TIERS_OF_EVERY_TURN = (None, 0, 1)
_SLACK = 1e-9


@dataclass(frozen=True)
class WinRuns:
    """The fresh runs of a case, in their order.

    Attributes
    ----------
    case_id, kind
        The case.
    scores
        One row per run, a column per metric with a threshold, in its own unit; missing where unscored.
    passed
        Whether each run passed in every metric.
    missing
        Whether each run lacks a score that it needs.
    newest
        When the newest of them happened; NaT where no times are known.
    left_out
        Why runs were left out, and how many.
    fingerprint
        Fingerprint that the runs share; None where none is known.
    unthresholded
        Metrics that have no threshold and are not asked for.
    """

    case_id: str
    kind: str | None
    scores: pd.DataFrame
    passed: NDArray[np.bool_]
    missing: NDArray[np.bool_]
    newest: pd.Timestamp
    left_out: dict[str, int]
    fingerprint: str | None
    unthresholded: list[str]


@dataclass(frozen=True)
class Bars:
    """What a run must reach: metric to threshold on a scale where higher is better, and the sign that brings it there.

    Attributes
    ----------
    required
        Metrics that every run must have; the others count where they were scored.
    """

    bar: dict[str, float]
    sign: dict[str, float]
    required: frozenset[str]


def bars_of(
    seen: Iterable[str], thresholds: Mapping[str, float] | None, known: Metrics, *, by: str
) -> tuple[Bars, list[str]]:
    """Return what runs must reach, and the metrics without a threshold.

    Thresholds given by name are required of every run. Else every metric seen with a declared threshold counts, and
    one of tier 2 or 3, which is only graded when something looked wrong, only where it was graded.
    """
    names = sorted(set(seen))
    given = dict(thresholds) if thresholds is not None else None
    if given is None:
        found = {name: known[name].threshold for name in names}
        bar = {name: float(value) for name, value in found.items() if value is not None}
        required = frozenset(name for name in bar if known[name].tier in _TIERS_OF_EVERY_TURN) or frozenset(bar)
    else:
        odd = [name for name, value in given.items() if not np.isfinite(value)]
        if odd:
            raise PolicyError(f"{by}: thresholds must be finite numbers; found none for {listed(odd)}.")
        bar, required = {name: float(value) for name, value in given.items()}, frozenset(given)
    if not bar:
        raise PolicyError(
            f"{by} needs a threshold to tell a pass from a failure; the metrics {listed(names) or '(none)'} have none. "
            "Give thresholds={metric: score}, or declare them in metrics=."
        )
    sign = {name: -1.0 if known[name].higher_is_better is False else 1.0 for name in bar}
    signed = {name: sign[name] * value for name, value in bar.items()}
    return Bars(signed, sign, required), [name for name in names if name not in bar]


def win_runs(
    scores: pd.DataFrame,
    bars: Bars,
    known: Metrics,
    *,
    fingerprint: str | None,
    shown_by: Iterable[str],
    unthresholded: list[str],
    by: str,
) -> WinRuns:
    """Return the fresh runs among rows of scores of one case."""
    rows = scores.reset_index(drop=True)
    cases = sorted(rows["case_id"].dropna().astype(str).unique())
    if len(cases) != 1:
        raise FrameError(f"{by} takes the runs of one case; found {listed(cases) or 'none'}.")
    key = _run_of(rows)
    out, left_out, used = _stale(rows, fingerprint, set(shown_by))
    codes, _ = pd.factorize(key[~out])
    kept = rows[~out].reset_index(drop=True)
    never = _never_ran(kept, codes)
    left_out |= {"never ran": int(never.sum())} if never.any() else {}
    n = len(never)
    table = pd.DataFrame({name: _values(kept, codes, n, name, known, by) for name in bars.bar}, index=range(n))
    table = table[~never].reset_index(drop=True)
    there = table.notna()
    reached = pd.DataFrame(
        {name: bars.sign[name] * table[name] >= bar - _SLACK for name, bar in bars.bar.items()}, index=table.index
    )
    missing = (~there[sorted(bars.required)]).any(axis=1).to_numpy(dtype=bool)
    passed = (reached | ~there).all(axis=1).to_numpy(dtype=bool) & ~missing
    kinds = rows["kind"].dropna().unique().tolist() if "kind" in rows else []
    return WinRuns(
        cases[0], str(kinds[0]) if kinds else None, table, passed, missing, _newest(kept), left_out, used, unthresholded
    )


def _run_of(rows: pd.DataFrame) -> NDArray[np.object_]:
    """Return what run a row belongs to: its sample, else run and trial, else its place among rows of its metric."""
    place = rows.groupby(rows["metric"].astype(object).fillna("")).cumcount().astype(str)
    text = "row " + place
    known = [name for name in _RUN if name in rows]
    if "trial" in known:
        text = rows[known].astype(object).fillna("").astype(str).agg("/".join, axis=1)
    if "sample_id" in rows:
        text = text.where(rows["sample_id"].isna(), rows["sample_id"].astype(str))
    return text.to_numpy(dtype=object)


def _stale(
    rows: pd.DataFrame, fingerprint: str | None, shown_by: set[str]
) -> tuple[NDArray[np.bool_], dict[str, int], str | None]:
    """Return the rows that are no fresh runs, why, and the fingerprint of the others."""
    run = pd.Series(_run_of(rows))
    none = np.zeros(len(rows), dtype=bool)
    captured = none.copy()
    for column in ("source", "role"):
        if column in rows:
            captured |= (rows[column] == "captured").fillna(False).to_numpy(dtype=bool)
    shown = none.copy()
    for column in ("sample_id", "run_id", "session_id"):
        if column in rows:
            shown |= rows[column].astype(object).isin(shown_by).to_numpy(dtype=bool)
    other, used = none.copy(), fingerprint
    if "fingerprint" in rows:
        text = rows["fingerprint"].astype(object).where(rows["fingerprint"].notna(), None)
        fresh = text[~captured & ~shown].dropna()
        used = fingerprint if fingerprint is not None else (str(fresh.iloc[-1]) if len(fresh) else None)
        other = (text.notna() & (text.astype(str) != used)).to_numpy(dtype=bool) if used is not None else none
    why = {
        "the captured run": captured,
        "the run that showed the fix": shown & ~captured,
        "of another fingerprint": other & ~captured & ~shown,
    }
    counts = {name: int(run[where].nunique()) for name, where in why.items() if where.any()}
    return captured | shown | other, counts, used


def _never_ran(rows: pd.DataFrame, codes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which runs never reached the agent: skipped, stopped, or no environment."""
    n = int(codes.max()) + 1 if len(codes) else 0
    empty = pd.Series("", index=rows.index)
    status = rows["status"].astype(object).fillna("").astype(str) if "status" in rows else empty
    reason = rows["reason"].astype(object).fillna("").astype(str) if "reason" in rows else empty
    none = (status == "skipped") | reason.map(lambda text: text.partition(":")[0]).isin(_NEVER_RAN)
    every = np.ones(n, dtype=bool)
    np.logical_and.at(every, codes, none.to_numpy(dtype=bool))
    return every


def _values(rows: pd.DataFrame, codes: NDArray[np.int64], n: int, name: str, known: Metrics, by: str) -> Floats:
    mine = (rows["metric"] == name).fillna(False).to_numpy(dtype=bool)
    column = rows["value"]
    value = pd.to_numeric(column, errors="coerce").to_numpy(dtype=float, na_value=np.nan)
    odd = mine & np.isnan(value) & column.notna().to_numpy(dtype=bool)
    if odd.any():
        some = listed(sorted({repr(v) for v in column[odd]}))
        raise FrameError(f"{by} needs numbers in column 'value'; found {some}. Convert or empty them.")
    if "grader" in rows and len(rows.loc[mine, "grader"].dropna().unique()) > 1:
        some = listed(sorted({repr(g) for g in rows.loc[mine, "grader"].dropna()}))
        raise FrameError(f"{by}: {name!r} has scores of several graders ({some}); keep the rows of one.")
    usable = mine & np.isfinite(value)
    if "status" in rows:
        usable &= rows["status"].astype(object).fillna("").isin(_SCORED).to_numpy(dtype=bool)
    metric = known[name]
    usable &= np.array([not metric.declared or (bool(np.isfinite(v)) and metric.holds(v)) for v in value], dtype=bool)
    total, count = np.bincount(codes[usable], value[usable], minlength=n), np.bincount(codes[usable], minlength=n)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(count > 0, total / count, np.nan), dtype=float)


def _newest(rows: pd.DataFrame) -> pd.Timestamp:
    if "occurred_at" not in rows or not len(rows):
        return pd.NaT  # type: ignore[return-value]  # NaT is how pandas says that there is no time
    return pd.Timestamp(pd.to_datetime(rows["occurred_at"], utc=True, errors="coerce", format="mixed").max())


def require_scores(scores: pd.DataFrame, by: str) -> None:
    """Raise unless the frame has the columns that are read."""
    CASE_SCORES.require(scores, "case_id", "metric", "value", by=by)


def passes_of_wins(wins: pd.DataFrame, bars: Bars, known: Metrics, *, by: str) -> tuple[list[int], list[int]]:
    """Return passes and runs of each case of a corpus of wins, each under the fingerprint of its newest run."""
    require_scores(wins, by)
    passes, runs = [], []
    for _, rows in wins[wins["case_id"].notna()].groupby("case_id", sort=True):
        found: Any = win_runs(rows, bars, known, fingerprint=None, shown_by=(), unthresholded=[], by=by)
        if len(found.passed):
            passes.append(int(found.passed.sum()))
            runs.append(len(found.passed))
    return passes, runs
