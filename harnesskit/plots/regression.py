"""Charts of a regression run: the changes of cases, and the mean change of each metric."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from harnesskit.model.errors import FrameError, listed
from harnesskit.model.results import CASE_DELTAS, COMPARISON
from harnesskit.plots.axes import (
    BASELINE,
    CANDIDATE,
    INK,
    MARKS,
    Mark,
    axes_for,
    legend_above,
    name_rows,
    name_x,
    note_row,
    text_style,
)
from harnesskit.plots.columns import numbers
from harnesskit.plots.labels import left_to_right, plain, row_labels

_ZERO = Mark(BASELINE, "s")
_MEAN = Mark(CANDIDATE, "o")
_SUSPECT = Mark(INK, "D", filled=False)
_NOTE = 0.01  # where a row without a change says so, as a share of the width


def plot_case_deltas(deltas: pd.DataFrame, *, ax: Axes | None = None, top: int = 30) -> Axes:
    """Draw one row per case and metric: its change, the interval, its status.

    Rows are drawn in the order of the frame, so sort it first (worst first, for a review).

    Parameters
    ----------
    deltas
        Case deltas; reads ``case_id, metric, delta, low, high, status``, and ``kind``, ``suspect`` when there. A column
        ``tolerance`` (largest change that counts as none, in the metric's own unit) adds a band.
    ax
        Where to draw; new axes when None.
    top
        Rows to draw; what follows is one line "others (k)".

    Returns
    -------
    Axes
        The x axis is candidate minus baseline, in the metric's own unit. Names that no font can draw are keys, which
        `harnesskit.plots.labels.label_keys` resolves.

    Raises
    ------
    FrameError
        A column is missing, or a status is not one of the five.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> row = {"case_id": "refund", "metric": "q", "delta": -0.2, "low": -0.3, "high": -0.1, "status": "regressed"}
    >>> axes = plot_case_deltas(pd.DataFrame([row]), ax=Figure().subplots())
    >>> [label.get_text() for label in axes.get_yticklabels()]
    ['refund · q']
    """
    CASE_DELTAS.require(deltas, "case_id", "metric", "delta", "low", "high", "status", by="plot_case_deltas()")
    _known_statuses(deltas["status"])
    shown = deltas.head(top)
    axes = axes_for(ax, len(shown) + 1)
    handles = _tolerance_band(axes, shown)
    axes.axvline(0.0, color=BASELINE, linewidth=1.0, zorder=1)
    for status, mark in MARKS.items():
        rows = (shown["status"] == status).to_numpy(dtype=bool)
        if rows.any():
            _rows(axes, shown, rows, mark, gid=status)
            handles.append(mark.handle(status))
    handles += _suspects(axes, shown)
    _without_change(axes, shown)
    _kinds(axes, shown)
    _name_pairs(axes, shown, deltas, ("case_id", "metric"))
    _name_changes(axes, shown, ("case_id", "metric"))
    legend_above(axes, handles)
    return axes


def plot_comparison(comparison: pd.DataFrame, *, ax: Axes | None = None, top: int = 30) -> Axes:
    """Draw one row per kind and metric: the mean change of the candidate from the baseline, with its interval.

    The baseline (grey square) stands at 0, the candidate (blue dot) at its mean change; both means stand at the right.

    Parameters
    ----------
    comparison
        Comparison; reads ``kind, metric, baseline, candidate, delta, low, high``, and ``n_paired``, ``n_cases`` and
        ``higher_is_better`` when there.
    ax
        Where to draw; new axes when None.
    top
        Rows to draw; what follows is one line "others (k)".

    Returns
    -------
    Axes
        The x axis is the mean change, in the metric's own unit.

    Raises
    ------
    FrameError
        A column is missing.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> row = {"kind": "win", "metric": "q", "baseline": 0.9, "candidate": 0.8, "delta": -0.1, "low": -0.2, "high": 0.0}
    >>> axes = plot_comparison(pd.DataFrame([row]), ax=Figure().subplots())
    >>> [text.get_text() for text in axes.texts]
    ['0.9 → 0.8']
    """
    needed = ("kind", "metric", "baseline", "candidate", "delta", "low", "high")
    COMPARISON.require(comparison, *needed, by="plot_comparison()")
    shown = comparison.head(top)
    axes = axes_for(ax, len(shown) + 1)
    axes.axvline(0.0, color=BASELINE, linewidth=1.0, zorder=1)
    rows = shown["delta"].notna().to_numpy(dtype=bool)
    axes.scatter(np.zeros(int(rows.sum())), np.flatnonzero(rows), zorder=3, gid="baseline", **_ZERO.scatter())
    _rows(axes, shown, rows, _MEAN, gid="candidate")
    _without_change(axes, shown)
    _name_pairs(axes, shown, comparison, ("kind", "metric"))
    for position, row in enumerate(shown.to_dict("records")):
        note_row(axes, position, _means(row))
    _name_changes(axes, shown, ("kind", "metric"))
    legend_above(axes, [_ZERO.handle("baseline"), _MEAN.handle("candidate, mean change and 95 % interval")])
    return axes


def _known_statuses(status: pd.Series[Any]) -> None:
    strange = [repr(value) for value in dict.fromkeys(status.tolist()) if plain(value) not in MARKS]
    if strange:
        raise FrameError(
            f"plot_case_deltas() needs every status to be one of {', '.join(MARKS)}; found {listed(strange)}."
        )


def _rows(axes: Axes, shown: pd.DataFrame, rows: np.ndarray[Any, Any], mark: Mark, gid: str) -> None:
    y = np.flatnonzero(rows).astype(float)
    x, low, high = (numbers(shown[name])[rows] for name in ("delta", "low", "high"))
    # A missing end is drawn to the change itself: half an interval says that the other half is not known.
    ends = np.where(np.isfinite(low), low, x), np.where(np.isfinite(high), high, x)
    axes.hlines(y, *ends, colors=mark.colour, linewidth=1.8, zorder=2, gid=f"{gid} interval")
    axes.scatter(x, y, zorder=4, gid=gid, **mark.scatter())


def _suspects(axes: Axes, shown: pd.DataFrame) -> list[Any]:
    if "suspect" not in shown:
        return []
    rows = np.array([_one(value) == 1.0 for value in shown["suspect"]], dtype=bool)
    if not rows.any():
        return []
    style = {**_SUSPECT.scatter(), "facecolors": "none", "s": 130, "linewidths": 1.2}
    axes.scatter(numbers(shown["delta"])[rows], np.flatnonzero(rows), zorder=3, gid="suspect", **style)
    return [_SUSPECT.handle("suspect")]


def _tolerance_band(axes: Axes, shown: pd.DataFrame) -> list[Any]:
    if "tolerance" not in shown or not np.isfinite(numbers(shown["tolerance"])).any():
        return []
    width = numbers(shown["tolerance"])
    rows = np.flatnonzero(np.isfinite(width))
    style: dict[str, Any] = {"facecolor": BASELINE, "alpha": 0.13, "linewidth": 0}
    axes.barh(rows, 2 * width[rows], left=-width[rows], height=1.0, zorder=0, **style)
    return [Patch(label="tolerance", **style)]


def _kinds(axes: Axes, shown: pd.DataFrame) -> None:
    """Write at the right of each row whether the case is a win or a failure: only wins decide."""
    if "kind" not in shown:
        return
    for position, kind in enumerate(shown["kind"]):
        quiet = {} if kind == "win" else {"color": BASELINE, "fontstyle": "italic"}
        note_row(axes, position, row_labels([kind]).by_text[plain(kind)], gid="kind", **quiet)


def _without_change(axes: Axes, shown: pd.DataFrame) -> None:
    style = text_style(axes, color=BASELINE, va="center", ha="left", fontstyle="italic", fontsize=8.5)
    for position in np.flatnonzero(~np.isfinite(numbers(shown["delta"]))):
        where = axes.get_yaxis_transform()
        axes.text(_NOTE, float(position), "not compared", transform=where, **style)


def _name_pairs(axes: Axes, shown: pd.DataFrame, whole: pd.DataFrame, columns: tuple[str, str]) -> None:
    short = row_labels(pair_texts(shown, columns)).by_text
    parts = [[short[plain(value)] for value in shown[column]] for column in columns]
    labels = [left_to_right(f"{first} · {second}") for first, second in zip(*parts, strict=True)]
    left = len(whole) - len(shown)
    name_rows(axes, [*labels, f"others ({left:,})"] if left else labels)


def pair_texts(shown: pd.DataFrame, columns: tuple[str, str] = ("case_id", "metric")) -> list[object]:
    """Return the names that a chart of `shown` writes at its rows, in the order in which keys are given."""
    return [value for column in columns for value in shown[column].tolist()]


def _name_changes(axes: Axes, shown: pd.DataFrame, columns: tuple[str, str]) -> None:
    labels = row_labels(pair_texts(shown, columns))
    metrics = list(dict.fromkeys(plain(value) for value in shown["metric"]))
    unit = labels.by_text[metrics[0]] if len(metrics) == 1 else "the metric"
    label = f"change, candidate minus baseline (unit of {unit}); lines: 95 % intervals"
    if labels.keys:
        label += (
            f"\n{next(iter(labels.keys))} …: a name that this font cannot draw; the key table or label_keys() has it"
        )
    name_x(axes, label)


def _means(row: dict[Any, Any]) -> str:
    ends = [f"{value:.3g}" if np.isfinite(value) else "–" for value in (_one(row["baseline"]), _one(row["candidate"]))]
    words = [" → ".join(ends)]
    if "n_paired" in row and "n_cases" in row:
        words.append(f"{row['n_paired']} of {row['n_cases']} cases")
    if _one(row.get("higher_is_better")) == 0.0:
        words.append("lower is better")
    return ", ".join(words)


def _one(value: object) -> float:
    return float("nan") if value is None or value is pd.NA else float(value)  # type: ignore[arg-type]
