"""The mean drop of the protected wins when no comparison is handed in: the same numbers as `compare_runs`.

Decisions know no measures, so the t interval of a mean is spelled out here; a test holds both to the same numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd
from scipy import special

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

    The columns are those of the contract ``comparison``. `deltas` is complete: sorted by case, with ``drop`` on the
    common scale.
    """
    there = (deltas["kind"] == kind) & deltas["drop"].notna()
    rows = deltas.loc[there, ["case_id", "metric", "drop", "cluster", "baseline_source", "tolerance", "unit"]]
    metric, metrics = pd.factorize(rows["metric"], sort=True)
    drop, cluster = rows["drop"].to_numpy(dtype=float), rows["cluster"].to_numpy(dtype=object)
    source, bar = rows["baseline_source"].to_numpy(dtype=object), (rows["tolerance"] / rows["unit"]).to_numpy()
    over_all = mean_drop(*_by_case(rows))
    found = []
    for code, name in enumerate(metrics):
        here = np.flatnonzero(metric == code)
        mean = mean_drop(drop[here], cluster[here])
        sources = sorted({text for text in source[here] if not pd.isna(text)})
        found.append(
            {
                "kind": kind, "metric": name, "n_paired": len(here), "drop": mean.mean, "drop_bound": mean.bound,
                "drop_p": mean.p, "drop_all": over_all.mean, "drop_all_p": over_all.p,
                "tolerance": float(bar[here[0]]), "baseline_source": sources[0] if len(sources) == 1 else "mixed",
            }
        )  # fmt: skip
    columns = [
        *("kind", "metric", "n_paired", "drop", "drop_bound", "drop_p"),
        *("drop_all", "drop_all_p", "tolerance", "baseline_source"),
    ]
    return pd.DataFrame(found, columns=columns)


def _by_case(rows: pd.DataFrame) -> tuple[NDArray[np.float64], NDArray[np.object_]]:
    """Return the mean drop of each case over its metrics, sorted by case, and its cluster."""
    codes, cases = pd.factorize(rows["case_id"], sort=True)
    count = np.maximum(np.bincount(codes, minlength=len(cases)), 1)
    drop = np.bincount(codes, rows["drop"].to_numpy(dtype=float), minlength=len(cases)) / count
    cluster = rows["cluster"].to_numpy(dtype=object)
    first = np.full(len(cases), None, dtype=object)
    named = np.flatnonzero(pd.notna(cluster))[::-1]
    first[codes[named]] = cluster[named]
    return drop, first


def mean_drop(drop: NDArray[np.float64], cluster: NDArray[np.object_]) -> Mean:
    """Return the mean, its one-sided 95 % upper bound, and the one-sided p-value of a drop; NaN for fewer than two.

    Over clusters (CR1, G - 1 degrees of freedom) when cases have one.
    """
    n = len(drop)
    if n < 2:
        return Mean(float(drop.mean()) if n else float("nan"), *_NO_INTERVAL)
    mean, group = float(drop.mean()) + 0.0, _groups(cluster)
    groups = int(group.max()) + 1
    if groups < 2:
        return Mean(mean, *_NO_INTERVAL)
    se = float(np.sqrt((np.bincount(group, drop - mean) ** 2).sum() * groups / (groups - 1))) / n
    if np.ptp(drop) < 1e-12:
        se = _LEAST_SD / groups**0.5
    df = groups - 1
    return Mean(
        mean, mean + -float(special.stdtrit(df, 0.05)) * se, float(special.stdtr(df, -mean / se)), se, float(df)
    )


def _groups(cluster: NDArray[np.object_]) -> NDArray[np.int64]:
    codes = pd.factorize(cluster)[0].astype(np.int64)
    alone = codes < 0
    codes[alone] = codes.max(initial=-1) + 1 + np.arange(int(alone.sum()))
    return codes
