"""Candidate replays that ended in an error or a timeout: they fail the yes-or-no metrics of their case.

A change that makes the agent crash would otherwise look better by its worst runs dropping out. Only a replay that was
made counts: not one that was interrupted, that waited for an environment in vain, or that named a session it may not;
and none of a metric of which the whole candidate side has no score, as then nothing was compared at all. Scores
between the ends of a range are never made up: there such a replay stays unscored.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from harnesskit.stats.noise import grid_step

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from harnesskit.model.metrics import Metric, Metrics

    Flags = NDArray[np.bool_]

OUTCOME = "outcome_correct"
ENDED = ("error", "timeout")
"""Statuses of a replay that was cut off or raised."""
NOT_MADE = ("interrupted", "env_wait_timeout", "bad_session_id")
"""How the reason of a replay begins that says nothing about the agent."""


def yes_or_no(metric: Metric, values: Iterable[float]) -> bool:
    """Whether a metric is pass or fail: 0 to 1 with nothing between, both seen, or the outcome itself.

    Examples
    --------
    >>> from harnesskit.model.metrics import Metric
    >>> yes_or_no(Metric("passed"), [1.0, 0.0]), yes_or_no(Metric("judge"), [0.9, 0.0]), yes_or_no(Metric("q"), [1.0])
    (True, False, False)
    """
    known = list(values)
    span = (metric.low, metric.high) == (0.0, 1.0) and metric.higher_is_better is not None
    return span and bool(known) and (metric.name == OUTCOME or grid_step(known) == 1.0)


def ended_early(status: object, reason: object) -> bool:
    """Whether an attempt of this status and reason was made and came to no end of its own.

    Examples
    --------
    >>> ended_early("timeout", "timed_out: after 300 s"), ended_early("error", "interrupted")
    (True, False)
    """
    code = "" if pd.isna(reason) else str(reason).partition(":")[0]  # type: ignore[call-overload]
    return status in ENDED and code not in NOT_MADE


def early_rows(rows: pd.DataFrame) -> Flags:
    """Return which rows of scores are replays that ended in an error or a timeout.

    Such a row names no metric; ``error`` beside a metric is its grader's.
    """
    if "status" not in rows:
        return np.zeros(len(rows), dtype=bool)
    found = rows["status"].isin(ENDED).to_numpy(dtype=bool) & rows["value"].isna().to_numpy(dtype=bool)
    found &= rows["metric"].isna().to_numpy(dtype=bool) | (rows["status"] == "timeout").to_numpy(dtype=bool)
    if "reason" in rows:
        found[found] = [ended_early("error", reason) for reason in rows["reason"][found]]
    return found


def count_as_failed(trials: pd.DataFrame, metric_of_cell: NDArray[Any], candidate: Flags, metrics: Metrics) -> None:
    """Give candidate replays that ended early the worse end of every yes-or-no metric of their case, in place.

    Parameters
    ----------
    trials
        One row per trial and cell: reads ``cell, early, state``, sets ``value, state, failed``.
    metric_of_cell, candidate
        The metric of each cell, and which rows are of the candidate.
    """
    trials["failed"] = False
    lost = candidate & trials["early"].to_numpy(dtype=bool) & (trials["state"] == "unscored").to_numpy(dtype=bool)
    if not lost.any():
        return
    name, scored = metric_of_cell[trials["cell"].to_numpy()], (trials["state"] == "scored").to_numpy(dtype=bool)
    for one in sorted(set(name[lost])):
        here, metric = name == one, metrics[one]
        if (here & scored & candidate).any() and yes_or_no(metric, trials.loc[here & scored, "value"]):
            rows = here & lost
            trials.loc[rows, "value"] = 0.0 if metric.higher_is_better else 1.0
            trials.loc[rows, "state"], trials.loc[rows, "failed"] = "scored", True


def failed_notes(trials: pd.DataFrame, n_cells: int) -> NDArray[np.object_]:
    """Return, per cell, how many of its trials were counted as failed, in words; missing where none was."""
    n = np.bincount(trials.loc[trials["failed"].to_numpy(dtype=bool), "cell"], minlength=n_cells)
    note = np.full(n_cells, None, dtype=object)
    for at in np.flatnonzero(n):
        note[at] = (
            f"{n[at]} candidate trial{'s' if n[at] > 1 else ''} ended in an error or a timeout: counted as failed"
        )
    return note
