"""Every trial of a case, baseline and candidate side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from harnesskit.model.errors import FrameError, listed, nearest
from harnesskit.model.views import CASE_SCORES
from harnesskit.plots.axes import BASELINE, CANDIDATE, Mark, axes_for, legend_above, name_rows, text_style
from harnesskit.plots.labels import left_to_right, plain, row_labels

SIDES = {"baseline": Mark(BASELINE, "s", filled=False), "candidate": Mark(CANDIDATE, "o", filled=False)}
_OFFSET = {"baseline": -0.17, "candidate": 0.17}


def plot_trials(
    trials: pd.DataFrame,
    *,
    metric: str | None = None,
    cases: Sequence[str] | None = None,
    ax: Axes | None = None,
    top: int = 20,
) -> Axes:
    """Draw one row per case: every baseline trial above, every candidate trial below.

    Parameters
    ----------
    trials
        Scores of both sides in one frame, e.g. ``pd.concat([before.assign(side="baseline"),
        after.assign(side="candidate")])``; reads ``case_id, metric, value, side``.
    metric
        The metric to draw; may be left out when there is only one.
    cases
        Cases to draw, in this order, the first on top; those of the frame in their order when None.
    ax
        Where to draw; new axes when None.
    top
        Cases to draw; what follows is one line "others (k)".

    Returns
    -------
    Axes
        The x axis is the score, in the metric's own unit. Trials without a score are counted at the right.

    Raises
    ------
    FrameError
        A column is missing, a side is neither ``baseline`` nor ``candidate``, or the metric is not there or not named.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> rows = pd.DataFrame({"case_id": "a", "metric": "q", "value": [0.9, 0.4], "side": ["baseline", "candidate"]})
    >>> axes = plot_trials(rows, ax=Figure().subplots())
    >>> [label.get_text() for label in axes.get_yticklabels()], axes.get_xlabel()
    (['a'], 'q, one mark per trial')
    """
    CASE_SCORES.require(trials, "case_id", "metric", "value", "side", by="plot_trials()")
    name = _metric(trials, metric)
    rows = trials[(trials["metric"].astype(object) == name).to_numpy(dtype=bool)] if name is not None else trials
    _known_sides(rows)
    order = list(dict.fromkeys(plain(v) for v in (rows["case_id"] if cases is None else cases)))
    shown = order[:top]
    axes = axes_for(ax, 2 * len(shown) + 1)
    place = {case: position for position, case in enumerate(shown)}
    y = np.array([place.get(plain(case), -1) for case in rows["case_id"]], dtype=float)
    value = pd.to_numeric(rows["value"], errors="coerce").to_numpy(dtype=float, na_value=np.nan)
    side = rows["side"].astype(object).to_numpy()
    for word, mark in SIDES.items():
        _draw(axes, value, y, (side == word) & (y >= 0), word, mark)
    _count_unscored(axes, value, y, side)
    names = row_labels(shown).by_text
    left = len(order) - len(shown)
    name_rows(axes, [*(left_to_right(names[case]) for case in shown), *([f"others ({left:,})"] if left else [])])
    label = "score" if name is None else row_labels([name]).by_text[plain(name)]
    axes.set_xlabel(f"{label}, one mark per trial", **text_style(axes))
    legend_above(axes, [mark.handle(word) for word, mark in SIDES.items()])
    return axes


def _draw(
    axes: Axes,
    value: np.ndarray[Any, Any],
    y: np.ndarray[Any, Any],
    rows: np.ndarray[Any, Any],
    word: str,
    mark: Mark,
) -> None:
    scored = rows & np.isfinite(value)
    axes.scatter(value[scored], y[scored] + _OFFSET[word], zorder=3, gid=word, **{**mark.scatter(), "s": 26})


def _count_unscored(
    axes: Axes, value: np.ndarray[Any, Any], y: np.ndarray[Any, Any], side: np.ndarray[Any, Any]
) -> None:
    style = text_style(axes, va="center", ha="left", fontsize=8.5, color=BASELINE, fontstyle="italic")
    for word in SIDES:
        lost = (side == word) & ~np.isfinite(value) & (y >= 0)
        for case, n in zip(*np.unique(y[lost], return_counts=True), strict=True):
            where = axes.get_yaxis_transform()
            axes.text(1.02, case + _OFFSET[word], f"{n} unscored", transform=where, clip_on=False, **style)


def _metric(trials: pd.DataFrame, metric: str | None) -> object:
    known = list(dict.fromkeys(trials["metric"].dropna().tolist()))
    if metric is None and len(known) > 1:
        raise FrameError(f"plot_trials() draws one metric; found {listed(known)}. Name one with metric=.")
    if metric is not None and metric not in known:
        texts = [str(one) for one in known]
        raise FrameError(
            f"plot_trials() found no metric {metric!r}{nearest(metric, texts)}; there are: {listed(texts) or 'none'}."
        )
    return metric if metric is not None else known[0] if known else None


def _known_sides(trials: pd.DataFrame) -> None:
    strange = [repr(value) for value in dict.fromkeys(trials["side"].tolist()) if plain(value) not in SIDES]
    if strange:
        raise FrameError(f"plot_trials() needs every side to be baseline or candidate; found {listed(strange)}.")
