"""The evidence on a case after every look, against the boundary that would call it regressed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from harnesskit.model.analyses import LOOKS
from harnesskit.plots.axes import BAD, BASELINE, CANDIDATE, GOOD, INK, Mark, axes_for, legend_above, text_style
from harnesskit.plots.columns import numbers
from harnesskit.plots.labels import plain, row_labels

_COLOURS = (CANDIDATE, GOOD, INK, "#cc79a7", "#e69f00", "#56b4e9")
_MARKERS = ("o", "s", "^", "D", "v", "P")
_CROSSED = Mark(BAD, "v")
_ROWS = 9


def plot_sequence(looks: pd.DataFrame, *, ax: Axes | None = None, top: int = 6) -> Axes:
    """Draw one line per case: its evidence look by look, and the boundary it was held against at each.

    Parameters
    ----------
    looks
        Looks; reads ``case_id, look, z, bound``. Cases are drawn in the order of the frame.
    ax
        Where to draw; new axes when None.
    top
        Cases to draw; the others are counted in the legend.

    Returns
    -------
    Axes
        The x axis is the look, the y axis the evidence in standard errors, positive when worse. Dashed lines are
        boundaries, a triangle marks a look at or beyond one.

    Raises
    ------
    FrameError
        A column is missing.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> rows = pd.DataFrame({"case_id": "a", "look": [1, 2], "z": [2.1, 3.4], "bound": [4.0, 3.2]})
    >>> axes = plot_sequence(rows, ax=Figure().subplots())
    >>> axes.lines[2].get_ydata().tolist()
    [2.1, 3.4]
    """
    LOOKS.require(looks, "case_id", "look", "z", "bound", by="plot_sequence()")
    axes = axes_for(ax, _ROWS)
    _dress(axes)
    labels = row_labels(looks["case_id"])
    order = list(dict.fromkeys(looks["case_id"].tolist()))
    handles: list[Any] = []
    crossed = False
    for place, case in enumerate(order[:top]):
        rows = looks[(looks["case_id"] == case).to_numpy(dtype=bool)].sort_values("look", kind="stable")
        colour, marker = _COLOURS[place % len(_COLOURS)], _MARKERS[place % len(_MARKERS)]
        x, z, bound = (numbers(rows[name]) for name in ("look", "z", "bound"))
        axes.plot(x, bound, color=colour, linestyle=(0, (4, 3)), linewidth=1.2, zorder=2, gid=f"bound {place}")
        (line,) = axes.plot(x, z, color=colour, marker=marker, markersize=5, linewidth=1.6, zorder=3, gid=f"z {place}")
        line.set_label(labels.by_text[plain(case)])
        handles.append(line)
        with np.errstate(invalid="ignore"):
            beyond = z >= bound
        if beyond.any():
            axes.scatter(x[beyond], z[beyond], zorder=4, gid=f"crossed {place}", **_CROSSED.scatter())
            crossed = True
    handles.append(Line2D([], [], color=BASELINE, linestyle=(0, (4, 3)), linewidth=1.2, label="boundary"))
    handles += [_CROSSED.handle("beyond it")] if crossed else []
    left = len(order) - min(len(order), top)
    handles += [Line2D([], [], linestyle="none", label=f"others ({left:,}) not drawn")] if left else []
    legend_above(axes, handles)
    return axes


def _dress(axes: Axes) -> None:
    axes.axhline(0.0, color=BASELINE, linewidth=0.8, zorder=1)
    axes.grid(visible=False, axis="x")
    axes.grid(visible=True, axis="y", color="#9aa0aa", alpha=0.3, linewidth=0.7, linestyle="-")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("look (one more replay of the case each)", **text_style(axes))
    axes.set_ylabel("evidence of a drop (standard errors)", **text_style(axes))
