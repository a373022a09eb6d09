"""Which traffic has a case: the share of each signature and slice value, and whether a case stands for it."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from harnesskit.model.health_results import COVERAGE
from harnesskit.plots.axes import BAD, BASELINE, CANDIDATE, Mark, axes_for, legend_above, name_rows, name_x
from harnesskit.plots.columns import numbers
from harnesskit.plots.labels import left_to_right, plain, row_labels

LABEL_LIMIT = 56
_MARKS = {
    "add": ("no case: add one", Mark(BAD, "v")),
    "attach_input": ("no replayable case: attach an input", Mark(BASELINE, "s", filled=False)),
    "keep": ("has a replayable case", Mark(CANDIDATE, "o")),
}


def plot_coverage(coverage: pd.DataFrame, *, ax: Axes | None = None, top: int = 20) -> Axes:
    """Draw one row per signature and slice value: its share of the traffic, and whether it has a case.

    Parameters
    ----------
    coverage
        Coverage; reads ``by, value, action, share, low, high``. The rows on the traffic as a whole are not drawn.
    ax
        Where to draw; new axes when None.
    top
        Rows to draw; what follows is one line "others (k)".

    Returns
    -------
    Axes
        The x axis is the share of the traffic in per cent.

    Raises
    ------
    FrameError
        A column is missing.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> row = {"by": "signature", "value": '["healthy"]', "action": "keep", "share": 0.9, "low": 0.8, "high": 0.95}
    >>> axes = plot_coverage(pd.DataFrame([row]), ax=Figure().subplots())
    >>> [label.get_text() for label in axes.get_yticklabels()]
    ['healthy']
    """
    COVERAGE.require(coverage, "by", "value", "action", "share", "low", "high", by="plot_coverage()")
    rows = coverage[coverage["by"] != "traffic"]
    shown = rows.head(top)
    axes = axes_for(ax, len(shown) + 1)
    handles: list[Any] = []
    for action, (word, mark) in _MARKS.items():
        at = np.flatnonzero((shown["action"] == action).to_numpy(dtype=bool))
        if len(at):
            part = shown.iloc[at]
            low, high = (100 * numbers(part[name]) for name in ("low", "high"))
            axes.hlines(at, low, high, colors=mark.colour, linewidth=1.6, zorder=2, gid=f"{action} interval")
            axes.scatter(100 * numbers(part["share"]), at, zorder=4, gid=action, **mark.scatter())
            handles.append(mark.handle(word))
    axes.set_xlim(left=0)
    texts = slice_names(shown)
    names = row_labels(texts, limit=LABEL_LIMIT).by_text
    left = len(rows) - len(shown)
    name_rows(axes, [*(left_to_right(names[t]) for t in texts), *([f"others ({left:,})"] if left else [])])
    name_x(axes, "share of the traffic, %, with its 95 % interval")
    legend_above(axes, handles)
    return axes


def slice_names(coverage: pd.DataFrame) -> list[str]:
    """Return how each row is named in a chart: a signature by its labels, a slice as ``slice: value``.

    Examples
    --------
    >>> slice_names(pd.DataFrame({"by": ["signature", "topic"], "value": ['["breach:p","breach:q"]', "refunds"]}))
    ['breach: p, q', 'topic: refunds']
    """
    texts = slice_texts(coverage)
    return [
        text if by == "signature" else f"{plain(by)}: {text}" for by, text in zip(coverage["by"], texts, strict=True)
    ]


def slice_texts(coverage: pd.DataFrame) -> list[str]:
    """Return the value of each row, a signature as its labels, those of one condition together."""
    return [
        _labels(plain(value)) if by == "signature" else plain(value)
        for by, value in zip(coverage["by"], coverage["value"], strict=True)
    ]


def _labels(text: str) -> str:
    try:
        labels = json.loads(text)
    except ValueError:
        return text
    if not isinstance(labels, list):
        return text
    groups: dict[str, list[str]] = {}
    for label in map(str, labels):
        head, colon, rest = label.partition(":")
        groups.setdefault(head if colon else label, []).extend([rest] if colon else [])
    return " + ".join(f"{head}: {', '.join(rest)}" if rest else head for head, rest in groups.items())
