"""Every threshold of a metric, with what people said of the sessions on its bad side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from harnesskit.measures.session_scores import Reduce, SessionScores, session_scores
from harnesskit.model.calibration import SWEEP
from harnesskit.model.errors import PolicyError
from harnesskit.model.metrics import Metric, Metrics
from harnesskit.stats.intervals import clustered_se
from harnesskit.stats.sweeps import Band, Sweep, f1_band, f1_scores, share_band, sweep

if TYPE_CHECKING:
    from numpy.typing import NDArray

POLICIES = ("default", "reference")
REFERENCE_GRID = tuple(round(0.05 * step, 2) for step in range(1, 20))
_SLACK = 1e-9


def sweep_thresholds(
    scores: pd.DataFrame,
    labels: pd.DataFrame | Mapping[Any, Any] | None = None,
    *,
    thresholds: Iterable[float] | None = None,
    metrics: Iterable[Metric] | None = None,
    reduce: Reduce = "mean",
    policy: str = "default",
) -> pd.DataFrame:
    """Return what each threshold would flag, and how often rightly: one row per metric and threshold.

    The unit is the session. The intervals of one metric hold at all its thresholds at once (exact binomial intervals,
    Bonferroni over the grid), so the threshold may be chosen by them. F1 is 2 J / (1 + J) of the share J of hits among
    all sessions that are flagged or failed, and has the exact interval of that share. Where users group sessions the
    counts are divided by the design effect of the labels.

    Parameters
    ----------
    scores
        ``session_id, metric, value``, and ``status, cluster, grader`` when there; one row per score.
    labels
        ``session_id, failed``, and ``rater, at, metric`` when there, or a mapping. Of each rater the newest label
        counts, then the majority; a session on which raters are evenly split is not labelled. Labels that name the
        metric go with those of the whole session.
    thresholds
        The grid; 19 steps of a twentieth of the range when None (of the scores, where the metric has no range).
    metrics
        Declarations: direction, range.
    reduce
        How the scores of a session become one: ``mean``, ``worst``, ``last``.
    policy
        ``reference`` compares raw floats, takes the last score of a session, and gives 0 where nothing is flagged.

    Raises
    ------
    FrameError
        A column is missing, a value is no number, or several graders scored one metric.

    Examples
    --------
    >>> scores = pd.DataFrame({"session_id": list("abcd"), "metric": "coherence", "value": [0.2, 0.4, 0.6, 0.9]})
    >>> found = sweep_thresholds(scores, {"a": True, "b": True, "c": False, "d": False}, thresholds=[0.3, 0.5])
    >>> found[["threshold", "breaches", "precision", "recall"]].values.tolist()
    [[0.3, 1.0, 1.0, 0.5], [0.5, 2.0, 1.0, 1.0]]
    """
    check_policy(policy, "sweep_thresholds()")
    grid = None if thresholds is None else tuple(thresholds)
    known = Metrics.of(metrics)
    how: Reduce = "last" if policy == "reference" else reduce
    parts = [
        _rows(one, grid, policy)
        for one in session_scores(scores, labels, metrics=known, reduce=how, by="sweep_thresholds()")
    ]
    empty = pd.DataFrame(columns=list(SWEEP.columns))
    return SWEEP.order(pd.concat(parts, ignore_index=True)) if parts else empty


def check_policy(policy: str, by: str) -> None:
    """Raise `PolicyError` for a policy that calibration does not know."""
    if policy not in POLICIES:
        raise PolicyError(f"{by}: policy must be default or reference; found {policy!r}.")


def grid_of(one: SessionScores, grid: tuple[float, ...] | None, policy: str) -> NDArray[np.float64]:
    """Return the thresholds to try, sorted; chosen without a look at the labels.

    Raises
    ------
    PolicyError
        A threshold is no finite number.
    """
    if policy == "reference":
        return np.array(REFERENCE_GRID)
    if grid is not None:
        given = np.unique(np.asarray(grid, dtype=float))
        if not len(given) or not np.isfinite(given).all():
            raise PolicyError(f"thresholds must be finite numbers, at least one; found {list(grid)!r}.")
        return given
    low, high, span = one.metric.low, one.metric.high, one.metric.span
    if span is not None and low is not None and high is not None:
        return np.round(low + span * np.arange(1, 20) / 20, 12)
    scored = one.value[one.scored]
    return np.unique(np.quantile(scored, np.arange(1, 20) / 20)) if len(scored) else np.array([0.0])


def oriented(
    one: SessionScores, thresholds: NDArray[np.float64], policy: str
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return values and thresholds turned so that lower is bad; a value within float noise of one is not below it."""
    slack = 0.0 if policy == "reference" else _SLACK
    if one.metric.higher_is_better is False:
        return -one.value + slack, -thresholds[::-1]
    return one.value + slack, thresholds


