"""Does a breach mean a failure? One metric after the other, against labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from harnesskit.measures.calibration_words import warning_of
from harnesskit.measures.session_scores import Reduce, SessionScores, session_scores
from harnesskit.measures.threshold_sweep import check_policy, counts_of, design_effect, grid_of, oriented
from harnesskit.model.calibration import CALIBRATION
from harnesskit.model.errors import PolicyError
from harnesskit.model.metrics import Metric, Metrics
from harnesskit.stats.sweeps import (
    Sweep,
    best_f1,
    cheapest,
    class_cells,
    f1_band,
    f1_scores,
    lowest_precise,
    resampled,
    resampled_clusters,
    share_band,
    sweep,
)
from harnesskit.stats.thresholds import certify_counts

if TYPE_CHECKING:
    from numpy.typing import NDArray

FEWEST = 10
"""Failed and good sessions below which a metric counts as not calibrated (METHODS 7.1)."""


@dataclass(frozen=True)
class Asked:
    """What was asked of one calibration."""

    grid: tuple[float, ...] | None
    target: float
    delta: float
    cost_missed: float | None
    cost_false_alarm: float | None
    draws: int
    seed: int
    policy: str


def calibrate(
    scores: pd.DataFrame,
    labels: pd.DataFrame | Mapping[Any, Any] | None = None,
    *,
    target_precision: float = 0.9,
    delta: float = 0.1,
    cost_missed: float | None = None,
    cost_false_alarm: float | None = None,
    thresholds: Iterable[float] | None = None,
    metrics: Iterable[Metric] | None = None,
    reduce: Reduce = "mean",
    policy: str = "default",
    draws: int = 200,
    seed: int = 0,
) -> pd.DataFrame:
    """Hold the breaches of every metric against labels: one row per metric.

    The unit is the session. Rates at the configured threshold have exact intervals. The threshold of the best F1 is the
    middle of the plateau of the smoothed curve, with a bootstrap interval, and its F1 is corrected for optimism. The
    certified threshold has the largest recall of those whose precision is above the target, wrong with chance at most
    `delta` (Learn then Test, Angelopoulos et al. 2021): thresholds are tested upward from the lowest that could pass.

    Parameters
    ----------
    scores, labels, thresholds, metrics, reduce
        See `hk.sweep_thresholds`. A session without a usable score is counted, and in no rate.
    target_precision
        Share of alarms that must be failures.
    delta
        Chance that the certified threshold misses the target.
    cost_missed, cost_false_alarm
        What a missed failure and a false alarm cost, in one unit; both or none.
    policy
        ``reference`` computes what the reference's calibrate command reports: best F1 on the same labels, the lowest
        threshold that reaches the target, no certificate.
    draws, seed
        Bootstrap samples, and their seed.

    Raises
    ------
    FrameError
        A column is missing, a value is no number, or several graders scored one metric.
    PolicyError
        A number asked for is out of range.

    Examples
    --------
    >>> scores = pd.DataFrame({"session_id": range(100), "metric": "coherence", "value": [i / 100 for i in range(100)]})
    >>> found = calibrate(scores, {i: i < 48 for i in range(100)}, target_precision=0.8).iloc[0]
    >>> found["state"], float(found["certified_threshold"]), int(found["tp"]), int(found["fp"])
    ('calibrated', 0.5, 48, 2)
    """
    check_policy(policy, "calibrate()")
    grid = None if thresholds is None else tuple(thresholds)
    asked = Asked(grid, target_precision, delta, cost_missed, cost_false_alarm, draws, seed, policy)
    _check(asked)
    known = Metrics.of(metrics)
    how: Reduce = "last" if policy == "reference" else reduce
    rows = [_row(one, asked) for one in session_scores(scores, labels, metrics=known, reduce=how, by="calibrate()")]
    columns = list(CALIBRATION.columns)
    return CALIBRATION.order(pd.DataFrame(rows, columns=columns))


def _check(asked: Asked) -> None:
    for name, value in (("target_precision", asked.target), ("delta", asked.delta)):
        if not 0 < value < 1:
            raise PolicyError(f"calibrate(): {name} must be between 0 and 1; found {value!r}.")
    costs = (asked.cost_missed, asked.cost_false_alarm)
    if (costs[0] is None) != (costs[1] is None):
        raise PolicyError("calibrate(): give both cost_missed and cost_false_alarm, or none.")
    if any(cost is not None and not cost >= 0 for cost in costs):
        raise PolicyError(f"calibrate(): a cost must be 0 or more; found {costs!r}.")
    if asked.draws < 20:
        raise PolicyError(f"calibrate(): draws must be at least 20; found {asked.draws!r}.")


def _row(one: SessionScores, asked: Asked) -> dict[str, Any]:
    metric, at, scored = one.metric, one.labelled, one.scored
    lost = not metric.declared and one.out_of_range > 0
    row: dict[str, Any] = {
        "metric": metric.name,
        "threshold": metric.threshold,
        "n_sessions": len(one.value),
        "n_scored": int(scored.sum()),
        "n_unscored": int((~scored).sum()),
        "n_label_only": one.label_only,
        "n_disputed": one.disputed,
        "n_labelled": int(at.sum()),
        "n_failed": int((one.failed[at] > 0).sum()),
        "target_precision": asked.target,
        **_described(one.value[scored]),
    }
    good = row["n_labelled"] - row["n_failed"]
    if metric.higher_is_better is None or lost:
        row["state"] = "no scale"
    elif not row["n_labelled"]:
        row["state"] = "unlabelled"
    else:
        row["state"] = "calibrated" if min(row["n_failed"], good) >= FEWEST else "not calibrated"
    if row["state"] != "no scale":
        row |= _at_threshold(one, asked)
        if row["n_labelled"]:
            row |= _chosen(one, asked)
    row["warning"] = warning_of(one, row, lost=lost)
    return row


def _described(values: NDArray[np.float64]) -> dict[str, float]:
    if not len(values):
        return {}
    found = {name: float(fn(values)) for name, fn in
             (("minimum", np.min), ("median", np.median), ("mean", np.mean), ("maximum", np.max))}  # fmt: skip
    return found | ({"sd": float(np.std(values, ddof=1))} if len(values) > 1 else {})


def _at_threshold(one: SessionScores, asked: Asked) -> dict[str, Any]:
    """Return what the configured threshold does."""
    if one.metric.threshold is None:
        return {}
    value, grid = oriented(one, np.array([one.metric.threshold]), asked.policy)
    out: dict[str, Any] = {"breaches": int((value[one.scored] < grid[0]).sum())}
    at = one.labelled
    if not at.any():
        return out
    found = sweep(value[at], one.failed[at] > 0, grid)
    counts = {name: int(np.ravel(count)[0]) for name, count in counts_of(found).items() if name != "n_labelled"}
    effect = design_effect(one)
    good = found.labelled - found.failed
    shares = {
        "precision": (counts["tp"], int(found.flagged[0])),
        "recall": (counts["tp"], found.failed),
        "false_alarm_rate": (counts["fp"], good),
    }
    none = 0.0 if asked.policy == "reference" else np.nan
    for name, (hits, of) in shares.items():
        band = share_band([hits / effect], [of / effect])
        out |= {name: hits / of if of else none, f"{name}_low": band.low[0], f"{name}_high": band.high[0]}
    band = f1_band(found, effect=effect)
    f1 = float(f1_scores(found.hits, found.flagged, [found.failed])[0])
    known = asked.policy == "reference" or found.flagged[0] + found.failed > 0
    out |= {"f1": f1 if known else np.nan, "f1_low": band.low[0], "f1_high": band.high[0]}
    if asked.cost_missed is not None and asked.cost_false_alarm is not None:
        out["cost"] = (asked.cost_missed * counts["fn"] + asked.cost_false_alarm * counts["fp"]) / found.labelled
    return out | counts


def _chosen(one: SessionScores, asked: Asked) -> dict[str, Any]:
    """Return the thresholds that the labels speak for."""
    value, grid = oriented(one, grid_of(one, asked.grid, asked.policy), asked.policy)
    sign, at = (-1.0 if one.metric.higher_is_better is False else 1.0), one.labelled
    x, bad = value[at], one.failed[at] > 0
    found = sweep(x, bad, grid)
    lowest = lowest_precise(found, asked.target)
    out: dict[str, Any] = {} if lowest is None else {
        "lowest_threshold": sign * lowest, "lowest_recall": _recall_at(found, lowest)}  # fmt: skip
    if asked.policy == "reference":
        curve = f1_scores(found.hits, found.flagged, np.full(len(grid), found.failed))
        return out | {"best_threshold": sign * float(grid[curve.argmax()]), "best_f1": float(curve.max())}
    if 0 < found.failed < found.labelled:
        out |= _best(one, asked, found, (x, bad), sign)
    sure = certify_counts(
        found.flagged, found.hits, grid, failed=found.failed, labelled=found.labelled, target=asked.target,
        delta=asked.delta, effect=design_effect(one),
    )  # fmt: skip
    out["labels_needed"] = sure.more_labels
    if sure.threshold is not None:
        out |= {
            "certified_threshold": sign * sure.threshold, "certified_recall": sure.recall,
            "certified_precision": sure.hits / sure.flagged, "certified_flagged": sure.flagged,
        }  # fmt: skip
    if asked.cost_missed is not None and asked.cost_false_alarm is not None:
        threshold, cost = cheapest(found, missed=asked.cost_missed, false_alarm=asked.cost_false_alarm)
        out |= {"cheapest_threshold": None if threshold is None else sign * threshold, "cheapest_cost": cost}
    return out


def _best(
    one: SessionScores, asked: Asked, found: Sweep, data: tuple[NDArray[Any], NDArray[Any]], sign: float
) -> dict[str, Any]:
    how: dict[str, Any] = {"draws": asked.draws, "seed": asked.seed}
    cluster = None if one.cluster is None else one.cluster[one.labelled]
    if cluster is None or len(np.unique(cluster)) == len(cluster):
        samples = resampled(class_cells(*data, found.grid), **how)
    else:
        samples = resampled_clusters(*data, cluster, found.grid, **how)
    best = best_f1(found, samples)
    low, high = sorted((sign * best.low, sign * best.high))
    return {
        "best_threshold": sign * best.threshold, "best_threshold_low": low, "best_threshold_high": high,
        "best_f1": best.f1, "best_f1_expected": best.corrected,
    }  # fmt: skip


def _recall_at(found: Sweep, threshold: float) -> float:
    at = int(np.searchsorted(found.grid, threshold))
    return float(found.hits[at] / found.failed)
