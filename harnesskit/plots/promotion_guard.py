"""What a guard did to protected wins, and to the runs in which it was read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from harnesskit.model.promotion_results import GUARD_WINS, PROMOTION_EVIDENCE
from harnesskit.plots.axes import BAD, BASELINE, CANDIDATE, Mark, axes_for, legend_above, name_rows, name_x, note_row
from harnesskit.plots.columns import numbers
from harnesskit.plots.labels import left_to_right, plain, row_labels

_WIN, _HARMED = Mark(CANDIDATE, "o"), Mark(BAD, "v")
_ALL, _READ = Mark(CANDIDATE, "o"), Mark(CANDIDATE, "o", filled=False)


def plot_guard_wins(wins: pd.DataFrame, *, ax: Axes | None = None, top: int = 30) -> Axes:
    """Draw one row per protected win that was replayed: its mean change and interval, in the order of the frame.

    Parameters
    ----------
    wins
        Guard wins; reads ``case_id, replayed, delta, low, high``, and ``harm, n_candidate`` when there.
    ax
        Where to draw; new axes when None.
    top
        Rows to draw; what follows is one line "others (k)". Wins that were not replayed are one line too.

    Returns
    -------
    Axes
        The x axis is the mean change over the metrics on the common scale, positive is better. At the right of each
        row: the likelihood ratio of harm, and runs with the guard. A triangle: harm is likelier than no change.

    Raises
    ------
    FrameError
        A column is missing.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> row = {"case_id": "refund", "replayed": True, "delta": -0.1, "low": -0.2, "high": 0.0, "harm": 1.4}
    >>> axes = plot_guard_wins(pd.DataFrame([row]), ax=Figure().subplots())
    >>> [label.get_text() for label in axes.get_yticklabels()]
    ['refund']
    """
    GUARD_WINS.require(wins, "case_id", "replayed", "delta", "low", "high", by="plot_guard_wins()")
    there = wins["replayed"].fillna(False).to_numpy(dtype=bool)
    replayed = wins[there]
    shown = replayed.head(top)
    left, unseen = len(replayed) - len(shown), int((~there).sum())
    labels = row_labels(shown["case_id"]).by_text
    names = [left_to_right(labels[plain(case)]) for case in shown["case_id"]]
    names += [f"others ({left:,})"] * (left > 0) + [f"not replayed ({unseen:,})"] * (unseen > 0)
    axes = axes_for(ax, len(names) + 1)
    axes.axvline(0.0, color=BASELINE, linewidth=1.0, zorder=1)
    harmed = numbers(shown["harm"]) > 1 if "harm" in shown else np.zeros(len(shown), dtype=bool)
    handles = []
    for mark, rows, word in ((_WIN, ~harmed, "no change likelier"), (_HARMED, harmed, "harm likelier")):
        if rows.any():
            _interval_rows(axes, shown, rows, mark, word)
            handles.append(mark.handle(word))
    for place, row in enumerate(shown.to_dict("records")):
        note_row(axes, place, _note(row))
    name_rows(axes, names)
    name_x(axes, "mean change over the metrics, with the guard minus without (1 = whole range); lines: 95 % intervals")
    legend_above(axes, handles)
    return axes


def plot_compliance(evidence: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the effect on all replays, which decides, above the effect on those that read the guard.

    Parameters
    ----------
    evidence
        Evidence about a guard; reads the rows ``benefit``, ``effect_when_read`` and ``compliance`` that are there, and
        their ``check, estimate, low, high, n``.
    ax
        Where to draw; new axes when None.

    Returns
    -------
    Axes
        The x axis is the mean change of the failing cases on the common scale. The label of the lower row says in what
        share of the replays the guard was read.

    Raises
    ------
    FrameError
        A column is missing.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ends = {"low": [0.0, 0.1, 0.5], "high": [0.2, 0.3, 0.9], "n": [4, 4, 8]}
    >>> rows = {"check": ["benefit", "effect_when_read", "compliance"], "estimate": [0.1, 0.2, 0.75], **ends}
    >>> axes = plot_compliance(pd.DataFrame(rows), ax=Figure().subplots())
    >>> [label.get_text() for label in axes.get_yticklabels()]
    ['all replays (decides)', 'where it was read (75 %)']
    """
    PROMOTION_EVIDENCE.require(evidence, "check", "estimate", "low", "high", by="plot_compliance()")
    rows = {str(row["check"]): row for row in evidence.to_dict("records")}
    drawn = [name for name in ("benefit", "effect_when_read") if name in rows]
    share = _one(rows["compliance"]["estimate"]) if "compliance" in rows else float("nan")
    read = f" ({100 * share:.0f} %)" if np.isfinite(share) else ""
    words = {"benefit": "all replays (decides)", "effect_when_read": f"where it was read{read}"}
    axes = axes_for(ax, len(drawn) + 1)
    axes.axvline(0.0, color=BASELINE, linewidth=1.0, zorder=1)
    for place, (check, mark) in enumerate(zip(drawn, (_ALL, _READ), strict=False)):
        _interval_rows(axes, pd.DataFrame([rows[check]]), np.array([True]), mark, words[check], place)
    name_rows(axes, [words[check] for check in drawn])
    name_x(axes, "mean change of the failing cases, with the guard minus without; lines: 95 % intervals")
    return axes


def _interval_rows(
    axes: Axes, frame: pd.DataFrame, rows: np.ndarray[Any, Any], mark: Mark, gid: str, first: int = 0
) -> None:
    y = np.flatnonzero(rows).astype(float) + first
    names = ("delta" if "delta" in frame else "estimate", "low", "high")
    x, low, high = (numbers(frame[name])[rows] for name in names)
    ends = np.where(np.isfinite(low), low, x), np.where(np.isfinite(high), high, x)
    axes.hlines(y, *ends, colors=mark.colour, linewidth=1.8, zorder=2, gid=f"{gid} interval")
    axes.scatter(x, y, zorder=4, gid=gid, **mark.scatter())


def _note(row: dict[Any, Any]) -> str:
    words = []
    if np.isfinite(harm := _one(row.get("harm"))):
        words.append(f"ratio {harm:.2g}" if harm < 1000 else f"ratio {harm:.0e}")
    if np.isfinite(runs := _one(row.get("n_candidate"))):
        words.append(f"{runs:.0f} run{'' if runs == 1 else 's'}")
    return ", ".join(words)


def _one(value: object) -> float:
    return float("nan") if value is None or value is pd.NA else float(value)  # type: ignore[arg-type]
