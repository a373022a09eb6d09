"""Scores reduced to trials that pass or not: a retry or a row that stands twice is no further trial."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from harnesskit.measures.pass_bars import PassAt, PassBar, pass_bars
from harnesskit.model.errors import FrameError, PolicyError
from harnesskit.model.metrics import Metrics
from harnesskit.model.views import CASE_SCORES

if TYPE_CHECKING:
    from numpy.typing import NDArray

Unscored = Literal["left_out", "fail"]
_TRIAL = ("run_id", "arm", "pair", "round", "trial")


class TrialPasses(NamedTuple):
    """Trials and the cells (case within group) that they belong to."""

    cells: pd.DataFrame
    """One row per group and case: the group's columns, case_id, cluster, n, passed, n_unscored, n_extra, pass_at."""
    trials: pd.DataFrame
    """One row per trial, in the order of trials: cell, passed (1, 0, NaN where it has no score)."""
    groups: list[str]
    """Columns that name a group."""
    n_unmatched: int
    """Rows without a case."""
    pooled: list[str]
    """What to say when trials of several arms are in one group."""


def trial_passes(
    scores: pd.DataFrame, by: Sequence[str], metrics: Metrics, pass_at: PassAt, unscored: Unscored, *, caller: str
) -> TrialPasses:
    """Return every trial of every case and whether it passes.

    A trial is named by run, arm, pair and trial, where there; a row without ``trial`` is one trial, and rows of one
    ``sample_id`` are one. Of several attempts the last with a score counts; other repeats are averaged. Scores that
    are ``not_applicable`` are no trials.
    """
    if unscored not in ("left_out", "fail"):
        raise PolicyError(f"{caller}: unscored must be 'left_out' or 'fail', found {unscored!r}.")
    CASE_SCORES.require(scores, "case_id", "metric", "value", *by, by=caller)
    rows = scores.reset_index(drop=True)
    if "status" in rows:
        rows = rows[rows["status"].ne("not_applicable").fillna(True)]
    if "counts" in rows:
        rows = rows[rows["counts"].ne(False).fillna(True)]
    unmatched = int(rows["case_id"].isna().sum())
    rows = _every_metric(rows[rows["case_id"].notna()])
    value = read_values(rows, caller)
    groups = list(dict.fromkeys([*by, "metric", *(["grader"] if _several_graders(rows) else [])]))
    cell_keys = list(dict.fromkeys([*groups, "case_id"]))
    cell = codes_of(rows, cell_keys)
    trial, extra = _trial_rows(rows, value, cell)
    bars = metric_bars(rows, value, metrics, pass_at, caller)
    passed = passes(rows["metric"].to_numpy(dtype=object)[trial["row"]], trial["value"].to_numpy(dtype=float), bars)
    if unscored == "fail":
        passed = np.where(np.isnan(passed) & trial["value"].isna().to_numpy(), 0.0, passed)
    trials = pd.DataFrame({"cell": trial["cell"].to_numpy(dtype=np.int64), "passed": passed})
    cells = _cells(rows, cell_keys, cell, trials, extra)
    cells["n_unscored"] = np.bincount(trials["cell"], trial["value"].isna(), minlength=len(cells)).astype(np.int64)
    cells["pass_at"] = cells["metric"].map({name: bar.score for name, bar in bars.items()}).astype(float)
    return TrialPasses(cells, trials, groups, unmatched, _pooled(rows, groups))


