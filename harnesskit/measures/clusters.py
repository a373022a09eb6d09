"""How sure the mean change is when cases come in families: over cases and over clusters, side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from harnesskit.model.analyses import CLUSTERS
from harnesskit.model.results import CASE_DELTAS
from harnesskit.stats.intervals import MeanInterval, mean_interval
from harnesskit.stats.noise import MIN_SD

if TYPE_CHECKING:
    from numpy.typing import NDArray

FEW_CLUSTERS = 10
"""Clusters below which an interval over them is doubtful (its standard error is too small on average)."""
NO_CLUSTERS = "no case has a cluster: every case stands alone"


def compare_clusters(deltas: pd.DataFrame) -> pd.DataFrame:
    """Give the mean change with its interval over cases and over clusters: two rows per kind and metric.

    Cases of one cluster (family, user, document) may move together; then the interval over cases is too short. Over
    clusters the standard error is CR1, sqrt(G/(G-1) sum_g (sum of residuals of g)^2) / n, with G - 1 degrees of freedom
    (Liang & Zeger 1986; Miller 2024). A case without a cluster is a cluster of its own.

    Parameters
    ----------
    deltas
        Case deltas; reads ``case_id, metric, delta``, and when there ``kind`` (default win), ``cluster``, ``unit``.

    Returns
    -------
    DataFrame
        By the contract ``comparison by clusters``, sorted by its key. Without any cluster the row ``clusters`` has no
        interval and ``warning`` says so.

    Raises
    ------
    FrameError
        A column is missing.

    Examples
    --------
    >>> rows = pd.DataFrame({"case_id": list("abcd"), "metric": "q", "delta": [-0.1, -0.1, 0.0, 0.02]})
    >>> found = compare_clusters(rows.assign(cluster=["f", "f", "g", "g"]))
    >>> found[["over", "n", "low", "high"]].round(2).values.tolist()
    [['cases', 4, -0.15, 0.06], ['clusters', 2, -0.74, 0.65]]
    """
    CASE_DELTAS.require(deltas, "case_id", "metric", "delta", by="compare_clusters()")
    known = deltas.assign(**{k: v for k, v in (("kind", "win"), ("cluster", None), ("unit", 1.0)) if k not in deltas})
    known = known[known["delta"].notna()].sort_values(["case_id", "metric"], kind="stable")
    rows = []
    for (kind, metric), group in known.groupby(["kind", "metric"], sort=True):
        rows += [{"kind": kind, "metric": metric, **row} for row in _two_rows(group)]
    return pd.DataFrame(rows, columns=list(CLUSTERS.columns)).astype({"n": "Int64", "used": bool})


def groups_of(cluster: pd.Series[Any]) -> NDArray[np.int64] | None:
    """Return a group number per case, a case without a cluster being its own; None when no case has one.

    Examples
    --------
    >>> groups_of(pd.Series(["f", None, "f"])).tolist(), groups_of(pd.Series([None, None]))
    ([0, 1, 0], None)
    """
    codes = pd.factorize(cluster)[0].astype(np.int64)
    if not (codes >= 0).any():
        return None
    alone = codes < 0
    codes[alone] = codes.max(initial=-1) + 1 + np.arange(int(alone.sum()))
    return codes


def both_intervals(rows: pd.DataFrame) -> tuple[MeanInterval, MeanInterval | None, int]:
    """Return the interval of the mean ``delta`` over cases, over clusters (None without any), and the clusters.

    Parameters
    ----------
    rows
        The paired changes of one kind and metric: ``delta, cluster, unit``.
    """
    unit = rows["unit"].iloc[0] if len(rows) else None
    least = MIN_SD * (1.0 if unit is None or pd.isna(unit) else float(unit))
    delta, groups = rows["delta"].to_numpy(dtype=float), groups_of(rows["cluster"])
    over_cases = mean_interval(delta, sd_if_equal=least)
    if groups is None:
        return over_cases, None, 0
    return over_cases, mean_interval(delta, groups, sd_if_equal=least), int(groups.max()) + 1


def _two_rows(group: pd.DataFrame) -> list[dict[str, Any]]:
    over_cases, over_clusters, n_clusters = both_intervals(group)
    few = f"fewer than {FEW_CLUSTERS} clusters ({n_clusters}): the interval may be too short"
    alone = None if len(group) > 1 else "one case: no interval"
    doubt = NO_CLUSTERS if over_clusters is None else few if n_clusters < FEW_CLUSTERS else None
    nothing = mean_interval([])._replace(mean=over_cases.mean)
    return [
        _row("cases", len(group), over_cases, over_cases, over_clusters is None, alone),
        _row("clusters", n_clusters, over_clusters or nothing, over_cases, over_clusters is not None, doubt),
    ]


def _row(
    over: str, n: int, found: MeanInterval, cases: MeanInterval, used: bool, warning: str | None
) -> dict[str, Any]:
    effect = (found.se / cases.se) ** 2 if cases.se > 0 else float("nan")
    return {
        "over": over, "n": n, "delta": found.mean, "low": found.low, "high": found.high, "se": found.se,
        "df": found.df, "design_effect": effect, "used": used, "warning": warning,
    }  # fmt: skip
