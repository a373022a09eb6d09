"""The same thing graded again: how far scores scatter, and how often a verdict turns."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from harnesskit.measures.pass_bars import PassAt, PassBar, pass_bars
from harnesskit.model.errors import FrameError, listed
from harnesskit.model.grader_trust import RETEST
from harnesskit.model.metrics import Metric, Metrics
from harnesskit.model.views import CASE_SCORES
from harnesskit.stats.intervals import clopper_pearson
from harnesskit.stats.judge_noise import sd_interval
from harnesskit.stats.reliability import group_icc
from harnesskit.stats.thresholds import flip_rate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

WORST, MOST_VOTES = 0.15, 25
NEVER = "nothing was graded twice: grade some samples again, or ask for several votes"
EQUAL = "every repeat gave the same score: a deterministic grader, or repeats from a cache"
TURNS = "verdicts turn too often: take {votes} gradings per sample, or leave {low:.3g} to {high:.3g} without a verdict"
TURNS_ANYWAY = "verdicts turn too often for any reasonable number of gradings: move the bar, or mend the rubric"
_WHO = ["metric", "grader", "grader_version"]


def grader_retest(
    scores: pd.DataFrame, *, metrics: Iterable[Metric] | None = None, pass_at: PassAt = None
) -> pd.DataFrame:
    """Say how much a grader scatters on the same thing: one row per metric and grader, version included.

    Repeats are scores of one metric and grader version for the same ``sample_id``; with a column ``output``, for the
    same output of the same case. The votes of a judge are repeats as well: give ``hk.judge_votes(grades)``.

    Parameters
    ----------
    scores
        Frame with ``metric, value`` and ``sample_id`` (or ``case_id, output``); ``grader, grader_version`` when there.
    metrics, pass_at
        What passes, as for `harnesskit.case_flips`.

    Returns
    -------
    DataFrame
        By the contract ``grader retest``, sorted by its key; in the metric's own unit.

    Raises
    ------
    FrameError
        A column is missing, or a score is text.
    PolicyError
        `pass_at` names a metric that is not there, or is not a finite number.

    Examples
    --------
    >>> rows = pd.DataFrame({"sample_id": ["a", "a", "b", "b"], "metric": "q", "value": [0.9, 0.8, 0.6, 0.45]})
    >>> row = grader_retest(rows, pass_at=0.5).iloc[0]
    >>> int(row["n_items"]), round(float(row["sd"]), 3), int(row["n_turned"]), int(row["votes_needed"])
    (2, 0.09, 1, 11)
    """
    known = Metrics.of(metrics)
    rows = _rows(scores)
    values = {str(name): group["value"].to_numpy(dtype=float) for name, group in rows.groupby("metric")}
    bars = pass_bars(values, values, known, pass_at, by="grader_retest()")
    found = [
        {**dict(zip(_WHO, who, strict=True)), **_retest(group, bars[str(who[0])])}
        for who, group in rows.groupby(_WHO, dropna=False, sort=True)
    ]
    frame = pd.DataFrame(found, columns=list(RETEST.columns))
    return frame.astype(dict.fromkeys(("n_items", "n_scores", "n_turned", "votes_needed"), "Int64"))


def _rows(scores: pd.DataFrame) -> pd.DataFrame:
    """Return the scored rows with the thing that was graded in the column ``item``."""
    thing = ["case_id", "output"] if "output" in scores else ["sample_id"]
    CASE_SCORES.require(scores, "metric", "value", *thing, by="grader_retest()")
    value = pd.to_numeric(scores["value"], errors="coerce").astype(float)
    odd = value.isna() & scores["value"].notna()
    if odd.any():
        some = listed(sorted({repr(v) for v in scores.loc[odd, "value"]}))
        raise FrameError(f"grader_retest() needs numbers in column 'value'; found {some}. Convert or empty them.")
    rows = scores.assign(
        value=value, **{name: None for name in _WHO if name not in scores},
        item=_things(scores, thing),
    )  # fmt: skip
    usable = np.isfinite(value.to_numpy(dtype=float)) & (rows["item"].to_numpy() >= 0) & rows["metric"].notna()
    return rows.loc[usable, [*_WHO, "item", "value"]].reset_index(drop=True)


def _things(scores: pd.DataFrame, names: list[str]) -> NDArray[np.int64]:
    """Return the number of the thing that each row grades, -1 for none; the orders of a pair are two things."""
    parts = scores[names].astype(object)
    if "order" in scores:
        parts = parts.assign(order=scores["order"].astype(object).where(scores["order"].notna(), ""))
    number = parts.groupby(list(parts.columns), dropna=True).ngroup().to_numpy(dtype=float, na_value=np.nan)
    return np.where(np.isnan(number), -1, number).astype(np.int64)


def _retest(rows: pd.DataFrame, bar: PassBar) -> dict[str, Any]:
    value, item = rows["value"].to_numpy(dtype=float), np.unique(rows["item"], return_inverse=True)[1]
    n = np.bincount(item)
    mean = np.bincount(item, value) / n
    again = n[item] > 1
    df = float((n - 1).sum())
    items = int((n > 1).sum())
    row: dict[str, Any] = {"n_items": items, "n_scores": int(again.sum()), "pass_at": bar.score, "warning": NEVER}
    if not items:
        return row
    s2 = float(((value - mean[item]) ** 2).sum()) / df
    ends = sd_interval(s2, df)
    reach = rows.groupby("item")["value"].agg(np.ptp)
    row |= {
        "sd": s2**0.5, "low": ends.low, "high": ends.high, "largest": float(reach.max()),
        "icc": group_icc(value[again], item[again]), "warning": EQUAL if s2 <= 0 else None,
    }  # fmt: skip
    if np.isnan(bar.score):
        return row
    return {**row, **_verdicts(value, item, n, mean, s2**0.5, bar)}


def _verdicts(
    value: Floats, item: NDArray[np.int64], n: NDArray[np.int64], mean: Floats, sd: float, bar: PassBar
) -> dict[str, Any]:
    """Return how often verdicts turned, and how often they are expected to."""
    passes = value <= bar.score + 1e-9 if bar.higher_is_better is False else value >= bar.score - 1e-9
    passed = np.bincount(item, passes)
    turned, items = int(((passed > 0) & (passed < n) & (n > 1)).sum()), int((n > 1).sum())
    ends = clopper_pearson(turned, items)
    row: dict[str, Any] = {
        "n_turned": turned, "turned": turned / items, "turned_low": ends.low, "turned_high": ends.high,
    }  # fmt: skip
    if sd <= 0:
        return {**row, "flip_rate": 0.0, "votes_needed": 1}
    rates = (flip_rate(mean, bar.score, sd=sd / votes**0.5) for votes in range(1, MOST_VOTES + 1))
    row["flip_rate"] = flip_rate(mean, bar.score, sd=sd)
    row["votes_needed"] = votes = next((k for k, rate in enumerate(rates, start=1) if rate <= WORST), None)
    if votes is None:
        row["warning"] = TURNS_ANYWAY
    elif votes > 1:
        row["warning"] = TURNS.format(votes=votes, low=bar.score - sd, high=bar.score + sd)
    return row