def _every_metric(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with an attempt that has no score at all (no metric) as unscored under every metric there is."""
    bare = rows["metric"].isna()
    if not bare.any():
        return rows.reset_index(drop=True)
    named = [c for c in ("metric", "grader") if c in rows]
    known = rows.loc[~bare, named].drop_duplicates()
    spread = rows[bare].drop(columns=named).merge(known, how="cross")
    return pd.concat([rows[~bare], spread[rows.columns]], ignore_index=True)


def _pooled(rows: pd.DataFrame, groups: Sequence[str]) -> list[str]:
    if "arm" not in rows or {"arm", "run_id", "case_id"} & set(groups):
        return []
    arms = int(rows["arm"].nunique())
    return [f"trials of {arms} arms are pooled: give by='arm'"] if arms > 1 else []


def _several_graders(rows: pd.DataFrame) -> bool:
    if "grader" not in rows or not len(rows):
        return False
    return bool((rows[["metric", "grader"]].dropna().drop_duplicates()["metric"].value_counts() > 1).any())


def read_values(rows: pd.DataFrame, caller: str) -> NDArray[np.float64]:
    """Return the scores, NaN where a row has none."""
    if rows["value"].map(lambda one: isinstance(one, str)).any() if rows["value"].dtype == object else False:
        raise FrameError(f"{caller} needs numbers in 'value'; found text. Scores that are text have no bar to pass.")
    value = pd.to_numeric(rows["value"]).to_numpy(dtype=float, na_value=np.nan).copy()
    value[~np.isfinite(value)] = np.nan
    if "status" in rows:
        value[rows["status"].fillna("ok").ne("ok").to_numpy(dtype=bool)] = np.nan
    return value


def codes_of(rows: pd.DataFrame, columns: Sequence[str]) -> NDArray[np.int64]:
    """Return one number per different combination, from 0 in the order of values."""
    code = np.zeros(len(rows), dtype=np.int64)
    for column in columns:
        one = pd.factorize(rows[column], sort=True, use_na_sentinel=True)[0].astype(np.int64) + 1
        code = np.unique(code * (int(one.max(initial=0)) + 1) + one, return_inverse=True)[1].astype(np.int64)
    return code


def _trial_rows(
    rows: pd.DataFrame, value: NDArray[np.float64], cell: NDArray[np.int64]
) -> tuple[pd.DataFrame, NDArray[np.int64]]:
    """Return one row per trial (cell, row, value), in order, and the cell of every row that is no trial of its own."""
    named = codes_of(rows, [c for c in _TRIAL if c in rows])
    alone = rows["trial"].isna().to_numpy() if "trial" in rows else np.ones(len(rows), dtype=bool)
    if "sample_id" in rows:
        own = pd.factorize(rows["sample_id"])[0].astype(np.int64)
        own = np.where(own < 0, len(rows) + np.arange(len(rows)), own)
    else:
        own = np.arange(len(rows))
    key = np.where(alone, int(named.max(initial=0)) + 1 + own, named)
    order = rows["trial"].to_numpy(dtype=float, na_value=np.nan) if "trial" in rows else np.zeros(len(rows))
    frame = pd.DataFrame({"cell": cell, "key": key, "row": np.arange(len(rows)), "value": value, "order": order})
    last = rows["attempt"].to_numpy(dtype=float, na_value=0.0) if "attempt" in rows else np.zeros(len(rows))
    frame["last"] = np.where(np.isnan(value), -1.0, last)
    best = frame.groupby(["cell", "key"], sort=False)["last"].transform("max").to_numpy()
    kept = frame[frame["last"].to_numpy() == best]
    found = kept.groupby(["cell", "key"], sort=False).agg(
        row=("row", "min"), value=("value", "mean"), order=("order", "min")
    )
    trials = found.reset_index().sort_values(["cell", "order", "row"], kind="stable").reset_index(drop=True)
    return trials, np.bincount(cell, minlength=1) - np.bincount(trials["cell"], minlength=max(len(np.unique(cell)), 1))


def metric_bars(
    rows: pd.DataFrame, value: NDArray[np.float64], metrics: Metrics, pass_at: PassAt, caller: str
) -> dict[str, PassBar]:
    """Return the bar of every metric of the rows."""
    names = rows["metric"].to_numpy(dtype=object)
    scored = ~np.isnan(value)
    grouped = pd.Series(value[scored]).groupby(names[scored])
    values: dict[str, NDArray[np.float64]] = {str(name): np.asarray(group, dtype=float) for name, group in grouped}
    return pass_bars(values, names, metrics, pass_at, by=caller)


def passes(metric: NDArray[Any], value: NDArray[np.float64], bars: dict[str, PassBar]) -> NDArray[np.float64]:
    """Return 1 for a trial that passes, 0 for one that fails, NaN for one without a score or a bar."""
    code, names = pd.factorize(metric)
    bar = np.array([bars[str(name)].score for name in names] or [np.nan])[code]
    lower = np.array([bars[str(name)].higher_is_better is False for name in names] or [False])[code]
    with np.errstate(invalid="ignore"):
        passed = np.where(lower, value <= bar + 1e-9, value >= bar - 1e-9).astype(float)
    return np.where(np.isnan(value) | np.isnan(bar), np.nan, passed)


def _cells(
    rows: pd.DataFrame,
    keys: Sequence[str],
    cell: NDArray[np.int64],
    trials: pd.DataFrame,
    extra: NDArray[np.int64],
) -> pd.DataFrame:
    """Return one row per cell, in the order of its number."""
    first = np.unique(cell, return_index=True)[1]
    cells = rows.loc[first, list(keys)].reset_index(drop=True)
    clusters = rows["cluster"] if "cluster" in rows else pd.Series([None] * len(rows), dtype=object)
    cells["cluster"] = clusters.groupby(cell).first().to_numpy(dtype=object) if len(rows) else None
    scored = trials[trials["passed"].notna()]
    size = len(cells)
    cells["n"] = np.bincount(scored["cell"], minlength=size).astype(np.int64)
    cells["passed"] = np.bincount(scored["cell"], scored["passed"], minlength=size).astype(np.int64)
    cells["n_extra"] = extra[:size]
    return cells
