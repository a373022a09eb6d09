"""Per case: the metric that scatters most between trials of one run, and by how much."""

from __future__ import annotations

import numpy as np
import pandas as pd

from harnesskit.measures.trial_passes import codes_of
from harnesskit.model.metrics import Metrics


def noisiest_metrics(rows: pd.DataFrame, metrics: Metrics) -> pd.DataFrame:
    """Return one row per case with repeats: case_id, noise_metric, noise_sd (own unit), noise_df.

    The variance within a run and arm, pooled over runs; metrics are compared in units of their range.

    Parameters
    ----------
    rows
        ``case_id, metric, value`` (NaN where there is no score), ``run_id, arm`` when there.

    Examples
    --------
    >>> rows = pd.DataFrame({"case_id": "a", "metric": ["p", "q"] * 2, "value": [0.1, 0.5, 0.1, 0.7]})
    >>> noisiest_metrics(rows, Metrics())[["noise_metric", "noise_df"]].to_numpy().tolist()
    [['q', 1]]
    """
    scored = rows[rows["value"].notna() & rows["metric"].notna()].reset_index(drop=True)
    run = codes_of(scored, [c for c in ("case_id", "metric", "grader", "run_id", "arm") if c in scored])
    size = int(run.max(initial=-1)) + 1
    value = scored["value"].to_numpy(dtype=float)
    n = np.bincount(run, minlength=size).astype(float)
    mean = np.bincount(run, value, minlength=size) / np.maximum(n, 1)
    squares = np.bincount(run, (value - mean[run]) ** 2, minlength=size)
    first = np.unique(run, return_index=True)[1]
    runs = scored.loc[first, ["case_id", "metric"]].reset_index(drop=True).assign(ss=squares, df=n - 1)
    found = runs[runs["df"] > 0].groupby(["case_id", "metric"], sort=True)[["ss", "df"]].sum().reset_index()
    found["noise_sd"] = np.sqrt(found["ss"] / found["df"])
    ends = {name: (metrics[name].low, metrics[name].high) for name in found["metric"].unique()}
    unit = {name: high - low for name, (low, high) in ends.items() if low is not None and high is not None}
    found["scaled"] = found["noise_sd"] / found["metric"].map(unit).astype(float).fillna(1.0)
    most = found.sort_values(["case_id", "scaled"], ascending=[True, False], kind="stable").drop_duplicates("case_id")
    named = most.rename(columns={"metric": "noise_metric", "df": "noise_df"})
    return named[["case_id", "noise_metric", "noise_sd", "noise_df"]].astype({"noise_df": int}).reset_index(drop=True)
