"""How far graders can be trusted: agreement, confusion, scatter of repeats, corrected means, changed verdicts."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from harnesskit.model.analyses import GRADER_DRIFT
from harnesskit.model.errors import FrameError, listed
from harnesskit.model.grader_trust import AGREEMENT, CONFUSION, CORRECTED, RETEST
from harnesskit.plots.axes import BASELINE, CANDIDATE, INK, PAPER, Mark, axes_for, legend_above, name_rows, text_style
from harnesskit.plots.columns import numbers
from harnesskit.plots.labels import left_to_right, plain

_POINT = Mark(CANDIDATE, "o")
_LABELS = Mark(BASELINE, "o", filled=False)
_JUDGE = Mark(BASELINE, "x")
_DARK = 0.5


def plot_agreement(agreement: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw one row per statistic with its 95 % interval; 0 is what chance alone would give (not for plain agreement).

    Raises
    ------
    FrameError
        A column is missing.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> rows = pd.DataFrame({"metric": [None], "statistic": ["ac1"], "value": [0.8], "low": [0.7], "high": [0.9]})
    >>> [label.get_text() for label in plot_agreement(rows, ax=Figure().subplots()).get_yticklabels()]
    ['ac1']
    """
    AGREEMENT.require(agreement, "statistic", "value", "low", "high", by="plot_agreement()")
    axes = axes_for(ax, len(agreement))
    _intervals(axes, agreement, ("value", "low", "high"), 0.0, _POINT, "value")
    axes.axvline(0, color=BASELINE, linewidth=0.8, zorder=1)
    axes.set_xlim(right=1.02)
    name_rows(axes, _names(agreement, "statistic"))
    axes.set_xlabel("agreement (1: full), 95 % interval", **text_style(axes))
    return axes


