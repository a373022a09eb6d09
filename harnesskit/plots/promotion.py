"""The evidence about a guard after every look, against the boundaries that it was held against."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator, NullLocator

from harnesskit.model.errors import FrameError, nearest
from harnesskit.model.promotion_results import EVIDENCE_PATH
from harnesskit.plots.axes import BAD, BASELINE, CANDIDATE, Mark, axes_for, legend_above, name_x, text_style
from harnesskit.plots.columns import numbers
from harnesskit.plots.labels import plain

_ROWS = 9
_DASHED: Any = (0, (4, 3))
_LINES = {
    "benefit": (CANDIDATE, "o", "for a benefit"),
    "futility": (BAD, "s", "against an effect worth having"),
    "harm": (BAD, "v", "of harm"),
}
"""Check to its colour, its mark and its words."""
_SCALES = {
    "z": "evidence (one-sided z)",
    "e": "evidence (E-value, log scale)",
    "lambda": "evidence of harm (ratio, log scale)",
    "share": "evidence of harm (share of its bound)",
}
_DECIDED = Mark("#1d2430", "D", filled=False)


def plot_evidence_path(path: pd.DataFrame, *, scale: str | None = None, ax: Axes | None = None) -> Axes:
    """Draw one line per check: its evidence after each replay, and the boundary that it was held against.

    Parameters
    ----------
    path
        Evidence path; reads ``check, look, replays, scale, evidence, bound``, and ``decided`` when there.
    scale
        Scale to draw, for which see `EVIDENCE_PATH`: checks on different scales do not share an axis. The scale of the
        first row when None.
    ax
        Where to draw; new axes when None.

    Returns
    -------
    Axes
        The x axis is the number of replays made in the trial, the y axis the evidence: z with its boundaries, or, on
        a log scale, an E-value against 1/alpha or a likelihood ratio against the one that retires. Dashed lines are
        boundaries; a diamond marks the look that decided.

    Raises
    ------
    FrameError
        A column is missing, or no row is on the scale.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> rows = {"check": "benefit", "look": [1, 2], "replays": [4, 8], "scale": "z", "bound": [2.5, 2.2]}
    >>> axes = plot_evidence_path(pd.DataFrame({**rows, "evidence": [1.1, 2.6]}), ax=Figure().subplots())
    >>> axes.lines[0].get_ydata().tolist(), axes.get_ylabel()
    ([2.5, 2.2], 'evidence (one-sided z)')
    """
    by = "plot_evidence_path()"
    EVIDENCE_PATH.require(path, "check", "look", "replays", "scale", "evidence", "bound", by=by)
    drawn = _scale(path, scale)
    rows = path[(path["scale"] == drawn).to_numpy(dtype=bool)]
    axes = axes_for(ax, _ROWS)
    handles = [_draw(axes, str(check), rows[(rows["check"] == check).to_numpy(dtype=bool)])
               for check in dict.fromkeys(rows["check"])]  # fmt: skip
    handles.append(Line2D([], [], color=BASELINE, linestyle=_DASHED, linewidth=1.2, label="boundary"))
    handles += _decided(axes, rows)
    _dress(axes, drawn)
    legend_above(axes, handles)
    return axes


def _scale(path: pd.DataFrame, scale: str | None) -> str:
    known = [str(one) for one in dict.fromkeys(path["scale"].dropna())]
    if scale is None and known:
        return known[0]
    if scale is None or scale not in known:
        found = ", ".join(known) or "none"
        wanted = "rows to draw" if scale is None else f"rows on the scale {scale!r}{nearest(scale, known)}"
        raise FrameError(f"plot_evidence_path() needs {wanted}; the path has the scales: {found}.")
    return scale


def _draw(axes: Axes, check: str, rows: pd.DataFrame) -> Line2D:
    colour, marker, words = _LINES.get(check, (BASELINE, "P", plain(check)))
    x, evidence, bound = (numbers(rows[name]) for name in ("replays", "evidence", "bound"))
    # a boundary of a single look would not show as a line
    alone: dict[str, Any] = {"marker": "_", "markersize": 18, "markeredgewidth": 1.6} if len(rows) == 1 else {}
    axes.plot(x, bound, color=colour, linestyle=_DASHED, linewidth=1.2, zorder=2, gid=f"bound {check}", **alone)
    size = 5 if len(rows) <= 30 else 3
    (line,) = axes.plot(
        x, evidence, color=colour, marker=marker, markersize=size, linewidth=1.6, zorder=3, gid=check, label=words
    )
    return line


def _decided(axes: Axes, rows: pd.DataFrame) -> list[Any]:
    if "decided" not in rows:
        return []
    there = rows["decided"].fillna(False).to_numpy(dtype=bool)
    if not there.any():
        return []
    x, y = numbers(rows["replays"])[there], numbers(rows["evidence"])[there]
    axes.scatter(x, y, zorder=4, gid="decided", **{**_DECIDED.scatter(), "facecolors": "none", "s": 120})
    return [_DECIDED.handle("decided here")]


def _dress(axes: Axes, scale: str) -> None:
    axes.grid(visible=False, axis="x")
    axes.grid(visible=True, axis="y", color="#9aa0aa", alpha=0.3, linewidth=0.7, linestyle="-")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    if scale != "z":
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.10g}")
        axes.yaxis.set_minor_locator(NullLocator())
    axes.axhline(0.0 if scale == "z" else 1.0, color=BASELINE, linewidth=0.8, zorder=1)
    axes.margins(x=0.08, y=0.12)
    name_x(axes, "replays made in the trial, with and without the guard")
    axes.set_ylabel(_SCALES.get(scale, plain(scale)), **text_style(axes))
