"""The mean drop of the protected wins when no comparison is handed in: the same numbers as `compare_runs`.

Decisions know no measures, so the t interval of a mean is spelled out here; a test holds both to the same numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

if TYPE_CHECKING:
    from numpy.typing import NDArray

_NO_INTERVAL = (float("nan"),) * 4
_LEAST_SD = 0.02  # of equal changes: they are no proof of no noise


class Mean(NamedTuple):
    """A mean drop: NaN where it has no interval."""

    mean: float
    bound: float
    p: float
    se: float
    df: float


def mean_drops(deltas: pd.DataFrame, kind: str = "win") -> pd.DataFrame:
    """Return one row per metric of a kind: ``n_paired, drop, drop_bound, drop_p, drop_all, drop_all_p, ...``.

    The columns are those of the contract ``comparison``. `deltas` is complete: it has ``drop`` on the common scale.
    """
    rows = deltas[(deltas["kind"] == kind) & deltas["drop"].notna()]
    by_case = _by_case(rows)
    over_all = mean_drop(by_case)
    found = []
    for metric, group in rows.groupby("metric", sort=True):
        drop = mean_drop(group.sort_values("case_id"))
        sources = sorted(set(group["baseline_source"].dropna()))
        found.append(
            {
                "kind": kind, "metric": metric, "n_paired": len(group), "drop": drop.mean, "drop_bound": drop.bound,
                "drop_p": drop.p, "drop_all": over_all.mean, "drop_all_p": over_all.p,
                "tolerance": float((group["tolerance"] / group["unit"]).iloc[0]),
                "baseline_source": sources[0] if len(sources) == 1 else "mixed",
            }
        )  # fmt: skip
    columns = [
        *("kind", "metric", "n_paired", "drop", "drop_bound", "drop_p"),
        *("drop_all", "drop_all_p", "tolerance", "baseline_source"),
    ]
    return pd.DataFrame(found, columns=columns)


def _by_case(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the mean drop of each case over its metrics, sorted by case, with its cluster."""
    codes, cases = pd.factorize(rows["case_id"], sort=True)
    count = np.maximum(np.bincount(codes, minlength=len(cases)), 1)
    drop = np.bincount(codes, rows["drop"].to_numpy(dtype=float), minlength=len(cases)) / count
    cluster = rows["cluster"].to_numpy(dtype=object)
    first = np.full(len(cases), None, dtype=object)
    named = np.flatnonzero(pd.notna(cluster))[::-1]
    first[codes[named]] = cluster[named]
    return pd.DataFrame({"drop": drop, "cluster": first}, index=cases)


def mean_drop(rows: pd.DataFrame) -> Mean:
    """Return the mean, its one-sided 95 % upper bound, and the one-sided p-value of a drop; NaN for fewer than two.

    Reads ``drop`` and ``cluster``; over clusters (CR1, G - 1 degrees of freedom) when cases have one.
    """
    drop = rows["drop"].to_numpy(dtype=float)
    n = len(drop)
    if n < 2:
        return Mean(float(drop.mean()) if n else float("nan"), *_NO_INTERVAL)
    mean, group = float(drop.mean()) + 0.0, _groups(rows["cluster"])
    groups = int(group.max()) + 1
    if groups < 2:
        return Mean(mean, *_NO_INTERVAL)
    se = float(np.sqrt((np.bincount(group, drop - mean) ** 2).sum() * groups / (groups - 1))) / n
    if np.ptp(drop) < 1e-12:
        se = _LEAST_SD / groups**0.5
    df = groups - 1
    return Mean(mean, mean + float(stats.t.isf(0.05, df)) * se, float(stats.t.sf(mean / se, df)), se, float(df))


def _groups(cluster: pd.Series[Any]) -> NDArray[np.int64]:
    codes = pd.factorize(cluster)[0].astype(np.int64)
    alone = codes < 0
    codes[alone] = codes.max(initial=-1) + 1 + np.arange(int(alone.sum()))
    return codes