def plot_confusion(confusion: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the labels of one pair of raters against each other, each cell with its count.

    Raises
    ------
    FrameError
        A column is missing, or there is more than one pair of raters: choose one first.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> rows = pd.DataFrame({"label_a": ["no", "yes"], "label_b": "yes", "n": [1, 2]})
    >>> rows = rows.assign(rater_a="aiko", rater_b="jo")
    >>> [text.get_text() for text in plot_confusion(rows, ax=Figure().subplots()).texts]
    ['1', '2']
    """
    CONFUSION.require(confusion, "rater_a", "rater_b", "label_a", "label_b", "n", by="plot_confusion()")
    pairs = [f"{a} and {b}" for a, b in dict.fromkeys(zip(confusion["rater_a"], confusion["rater_b"], strict=True))]
    if len(pairs) != 1 or confusion.duplicated(["label_a", "label_b"]).any():
        raise FrameError(
            f"plot_confusion() needs the rows of one pair of raters (and one metric); found {listed(pairs) or 'none'}. "
            "Choose some, e.g. confusion[confusion['rater_a'] == 'aiko']."
        )
    down = list(dict.fromkeys(plain(one) for one in confusion["label_a"]))
    across = list(dict.fromkeys(plain(one) for one in confusion["label_b"]))
    counts = np.zeros((len(down), len(across)))
    for a, b, n in zip(confusion["label_a"], confusion["label_b"], confusion["n"], strict=True):
        counts[down.index(plain(a)), across.index(plain(b))] = n
    axes = axes_for(ax, 2 * len(down) + 2)
    axes.grid(visible=False)
    top = max(float(counts.max()), 1.0)
    axes.imshow(counts, cmap="Blues", vmin=0, vmax=top, aspect="auto")
    for (i, j), n in np.ndenumerate(counts):
        colour = PAPER if n / top > _DARK else INK
        axes.text(j, i, f"{n:,.0f}", ha="center", va="center", **text_style(axes, color=colour))
    axes.set_xticks(range(len(across)), labels=[left_to_right(one) for one in across], **text_style(axes))
    axes.set_yticks(range(len(down)), labels=[left_to_right(one) for one in down], **text_style(axes))
    axes.set_xlabel(left_to_right(plain(confusion["rater_b"].iloc[0])), **text_style(axes))
    axes.set_ylabel(left_to_right(plain(confusion["rater_a"].iloc[0])), **text_style(axes))
    return axes


def plot_retest(retest: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw one row per metric and grader: the standard deviation of grading the same thing again, with its interval.

    Raises
    ------
    FrameError
        A column is missing.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> rows = pd.DataFrame({"metric": ["q"], "grader": ["judge"], "sd": [0.08], "low": [0.07], "high": [0.1]})
    >>> [label.get_text() for label in plot_retest(rows, ax=Figure().subplots()).get_yticklabels()]
    ['q, judge']
    """
    RETEST.require(retest, "metric", "grader", "sd", "low", "high", by="plot_retest()")
    axes = axes_for(ax, len(retest))
    _intervals(axes, retest, ("sd", "low", "high"), 0.0, _POINT, "sd")
    axes.set_xlim(left=0)
    several = "grader_version" in retest and retest.duplicated(["metric", "grader"]).any()
    name_rows(axes, _names(retest, "metric", "grader", *(["grader_version"] if several else [])))
    axes.set_xlabel("scatter of grading the same again\n(standard deviation, 90 % interval)", **text_style(axes))
    return axes


def plot_grader_drift(drift: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw one row per metric and pair of graders: the share of the same outputs that got another verdict.

    Raises
    ------
    FrameError
        A column is missing.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> row = {"metric": "q", "grader_baseline": "old", "grader_candidate": "new", "changed_share": 0.2}
    >>> axes = plot_grader_drift(pd.DataFrame([{**row, "low": 0.1, "high": 0.4}]), ax=Figure().subplots())
    >>> [label.get_text() for label in axes.get_yticklabels()]
    ['q, old → new']
    """
    needed = ("metric", "grader_baseline", "grader_candidate", "changed_share", "low", "high")
    GRADER_DRIFT.require(drift, *needed, by="plot_grader_drift()")
    axes = axes_for(ax, len(drift))
    _intervals(axes, drift, ("changed_share", "low", "high"), 0.0, _POINT, "changed")
    axes.set_xlim(-0.02, 1.02)
    sides = list(zip(*(map(plain, drift[name]) for name in needed[:3]), strict=True))
    name_rows(axes, [left_to_right(f"{m}, {a}" if a == b else f"{m}, {a} → {b}") for m, a, b in sides])
    axes.set_xlabel("another verdict on the same output\n(share of outputs, 95 % interval)", **text_style(axes))
    return axes


def plot_corrected_means(corrected: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw one row per metric: the corrected mean and that of the labels alone with intervals, and the judge alone.

    Raises
    ------
    FrameError
        A column is missing.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> row = {"metric": "q", "mean": 0.2, "low": 0.15, "high": 0.25, "labels_only": 0.22, "labels_low": 0.1}
    >>> row |= {"labels_high": 0.3, "judge_only": 0.1}
    >>> axes = plot_corrected_means(pd.DataFrame([row]), ax=Figure().subplots())
    >>> [text.get_text() for text in axes.get_legend().get_texts()]
    ['corrected', 'labels only', 'judge only']
    """
    needed = ("metric", "mean", "low", "high", "labels_only", "labels_low", "labels_high", "judge_only")
    CORRECTED.require(corrected, *needed, by="plot_corrected_means()")
    axes = axes_for(ax, 2 * len(corrected))
    _intervals(axes, corrected, ("mean", "low", "high"), -0.12, _POINT, "corrected")
    _intervals(axes, corrected, ("labels_only", "labels_low", "labels_high"), 0.16, _LABELS, "labels only")
    axes.scatter(numbers(corrected["judge_only"]), np.arange(len(corrected)), zorder=4, gid="judge", **_JUDGE.scatter())
    name_rows(axes, _names(corrected, "metric"))
    label = plain(corrected["label"].iloc[0]) if "label" in corrected and len(corrected) else "label"
    axes.set_xlabel(left_to_right(f"mean of {label} over all units, 95 % interval"), **text_style(axes))
    legend_above(axes, [_POINT.handle("corrected"), _LABELS.handle("labels only"), _JUDGE.handle("judge only")])
    return axes


def _intervals(
    axes: Axes, rows: pd.DataFrame, columns: tuple[str, str, str], shift: float, mark: Mark, gid: str
) -> None:
    value, low, high = (numbers(rows[name]) for name in columns)
    y = np.arange(len(rows)) + shift
    ends = np.where(np.isfinite(low), low, value), np.where(np.isfinite(high), high, value)
    axes.hlines(y, *ends, colors=mark.colour, linewidth=1.8, zorder=2, gid=f"{gid} interval")
    axes.scatter(value, y, zorder=4, gid=gid, **mark.scatter())


def _names(rows: pd.DataFrame, *columns: str) -> list[str]:
    """Return the name of each row: what its columns say, the metric of a labelled one in front."""
    used = [name for name in dict.fromkeys(("metric", *columns)) if name in rows]
    cells = zip(*(rows[name] for name in used), strict=True)
    return [left_to_right(", ".join(plain(one) for one in row if not pd.isna(one))) for row in cells]
