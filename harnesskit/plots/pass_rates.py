"""How reliably each arm passes: pass@k and pass^k with their intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from harnesskit.model.study_results import PASS_RATES
from harnesskit.plots.axes import CANDIDATE, GOOD, Mark, axes_for, legend_above, name_rows, name_x
from harnesskit.plots.columns import numbers
from harnesskit.plots.labels import left_to_right, plain, row_labels

_RATES = (
    ("pass_at_k", "at_low", "at_high", "pass@k: one of k passes", Mark(GOOD, "o"), -0.14),
    ("pass_hat_k", "hat_low", "hat_high", "pass^k: all of k pass", Mark(CANDIDATE, "D", filled=False), 0.14),
)


def plot_pass_rates(rates: pd.DataFrame, *, ax: Axes | None = None, top: int = 24) -> Axes:
    """Draw one row per group and k: pass@k and pass^k, each with its interval.

    Parameters
    ----------
    rates
        Pass rates; reads ``k, pass_at_k, at_low, at_high, pass_hat_k, hat_low, hat_high``, and as names of a group
        every column before ``k``.
    ax
        Where to draw; new axes when None.
    top
        Rows to draw; what follows is one line "others (k)".

    Returns
    -------
    Axes
        The x axis is the share of cases, 0 to 1. A rate without an interval rests on one case.

    Raises
    ------
    FrameError
        A column is missing.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> row = {"arm": "new", "k": 2, "pass_at_k": 0.9, "at_low": 0.8, "at_high": 1.0, "pass_hat_k": 0.5}
    >>> axes = plot_pass_rates(pd.DataFrame([row | {"hat_low": 0.3, "hat_high": 0.7}]), ax=Figure().subplots())
    >>> [label.get_text() for label in axes.get_yticklabels()]
    ['new, k=2']
    """
    PASS_RATES.require(rates, "k", *(name for rate in _RATES for name in rate[:3]), by="plot_pass_rates()")
    shown = rates.head(top)
    axes = axes_for(ax, len(shown) + 1)
    handles: list[Any] = []
    for value, low, high, word, mark, shift in _RATES:
        y = np.arange(len(shown)) + shift
        x, left, right = (numbers(shown[name]) for name in (value, low, high))
        ends = np.where(np.isfinite(left), left, x), np.where(np.isfinite(right), right, x)
        axes.hlines(y, *ends, colors=mark.colour, linewidth=1.6, zorder=2, gid=f"{value} interval")
        axes.scatter(x, y, zorder=4, gid=value, **mark.scatter())
        handles.append(mark.handle(word))
    axes.set_xlim(-0.03, 1.03)
    texts = _names(shown)
    names = row_labels(texts, limit=38).by_text
    left_out = len(rates) - len(shown)
    more = [f"others ({left_out:,})"] if left_out else []
    name_rows(axes, [*(left_to_right(names[text]) for text in texts), *more])
    name_x(axes, "mean over cases, 95 % interval; a case with fewer than k trials is not solved")
    legend_above(axes, handles)
    return axes


def _names(shown: pd.DataFrame) -> list[str]:
    columns = [str(name) for name in shown.columns]
    groups = columns[: columns.index("k")]
    told = [name for name in groups if len(shown[name].drop_duplicates()) > 1] or groups[:1]
    rows = shown.to_dict("records")
    return [", ".join([*(plain(row[name]) for name in told), f"k={int(row['k'])}"]) for row in rows]
