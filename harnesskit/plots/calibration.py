"""Thresholds against labels: rates under every threshold, scores by label, and the gate under other settings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from harnesskit.model.calibration import GATE_REPLAY, SWEEP
from harnesskit.model.errors import FrameError, listed
from harnesskit.plots.axes import BAD, BASELINE, CANDIDATE, GOOD, axes_for, legend_above, name_rows, name_x, text_style
from harnesskit.plots.columns import numbers
from harnesskit.plots.labels import plain

_RATES: tuple[tuple[str, str, Any, str], ...] = (
    ("precision", CANDIDATE, "-", "o"),
    ("recall", BAD, "--", "s"),
    ("f1", GOOD, ":", "^"),
)
_ROWS = 9


def plot_threshold_sweep(sweep: pd.DataFrame, *, threshold: float | None = None, ax: Axes | None = None) -> Axes:
    """Draw precision, recall and F1 of one metric under every threshold, each in the band that holds at all of them.

    Parameters
    ----------
    sweep
        The rows of one metric of `hk.sweep_thresholds`.
    threshold
        The configured threshold, drawn as a line.
    ax
        Where to draw; new axes when None.

    Raises
    ------
    FrameError
        A column is missing, or there are several metrics: choose one.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> rows = pd.DataFrame({"metric": "q", "threshold": [0.4, 0.6], "precision": [1.0, 0.8], "recall": [0.4, 0.9]})
    >>> rows = rows.assign(f1=[0.57, 0.85], precision_low=0.5, precision_high=1.0)
    >>> rows = rows.assign(recall_low=0.2, recall_high=1.0, f1_low=0.3, f1_high=1.0)
    >>> plot_threshold_sweep(rows, ax=Figure().subplots()).get_xlabel()
    'threshold of q; bands: 95 %, at all thresholds at once'
    """
    wanted = [f"{name}{end}" for name, *_ in _RATES for end in ("", "_low", "_high")]
    SWEEP.require(sweep, "metric", "threshold", *wanted, by="plot_threshold_sweep()")
    metric = _only_metric(sweep, "plot_threshold_sweep()")
    axes = axes_for(ax, _ROWS)
    x = numbers(sweep["threshold"])
    handles: list[Any] = []
    for name, colour, line, marker in _RATES:
        low, high = (numbers(sweep[f"{name}_{end}"]) for end in ("low", "high"))
        axes.fill_between(x, low, high, color=colour, alpha=0.13, lw=0)
        axes.plot(x, numbers(sweep[name]), color=colour, linestyle=line, marker=marker, markersize=4, linewidth=1.6)
        word = "F1" if name == "f1" else name
        handles.append(Line2D([], [], color=colour, linestyle=line, marker=marker, markersize=4, label=word))
    if threshold is not None and np.isfinite(threshold):
        axes.axvline(threshold, color=BASELINE, linewidth=1.2, linestyle="-.")
        handles.append(Line2D([], [], color=BASELINE, linestyle="-.", label=f"configured {threshold:g}"))
    axes.set_ylim(0, 1.02)
    axes.set_ylabel("share of sessions", **text_style(axes))
    name_x(axes, f"threshold of {metric}; bands: 95 %, at all thresholds at once")
    legend_above(axes, handles)
    return axes


def plot_scores_by_label(
    scores: pd.DataFrame, *, threshold: float | None = None, bins: int = 20, ax: Axes | None = None
) -> Axes:
    """Draw how the scores of sessions lie, failed, good and unlabelled ones stacked.

    Parameters
    ----------
    scores
        One row per session: ``metric, value, failed`` (missing: not labelled), of one metric.
    threshold
        The configured threshold, drawn as a line.
    bins
        Bars over the range of the scores.
    ax
        Where to draw; new axes when None.

    Raises
    ------
    FrameError
        A column is missing, or there are several metrics: choose one.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> rows = pd.DataFrame({"metric": "q", "value": [0.2, 0.8, 0.9], "failed": [True, False, None]})
    >>> plot_scores_by_label(rows, ax=Figure().subplots()).get_ylabel()
    'sessions'
    """
    SWEEP.require(scores, "metric", by="plot_scores_by_label()")
    absent = [name for name in ("value", "failed") if name not in scores]
    if absent:
        raise FrameError(f"plot_scores_by_label() needs one row per session; missing {listed(absent)}.")
    metric = _only_metric(scores, "plot_scores_by_label()")
    value, failed = numbers(scores["value"]), numbers(scores["failed"])
    known = np.isfinite(value)
    ends = (float(value[known].min()), float(value[known].max())) if known.any() else (0.0, 1.0)
    edges = np.linspace(ends[0], ends[1] if ends[1] > ends[0] else ends[0] + 1, bins + 1)
    axes = axes_for(ax, _ROWS)
    bottom = np.zeros(bins)
    handles: list[Any] = []
    groups = (
        ("failed", failed > 0, BAD, "///"),
        ("good", failed == 0, GOOD, ""),
        ("no label", np.isnan(failed), "#c4c8d0", ""),
    )
    for word, mine, colour, hatch in groups:
        count = np.histogram(value[known & mine], edges)[0]
        if not count.any():
            continue
        style: dict[str, Any] = {"facecolor": colour, "hatch": hatch, "edgecolor": "#ffffff", "linewidth": 0.6}
        axes.bar(edges[:-1], count, width=np.diff(edges), bottom=bottom, align="edge", **style)
        handles.append(Patch(label=f"{word} ({int(count.sum()):,})", **style))
        bottom += count
    if threshold is not None and np.isfinite(threshold):
        axes.axvline(threshold, color=BASELINE, linewidth=1.2, linestyle="-.")
        handles.append(Line2D([], [], color=BASELINE, linestyle="-.", label=f"configured {threshold:g}"))
    axes.set_ylabel("sessions", **text_style(axes))
    name_x(axes, f"score of a session, {metric}")
    legend_above(axes, handles)
    return axes


def plot_gate_replay(replayed: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw precision and recall of the gate under every setting, with their 95 % intervals.

    Raises
    ------
    FrameError
        A column is missing.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> row = {"window": 5, "target": 0.5, "gain": 0.02, "drop": 0.15, "precision": 0.8, "recall": 0.5}
    >>> ends = {f"{name}_{end}": 0.6 for name in ("precision", "recall") for end in ("low", "high")}
    >>> axes = plot_gate_replay(pd.DataFrame([row | ends]), ax=Figure().subplots())
    >>> [label.get_text() for label in axes.get_yticklabels()]
    ['window 5, target 0.5, gain 0.02, drop 0.15']
    """
    wanted = [f"{name}{end}" for name in ("precision", "recall") for end in ("", "_low", "_high")]
    GATE_REPLAY.require(replayed, "window", "target", "gain", "drop", *wanted, by="plot_gate_replay()")
    axes = axes_for(ax, len(replayed))
    handles: list[Any] = []
    for shift, (name, colour, _, marker) in zip((-0.16, 0.16), _RATES[:2], strict=True):
        y = np.arange(len(replayed)) + shift
        axes.hlines(y, numbers(replayed[f"{name}_low"]), numbers(replayed[f"{name}_high"]), color=colour, linewidth=1.6)
        axes.scatter(numbers(replayed[name]), y, color=colour, marker=marker, s=30, zorder=3)
        handles.append(Line2D([], [], color=colour, marker=marker, linestyle="none", label=name))
    settings = zip(*(replayed[name] for name in ("window", "target", "gain", "drop")), strict=True)
    name_rows(axes, [f"window {w:g}, target {t:g}, gain {g:g}, drop {d:g}" for w, t, g, d in settings])
    axes.set_xlim(0, 1.02)
    name_x(axes, "share of sessions, 95 % interval")
    legend_above(axes, handles)
    return axes


def _only_metric(frame: pd.DataFrame, by: str) -> str:
    found = [plain(one) for one in frame["metric"].unique()]
    if len(found) != 1:
        raise FrameError(
            f"{by} draws one metric; found {listed(found) or 'none'}. Choose one: frame[frame['metric'] == ...]."
        )
    return found[0]
