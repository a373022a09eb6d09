"""What the missing scores could hide: the mean change with all of them at their worst, and at their best."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from harnesskit.measures.clusters import groups_of
from harnesskit.measures.evidence import scales
from harnesskit.measures.pairing import BASELINE, CANDIDATE, Pairs, pair_cases, with_texts
from harnesskit.measures.trials import SKIPPED
from harnesskit.model.analyses import MISSING
from harnesskit.model.metrics import Metric, Metrics
from harnesskit.model.policy import RegressionPolicy
from harnesskit.stats.intervals import mean_interval, mean_upper
from harnesskit.stats.noise import MIN_SD

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

MOST_MISSING = 0.3
"""Share of all attempts without a score beyond which a verdict must hold with them at their worst."""
MOST_APART = 0.2
"""Difference of the shares of both sides beyond which it must."""
_TOLERANCE = 0.1


def missing_bounds(
    baseline: pd.DataFrame,
    candidate: pd.DataFrame,
    *,
    policy: str | RegressionPolicy = "default",
    metrics: Iterable[Metric] | None = None,
) -> pd.DataFrame:
    """Bound the mean change by the scores that are missing: one row per kind and metric.

    An attempt without a score is taken at the worst end of the range for the candidate and at the best end for the
    baseline (``drop_worst``), and the other way round (``drop_best``): whatever the missing scores are, the mean drop
    of the attempts lies between. Where more than 30 % are missing, or the shares of both sides differ by more than
    20 points, a verdict must hold at the worst (``excessive``). Cases that one side never attempted are not bounded.

    Parameters
    ----------
    baseline, candidate, policy, metrics
        As for `harnesskit.case_deltas`; of the policy only `failed_runs` is used: what counts as failed is not missing.

    Returns
    -------
    DataFrame
        By the contract ``missing-score bounds``, sorted by kind and metric.

    Raises
    ------
    FrameError
        A column is missing, a score is text, or one metric has two graders.

    Examples
    --------
    >>> before = pd.DataFrame({"case_id": ["a", "a", "b", "b"], "metric": "q", "value": [0.9, 0.8, 0.7, 0.8]})
    >>> row = missing_bounds(before, before.assign(value=[0.9, None, 0.7, None])).iloc[0]
    >>> float(row["missing_candidate"]), bool(row["excessive"])
    (0.5, True)
    >>> [round(float(row[c]), 3) for c in ("drop", "drop_worst", "drop_best")]
    [0.0, 0.4, -0.1]
    """
    known = Metrics.of(metrics)
    counts = RegressionPolicy.parse(policy).counts_failed
    pairs = pair_cases(baseline, candidate, known, by="missing_bounds()", failed_count=counts)
    scale = scales(pairs, known)
    work = _attempts(pairs).join(scale, on="metric")
    _bound_cases(work)
    rows = [
        {"kind": kind, "metric": metric, **_row(group)}
        for (kind, metric), group in work.groupby(["kind", "metric"], sort=True)
    ]
    frame = pd.DataFrame(rows, columns=list(MISSING.columns))
    return frame.astype({**dict.fromkeys(("n_cases", "n_baseline", "n_candidate"), "Int64"), "excessive": bool})


def _attempts(pairs: Pairs) -> pd.DataFrame:
    """Return the cells with the attempts, the scored ones and the sum of scores of each side."""
    work = with_texts(pairs.cells[["case_id", "kind", "metric", "cluster"]])
    cell, arm = (pairs.trials[c].to_numpy(dtype=np.int64) for c in ("cell", "arm"))
    tried = (pairs.trials["state"] != SKIPPED).to_numpy(dtype=bool)
    run_cell, run_arm = (pairs.runs[c].to_numpy(dtype=np.int64) for c in ("cell", "arm"))
    value = pairs.runs["value"].to_numpy(dtype=float)
    for code, side in ((BASELINE, "baseline"), (CANDIDATE, "candidate")):
        work[f"tried_{side}"] = np.bincount(cell[tried & (arm == code)], minlength=len(work))
        work[f"scored_{side}"] = np.bincount(run_cell[run_arm == code], minlength=len(work))
        work[f"sum_{side}"] = np.bincount(run_cell[run_arm == code], value[run_arm == code], minlength=len(work))
    return work[(work["tried_baseline"] > 0) & (work["tried_candidate"] > 0)]


def _bound_cases(work: pd.DataFrame) -> None:
    """Add each case's drop as scored, and with its missing scores at either end, on the common scale."""
    unit, low, high = (work[c].to_numpy(dtype=float) for c in ("unit", "range_low", "range_high"))
    lower = work["higher_is_better"].eq(False).fillna(False).to_numpy(dtype=bool)
    sign, worst, best = np.where(lower, 1.0, -1.0), np.where(lower, high, low), np.where(lower, low, high)

    def mean(side: str, end: Floats) -> Floats:
        tried, scored, total = (work[f"{c}_{side}"].to_numpy(dtype=float) for c in ("tried", "scored", "sum"))
        lost = tried - scored
        with np.errstate(invalid="ignore"):
            return np.asarray((total + np.where(lost > 0, lost * end, 0.0)) / tried, dtype=float)

    work["worst"] = sign * (mean("candidate", worst) - mean("baseline", best)) / unit
    work["best"] = sign * (mean("candidate", best) - mean("baseline", worst)) / unit
    before, after = (
        work[f"sum_{side}"] / work[f"scored_{side}"].where(work[f"scored_{side}"] > 0)
        for side in ("baseline", "candidate")
    )
    work["drop"] = sign * (after - before) / unit


def _row(group: pd.DataFrame) -> dict[str, Any]:
    tried = [int(group[f"tried_{side}"].sum()) for side in ("baseline", "candidate")]
    lost = [n - int(group[f"scored_{side}"].sum()) for n, side in zip(tried, ("baseline", "candidate"), strict=True)]
    before, after = (k / n for k, n in zip(lost, tried, strict=True))
    overall = sum(lost) / sum(tried)
    group = group.sort_values("case_id", kind="stable")
    worst = mean_interval(group["worst"].to_numpy(dtype=float), groups_of(group["cluster"]), sd_if_equal=MIN_SD)
    unit, tolerance = group["unit"].iloc[0], group["tolerance"].iloc[0]
    return {
        "n_cases": len(group), "n_baseline": tried[0], "n_candidate": tried[1],
        "missing_baseline": before, "missing_candidate": after, "missing": overall,
        "excessive": abs(after - before) > MOST_APART + 1e-9 or overall > MOST_MISSING + 1e-9,
        "drop": float(group["drop"].mean()), "drop_worst": worst.mean,
        "drop_worst_bound": mean_upper(worst) if worst.kind else float("nan"), "drop_best": float(group["best"].mean()),
        "tolerance": np.nan if pd.isna(unit) else _TOLERANCE if pd.isna(tolerance) else float(tolerance) / float(unit),
    }  # fmt: skip