def design_effect(one: SessionScores) -> float:
    """Return how much clusters inflate the variance of the failure rate, at least 1."""
    at = one.labelled
    if one.cluster is None or at.sum() < 3:
        return 1.0
    cluster, failed = one.cluster[at], one.failed[at]
    share = float(failed.mean())
    groups = len(np.unique(cluster))
    if groups == len(failed) or groups < 3 or share in (0.0, 1.0):
        return 1.0
    plain = share * (1 - share) / len(failed)
    return max(1.0, clustered_se(failed, cluster).cr1 ** 2 / plain)


def _rows(one: SessionScores, grid: tuple[float, ...] | None, policy: str) -> pd.DataFrame:
    thresholds = grid_of(one, grid, policy)
    value, turned = oriented(one, thresholds, policy)
    scored, at = one.scored, one.labelled
    reverse = slice(None, None, -1) if one.metric.higher_is_better is False else slice(None)
    found = sweep(value[at], one.failed[at] > 0, turned)
    rest = value[scored & ~at]
    breaches = found.flagged + sweep(rest, np.zeros(len(rest), dtype=bool), turned).flagged
    table = pd.DataFrame({"threshold": turned, "breaches": breaches, "n_scored": found.labelled + len(rest)})
    table = table.assign(**counts_of(found), **_rates(found, policy, design_effect(one)))
    table["threshold"] = np.abs(table["threshold"]) * np.sign(thresholds[reverse])
    table.insert(0, "metric", one.metric.name)
    return table[reverse].reset_index(drop=True)


def counts_of(found: Sweep) -> dict[str, Any]:
    """Return the confusion at every threshold."""
    return {
        "n_labelled": found.labelled,
        "tp": found.hits,
        "fp": found.flagged - found.hits,
        "fn": found.failed - found.hits,
        "tn": found.labelled - found.failed - (found.flagged - found.hits),
    }


def _rates(found: Sweep, policy: str, effect: float) -> dict[str, Any]:
    failed = np.full(len(found.grid), found.failed)
    at_once = len(found.grid)
    precision = _share(found.hits, found.flagged, policy)
    recall = _share(found.hits, failed, policy)
    f1 = f1_scores(found.hits, found.flagged, failed)
    if not found.labelled:
        precision, recall, f1 = (np.full(at_once, np.nan) for _ in range(3))
    elif policy != "reference":
        f1 = np.where(found.flagged + failed > 0, f1, np.nan)
    bands = {
        "precision": share_band(found.hits / effect, found.flagged / effect, at_once=at_once),
        "recall": share_band(found.hits / effect, failed / effect, at_once=at_once),
        "f1": f1_band(found, at_once=at_once, effect=effect),
    }
    out: dict[str, Any] = {}
    for name, rate in (("precision", precision), ("recall", recall), ("f1", f1)):
        band: Band = bands[name]
        out |= {name: rate, f"{name}_low": band.low, f"{name}_high": band.high}
    return out


def _share(hits: NDArray[Any], of: NDArray[Any], policy: str) -> NDArray[np.float64]:
    none = 0.0 if policy == "reference" else np.nan
    out = np.full(len(of), none)
    np.divide(hits, of, out=out, where=np.asarray(of) > 0)
    return out
