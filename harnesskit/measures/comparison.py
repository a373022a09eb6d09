"""Two runs as a whole: the mean change over the cases that both have, per kind and metric."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from harnesskit.measures.clusters import both_intervals, groups_of
from harnesskit.measures.pairing import RECORDED
from harnesskit.model.contract import require_kinds
from harnesskit.model.decision import CASE_STATUSES
from harnesskit.model.names import in_order, names_if_text
from harnesskit.model.results import CASE_DELTAS, COMPARISON, ONLY_BASELINE, ONLY_CANDIDATE
from harnesskit.stats.intervals import MeanInterval, mean_interval, mean_upper
from harnesskit.stats.noise import MIN_SD
from harnesskit.stats.tails import t_sf

CAPTURED = (
    "captured baseline: the scores are why the cases were kept, so part of the change is selection "
    "(wins tend to fall, failures to rise)"
)
_CLIPPED_SHARE = 0.05
_NAMES = ("case_id", "kind", "metric", "status", "reason", "baseline_source", "interval_kind", "cluster", "note")
_READ = (
    *("delta", "baseline", "candidate", "n_baseline", "n_candidate", "unit", "higher_is_better", "tolerance"),
    *("n_clipped", *_NAMES),
)
_COUNTS = tuple(c for c in COMPARISON.columns if c.startswith("n_"))


def compare_runs(deltas: pd.DataFrame) -> pd.DataFrame:
    """Summarise case deltas: one row per kind and metric, over the cases scored on both sides.

    The interval is a t interval over the changes of cases (the case is the unit, however many trials it has); where a
    ``cluster`` groups cases, over clusters (CR1 with G - 1 degrees of freedom, Miller 2024). Cases on one side only
    are counted, not compared.

    Parameters
    ----------
    deltas
        Case deltas; reads ``case_id, metric, delta``, and when there ``kind`` (default win), ``baseline, candidate,
        status, n_baseline, n_candidate, baseline_source, unit, higher_is_better, tolerance, cluster, n_clipped``.

    Returns
    -------
    DataFrame
        By the contract ``comparison``, sorted by kind and metric. ``percent`` is missing when the baseline mean is 0.
        ``drop`` columns are on the 0-to-1 scale and positive when worse.

    Raises
    ------
    FrameError
        A column is missing, or a kind is neither win nor failure.

    Examples
    --------
    >>> rows = pd.DataFrame({"case_id": ["a", "b", "c"], "metric": "q", "delta": [-0.1, -0.2, -0.15]})
    >>> row = compare_runs(rows).iloc[0]
    >>> int(row["n_paired"]), round(float(row["delta"]), 3), round(float(row["drop_bound"]), 3)
    (3, -0.15, 0.234)
    """
    CASE_DELTAS.require(deltas, "case_id", "metric", "delta", by="compare_runs()")
    if "kind" in deltas:
        require_kinds(deltas["kind"], by="compare_runs()")
    known = _completed(deltas)
    rows = []
    for kind, of_kind in known.groupby("kind", sort=True, observed=True):
        overall = _overall(of_kind)
        for metric, group in of_kind.groupby("metric", sort=True, observed=True):
            rows.append({"kind": kind, "metric": metric, **_summary(group), **overall})
    frame = pd.DataFrame(rows, columns=list(COMPARISON.columns))
    return COMPARISON.order(frame.astype(dict.fromkeys(_COUNTS, "Int64")))


def percent_change(baseline: float, delta: float) -> float:
    """Return a change as a percentage of the baseline; NaN when that is 0 or missing.

    Examples
    --------
    >>> percent_change(0.4, -0.4), percent_change(0.0, 0.4)
    (-100.0, nan)
    """
    return float("nan") if not abs(baseline) > 1e-12 else 100 * delta / abs(baseline)


def _completed(deltas: pd.DataFrame) -> pd.DataFrame:
    """Return the columns that a summary reads, hand-made frames filled with what is assumed of them."""
    out = deltas[[name for name in _READ if name in deltas]].reset_index(drop=True)
    out = out.assign(**{name: names_if_text(out[name]) for name in _NAMES if name in out})
    paired = out["delta"].notna().astype(int)
    defaults: dict[str, Any] = {
        "kind": "win", "baseline": np.nan, "candidate": np.nan, "status": None, "n_baseline": paired,
        "n_candidate": paired, "baseline_source": "control", "unit": 1.0, "higher_is_better": True,
        "tolerance": out["unit"] / 10 if "unit" in out else 0.1, "cluster": None, "n_clipped": 0,
        "reason": None, "note": None,
    }  # fmt: skip
    for name, value in defaults.items():
        if name not in out:
            out[name] = value
    blank = out["kind"].isna() | (out["kind"] == "")
    if blank.any():
        out["kind"] = out["kind"].astype(object).mask(blank, "win")
    sign = np.where(out["higher_is_better"].eq(False).fillna(False).astype(bool), 1.0, -1.0)
    out["drop"] = sign * out["delta"].astype(float) / out["unit"].astype(float)
    if in_order(out["case_id"], out["metric"]):
        return out
    return out.sort_values(["case_id", "metric"], kind="stable", ignore_index=True)


def _summary(group: pd.DataFrame) -> dict[str, Any]:
    has = group["delta"].notna()
    paired = group if has.all() else group[has]
    unit = float(paired["unit"].iloc[0]) if len(paired) and pd.notna(paired["unit"].iloc[0]) else float("nan")
    change = _mean(paired["delta"], paired["cluster"], 1.0 if np.isnan(unit) else unit)
    drop = _mean(paired["drop"], paired["cluster"], 1.0) if not np.isnan(unit) else _nothing()
    before, after = (
        float(paired[c].astype(float).mean()) if len(paired) else np.nan for c in ("baseline", "candidate")
    )
    direction = group["higher_is_better"].iloc[0]
    return {
        **_case_counts(group),
        "baseline": before, "candidate": after, "delta": change.mean, "low": change.low, "high": change.high,
        **_over_cases_and_clusters(paired),
        "interval_kind": change.kind or None, "drop_bound": mean_upper(drop) if drop.kind else np.nan,
        "drop": drop.mean + 0.0, "drop_p": _p_drop(drop), "percent": percent_change(before, change.mean),
        "higher_is_better": None if pd.isna(direction) else bool(direction),
        "tolerance": float(group["tolerance"].iloc[0]) / unit if not np.isnan(unit) else np.nan,
        "baseline_source": _source(paired), "warning": _warning(group, paired, unit),
    }  # fmt: skip


def _over_cases_and_clusters(paired: pd.DataFrame) -> dict[str, Any]:
    cases, clusters, n_clusters = both_intervals(paired)
    return {
        "cases_low": cases.low, "cases_high": cases.high, "n_clusters": n_clusters,
        "clusters_low": clusters.low if clusters else np.nan, "clusters_high": clusters.high if clusters else np.nan,
    }  # fmt: skip


def _case_counts(group: pd.DataFrame) -> dict[str, int]:
    before, after = group["n_baseline"].fillna(0) > 0, group["n_candidate"].fillna(0) > 0
    both = group.loc[~group["reason"].isin([ONLY_BASELINE, ONLY_CANDIDATE]), "status"]
    counts = {f"n_{status}": int((both == status).sum()) for status in CASE_STATUSES}
    return {
        "n_cases": len(group),
        "n_paired": int(group["delta"].notna().sum()),
        "n_baseline_only": int((before & ~after).sum()),
        "n_candidate_only": int((after & ~before).sum()),
        **counts,
    }


def _overall(kind: pd.DataFrame) -> dict[str, float]:
    """Return the mean drop over cases of their mean over metrics, and its one-sided p-value."""
    judged = kind.loc[kind["drop"].notna(), ["case_id", "drop", "cluster"]]
    by_case = judged.groupby("case_id", sort=True, observed=True)
    cluster = by_case["cluster"].first() if judged["cluster"].notna().any() else judged["cluster"].head(0)
    interval = _mean(by_case["drop"].mean(), cluster, 1.0)
    return {"drop_all": interval.mean + 0.0, "drop_all_p": _p_drop(interval)}


def _mean(values: pd.Series[Any], cluster: pd.Series[Any], unit: float) -> MeanInterval:
    return mean_interval(values.to_numpy(dtype=float), groups_of(cluster), sd_if_equal=MIN_SD * unit)


def _nothing() -> MeanInterval:
    return mean_interval([])


def _p_drop(drop: MeanInterval) -> float:
    return float(t_sf(drop.mean / drop.se, drop.df)) if drop.kind else float("nan")


def _source(paired: pd.DataFrame) -> str | None:
    found = sorted(paired["baseline_source"].dropna().unique())
    return None if not found else str(found[0]) if len(found) == 1 else "mixed"


def _warning(group: pd.DataFrame, paired: pd.DataFrame, unit: float) -> str | None:
    doubts = []
    if len(paired) and np.isnan(unit):
        said = paired["reason"].dropna().head(1).tolist()
        doubts.append(str(said[0]) if said else "no verdict is possible on this metric")
    apart = group["delta"].isna() & (group["n_baseline"].fillna(0) > 0) & (group["n_candidate"].fillna(0) > 0)
    doubts += [f"not compared, {reason}" for reason in sorted(set(group.loc[apart, "reason"].dropna()))[:1]]
    doubts += sorted(n for n in map(str, paired["note"].dropna().unique()) if n.startswith(RECORDED))[:1]
    if (paired["baseline_source"] == "captured").any():
        doubts.append(CAPTURED)
    if len(paired) < 2:
        doubts.append(f"fewer than 2 cases with a score on both sides ({len(paired)}): no interval")
    elif len(paired) < len(group):
        doubts.append(f"{len(group) - len(paired)} of {len(group)} cases without a score on both sides")
    runs = float((paired["n_baseline"] + paired["n_candidate"]).sum())
    if runs and float(paired["n_clipped"].sum()) / runs > _CLIPPED_SHARE:
        doubts.append("more than 5 % of the runs lie far from their case: some runs collapse")
    if "interval_kind" in paired and any("repeats alike" in str(kind) for kind in paired["interval_kind"].unique()):
        doubts.append("most repeats give the same score: they may not be independent")
    return "; ".join(doubts) or None
