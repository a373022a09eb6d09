"""What happened to each case, run after run."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from harnesskit.model.health_results import CASE_TIMELINE
from harnesskit.plots.axes import (
    BAD,
    BASELINE,
    CANDIDATE,
    GOOD,
    Mark,
    axes_for,
    is_narrow,
    legend_above,
    name_rows,
    name_x,
    text_style,
)
from harnesskit.plots.labels import left_to_right, plain, row_labels

_MARKS = {
    "pass": ("all trials pass", Mark(GOOD, "o")),
    "fail": ("all trials fail", Mark(BAD, "v")),
    "mixed": ("mixed", Mark(CANDIDATE, "D", filled=False)),
    "none": ("no verdict", Mark(BASELINE, "x")),
}


def plot_case_timeline(timeline: pd.DataFrame, *, ax: Axes | None = None, top: int = 30, runs: int = 12) -> Axes:
    """Draw one row per case and one column per run, oldest first: passed, failed, mixed, or no verdict.

    Parameters
    ----------
    timeline
        Case timeline; reads ``case_id, run_id, state``, and ``role, at`` when there. Cases keep their order, those
        that changed their state first.
    ax
        Where to draw; new axes when None.
    top, runs
        Cases to draw, and the newest runs; what is left out is one line "others (k)".

    Returns
    -------
    Axes
        The x axis is the runs in the order of time.

    Raises
    ------
    FrameError
        A column is missing.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> rows = pd.DataFrame({"case_id": "a", "run_id": ["r1", "r2"], "state": ["pass", "fail"]})
    >>> axes = plot_case_timeline(rows, ax=Figure().subplots())
    >>> [label.get_text() for label in axes.get_xticklabels()]
    ['r1', 'r2']
    """
    CASE_TIMELINE.require(timeline, "case_id", "run_id", "state", by="plot_case_timeline()")
    rows = timeline.assign(_run=timeline["run_id"].map(plain), _case=timeline["case_id"].map(plain))
    columns = _in_time(rows)[-runs:]
    rows = rows[rows["_run"].isin(columns)]
    kinds = rows[rows["state"] != "none"].groupby("_case", sort=False)["state"].nunique()
    order = sorted(dict.fromkeys(rows["_case"]), key=lambda case: -int(kinds.get(case, 0)))
    shown = order[:top]
    axes = axes_for(ax, len(shown) + 1)
    place = {case: y for y, case in enumerate(shown)}
    rows = rows[rows["_case"].isin(place)]
    x = np.array([columns.index(run) for run in rows["_run"]], dtype=float)
    y = np.array([place[case] for case in rows["_case"]], dtype=float)
    handles = []
    for state, (word, mark) in _MARKS.items():
        at = (rows["state"] == state).to_numpy(dtype=bool)
        if at.any():
            axes.scatter(x[at], y[at], zorder=3, gid=state, **mark.scatter())
            handles.append(mark.handle(word))
    names = row_labels(columns, limit=9 if is_narrow(axes) else 16).by_text
    slant = {"rotation": 30, "ha": "right"} if len(columns) > 4 or is_narrow(axes) else {}
    axes.set_xticks(range(len(columns)), labels=[names[run] for run in columns], **text_style(axes, **slant))
    axes.set_xlim(-0.5, max(len(columns), 1) - 0.5)
    labels = row_labels(shown).by_text
    left = len(order) - len(shown)
    name_rows(axes, [*(left_to_right(labels[c]) for c in shown), *([f"others ({left:,})"] if left else [])])
    name_x(axes, "run, oldest first")
    legend_above(axes, handles)
    return axes


def _in_time(rows: pd.DataFrame) -> list[str]:
    """Return the runs in the order of their first trial, the captures first."""
    if "at" not in rows:
        return list(dict.fromkeys(rows["_run"]))
    captured = rows["role"].eq("captured").fillna(False) if "role" in rows else pd.Series(False, index=rows.index)
    first = rows.assign(_late=~captured).groupby("_run", sort=False).agg(late=("_late", "min"), at=("at", "min"))
    return [str(run) for run in first.sort_values(["late", "at"], kind="stable", na_position="first").index]
