"""How many cases were fixed and how many broke, per metric."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from harnesskit.model.analyses import CASE_FLIPS
from harnesskit.model.errors import FrameError, listed
from harnesskit.plots.axes import BAD, BASELINE, CANDIDATE, GOOD, PAPER, axes_for, legend_above, name_rows, text_style
from harnesskit.plots.labels import left_to_right, plain, row_labels

_BARS: dict[str, dict[str, Any]] = {
    "broken": {"facecolor": BAD, "hatch": "xx"},
    "flaky": {"facecolor": PAPER, "hatch": "//"},
    "fixed": {"facecolor": GOOD, "hatch": "++"},
    "both fail": {"facecolor": BASELINE, "hatch": ".."},
    "both pass": {"facecolor": CANDIDATE, "hatch": ""},
    "not compared": {"facecolor": PAPER, "hatch": ""},
}


def plot_flips(flips: pd.DataFrame, *, ax: Axes | None = None, top: int = 30) -> Axes:
    """Draw one bar per metric: its cases by flip (broken, flaky, fixed, both fail, both pass, not compared).

    Parameters
    ----------
    flips
        Case flips; reads ``case_id, metric, flip``.
    ax
        Where to draw; new axes when None.
    top
        Metrics to draw; what follows is one line "others (k)".

    Returns
    -------
    Axes
        The x axis counts cases.

    Raises
    ------
    FrameError
        A column is missing, or a flip is not one of the six.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> rows = pd.DataFrame({"case_id": ["a", "b"], "metric": "q", "flip": ["broken", "both pass"]})
    >>> axes = plot_flips(rows, ax=Figure().subplots())
    >>> [int(bar.get_width()) for bar in axes.patches]
    [1, 1]
    """
    CASE_FLIPS.require(flips, "case_id", "metric", "flip", by="plot_flips()")
    strange = [repr(value) for value in dict.fromkeys(flips["flip"].tolist()) if plain(value) not in _BARS]
    if strange:
        raise FrameError(f"plot_flips() needs every flip to be one of {', '.join(_BARS)}; found {listed(strange)}.")
    order = list(dict.fromkeys(plain(value) for value in flips["metric"]))
    shown = order[:top]
    axes = axes_for(ax, len(shown) + 1)
    place = {metric: y for y, metric in enumerate(shown)}
    y = np.array([place.get(plain(value), -1) for value in flips["metric"]], dtype=np.int64)
    start, handles = np.zeros(len(shown), dtype=np.int64), []
    for word, look in _BARS.items():
        rows = (flips["flip"] == word).to_numpy(dtype=bool) & (y >= 0)
        width = np.bincount(y[rows], minlength=len(shown))
        if width.any():
            style = {**look, "edgecolor": BASELINE, "linewidth": 0.7, "height": 0.62}
            at = np.flatnonzero(width)
            axes.barh(at, width[at], left=start[at], gid=word, zorder=2, **style)
            handles.append(Patch(label=word, **{k: v for k, v in style.items() if k != "height"}))
            start = start + width
    names = row_labels(shown).by_text
    left = len(order) - len(shown)
    name_rows(axes, [*(left_to_right(names[metric]) for metric in shown), *([f"others ({left:,})"] if left else [])])
    axes.set_xlabel("cases", **text_style(axes))
    legend_above(axes, handles)
    return axes
