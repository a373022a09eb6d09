"""The noise of each metric, with how sure we are of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from harnesskit.model.analyses import NOISE
from harnesskit.plots.axes import BASELINE, CANDIDATE, Mark, axes_for, legend_above, name_rows, text_style
from harnesskit.plots.columns import numbers
from harnesskit.plots.labels import left_to_right, plain, row_labels

_SOURCES = {
    "measured": Mark(CANDIDATE, "o"),
    "partly assumed": Mark(CANDIDATE, "o", filled=False),
    "assumed": Mark(BASELINE, "D", filled=False),
}
_JUDGE = Mark(BASELINE, "|")


def plot_noise(noise: pd.DataFrame, *, ax: Axes | None = None, top: int = 30) -> Axes:
    """Draw one row per metric: the standard deviation of one run, its interval, and the judge's part.

    Parameters
    ----------
    noise
        Noise table; reads ``metric, sd, low, high, source``, and ``judge_sd`` when there.
    ax
        Where to draw; new axes when None.
    top
        Rows to draw; what follows is one line "others (k)".

    Returns
    -------
    Axes
        The x axis is the standard deviation, in each metric's own unit. A hollow mark rests on an assumption.

    Raises
    ------
    FrameError
        A column is missing.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> row = {"metric": "q", "sd": 0.08, "low": 0.07, "high": 0.1, "source": "measured"}
    >>> axes = plot_noise(pd.DataFrame([row]), ax=Figure().subplots())
    >>> [label.get_text() for label in axes.get_yticklabels()]
    ['q']
    """
    NOISE.require(noise, "metric", "sd", "low", "high", "source", by="plot_noise()")
    shown = noise.head(top)
    axes = axes_for(ax, len(shown) + 1)
    handles = [_judges(axes, shown)] if "judge_sd" in shown and numbers(shown["judge_sd"]).size else []
    for source, mark in _SOURCES.items():
        rows = (shown["source"] == source).to_numpy(dtype=bool)
        if rows.any():
            _rows(axes, shown[rows], np.flatnonzero(rows), mark, source)
            handles.append(mark.handle(source))
    axes.set_xlim(left=0)  # after the marks, so that the right end follows them
    names = row_labels(shown["metric"]).by_text
    labels = [left_to_right(names[plain(value)]) for value in shown["metric"]]
    left = len(noise) - len(shown)
    name_rows(axes, [*labels, f"others ({left:,})"] if left else labels)
    axes.set_xlabel("standard deviation of one run (unit of the metric), 90 % interval", **text_style(axes))
    legend_above(axes, [handle for handle in handles if handle is not None])
    return axes


def _rows(axes: Axes, rows: pd.DataFrame, y: np.ndarray[Any, Any], mark: Mark, source: str) -> None:
    sd, low, high = (numbers(rows[name]) for name in ("sd", "low", "high"))
    ends = np.where(np.isfinite(low), low, sd), np.where(np.isfinite(high), high, sd)
    axes.hlines(y, *ends, colors=mark.colour, linewidth=1.8, zorder=2, gid=f"{source} interval")
    axes.scatter(sd, y, zorder=4, gid=source, **mark.scatter())


def _judges(axes: Axes, shown: pd.DataFrame) -> Any:
    judge = numbers(shown["judge_sd"])
    rows = np.flatnonzero(np.isfinite(judge))
    if not len(rows):
        return None
    style: dict[str, Any] = {"marker": _JUDGE.marker, "c": _JUDGE.colour, "s": 120, "linewidths": 2.0}
    axes.scatter(judge[rows], rows, zorder=3, gid="judge", **style)
    return _JUDGE.handle("judge's part")
