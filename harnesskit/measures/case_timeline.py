"""What happened to each case, run after run: born, broke, fixed, flaky."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from harnesskit.measures.pass_bars import PassAt
from harnesskit.measures.trial_passes import codes_of, metric_bars, passes, read_values
from harnesskit.model.health_results import CASE_TIMELINE
from harnesskit.model.metrics import Metric, Metrics
from harnesskit.model.views import CASE_SCORES

ROLES = ("captured", "control", "replay")
"""Roles whose runs say how a case stands; a candidate is a change that may never be taken."""
_BY = "case_timeline()"


def case_timeline(
    samples: pd.DataFrame,
    *,
    metrics: Iterable[Metric] | None = None,
    pass_at: PassAt = None,
    roles: Sequence[str] = ROLES,
) -> pd.DataFrame:
    """Give the state of each case after each run, and what changed: one row per case, run and arm.

    A trial fails when a metric with a threshold fails, and passes when all of them pass; with one missing and none
    failed it is unscored. One trial that turned is not a change that was proven: counts stand beside every state.

    Parameters
    ----------
    samples
        Rows of case_scores: ``case_id, metric, value``, and ``run_id, role, arm, trial, sample_id, status,
        occurred_at`` when there.
    metrics, pass_at
        As for `harnesskit.case_flips`.
    roles
        Roles of the runs to read, where there is a ``role``.

    Returns
    -------
    DataFrame
        By the contract ``case timeline``, sorted by case and time.

    Raises
    ------
    FrameError, PolicyError
        As for `harnesskit.case_flips`.

    Examples
    --------
    >>> rows = pd.DataFrame({"case_id": "a", "metric": "q", "run_id": ["r1", "r2", "r3"], "value": [0.9, 0.2, 0.8]})
    >>> case_timeline(rows, pass_at=0.5)["event"].tolist()
    ['born', 'broke', 'fixed']
    """
    CASE_SCORES.require(samples, "case_id", "metric", "value", by=_BY)
    rows = samples[samples["case_id"].notna()]
    if "role" in rows:
        rows = rows[rows["role"].isin(list(roles)) | rows["role"].isna()]
    rows = rows.reset_index(drop=True)
    for column, default in (("run_id", "run"), ("role", None), ("arm", None), ("occurred_at", None)):
        if column not in rows:
            rows[column] = pd.Series([default] * len(rows), dtype=object)
    trials = _whole_trials(rows, Metrics.of(metrics), pass_at)
    return _with_events(_per_run(rows, trials))


def _whole_trials(rows: pd.DataFrame, metrics: Metrics, pass_at: PassAt) -> pd.DataFrame:
    """Return one row per trial: the first of its rows, and 1, 0 or NaN over all metrics with a bar."""
    value = read_values(rows, _BY)
    named = rows["metric"].notna().to_numpy()
    bars = metric_bars(rows[named], value[named], metrics, pass_at, _BY)
    passed = np.full(len(rows), np.nan)
    passed[named] = passes(rows["metric"].to_numpy(dtype=object)[named], value[named], bars)
    code, names = pd.factorize(rows["metric"])
    with_bar = [str(name) in bars and not np.isnan(bars[str(name)].score) for name in names]
    barred = np.array([*with_bar, False], dtype=bool)[code]
    applies = np.ones(len(rows), dtype=bool)
    if "status" in rows:
        applies = rows["status"].ne("not_applicable").fillna(True).to_numpy(dtype=bool)
    keys = ["case_id", "run_id", "arm"]
    named_by = [c for c in ("trial", "pair", "sample_id") if c in rows]
    if not named_by:  # every row of a metric is a trial then
        rows = rows.assign(trial=rows.groupby([*keys, "metric"], dropna=False).cumcount())
    trial = codes_of(rows, [*keys, *(named_by or ["trial"])])
    size = int(trial.max(initial=-1)) + 1
    failed = np.bincount(trial, passed == 0, minlength=size) > 0
    held = np.bincount(trial, passed == 1, minlength=size) > 0
    lost = np.bincount(trial, (barred | ~named) & applies & np.isnan(passed), minlength=size) > 0
    state = np.where(failed, 0.0, np.where(held & ~lost, 1.0, np.nan))
    return pd.DataFrame({"row": np.unique(trial, return_index=True)[1], "passed": state})


def _per_run(rows: pd.DataFrame, trials: pd.DataFrame) -> pd.DataFrame:
    """Return one row per case, run and arm with its counts, sorted by case and time."""
    first = rows.loc[trials["row"], ["case_id", "run_id", "role", "arm", "occurred_at"]].reset_index(drop=True)
    cell = codes_of(first, ["case_id", "run_id", "arm"])
    size = int(cell.max(initial=-1)) + 1
    out = first.loc[np.unique(cell, return_index=True)[1], ["case_id", "run_id", "role", "arm"]].reset_index(drop=True)
    passed = trials["passed"].to_numpy(dtype=float)
    out["at"] = pd.to_datetime(first["occurred_at"], utc=True).groupby(cell).min().to_numpy()
    out["at"] = pd.to_datetime(out["at"], utc=True)
    out["n"] = np.bincount(cell, ~np.isnan(passed), minlength=size).astype(np.int64)
    out["passed"] = np.bincount(cell, np.nan_to_num(passed), minlength=size).astype(np.int64)
    out["n_unscored"] = np.bincount(cell, np.isnan(passed), minlength=size).astype(np.int64)
    out["_first"] = out["role"].ne("captured").fillna(True)  # a case is captured before it is replayed
    out = out.sort_values(["case_id", "_first", "at", "run_id"], kind="stable", na_position="first")
    return out.drop(columns="_first").reset_index(drop=True)


def _with_events(out: pd.DataFrame) -> pd.DataFrame:
    """Add the state of each row and its event against the last known state before."""
    n, passed = out["n"].to_numpy(), out["passed"].to_numpy()
    states = [n == 0, passed == n, passed == 0]
    out["state"] = np.select(states, ["none", "pass", "fail"], "mixed").astype(object)
    known = out["state"].where(out["state"].isin(["pass", "fail"]))  # a mixed run proves no change
    before: Any = known.groupby(out["case_id"]).ffill().groupby(out["case_id"]).shift()
    first = ~out["case_id"].duplicated().to_numpy()
    state, last = out["state"].to_numpy(dtype=object), before.to_numpy(dtype=object)
    broke, fixed = (state == "fail") & (last == "pass"), (state == "pass") & (last == "fail")
    cases = [first, state == "none", state == "mixed", broke, fixed]
    out["event"] = np.select(cases, ["born", "not scored", "flaky", "broke", "fixed"], "held").astype(object)
    return CASE_TIMELINE.order(out)
