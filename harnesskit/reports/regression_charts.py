"""The charts of the regression report: changes on axes that they can share, and the path of an adaptive run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd

from harnesskit.plots.labels import label_keys
from harnesskit.plots.regression import pair_texts
from harnesskit.plots.sequence import plot_sequence
from harnesskit.reports.cells import Column
from harnesskit.reports.document import Block, Chart, Prose, Table
from harnesskit.reports.masking import mask_frame
from harnesskit.reports.regression_words import count, sequence_finding

_COMMON_SCALE = 1.0  # metrics whose changes all lie within this share one chart; any other gets its own
_MOST_CHARTS = 4
_TOP = 30
_PATHS = 6
_LOOKS = (
    Column("case_id", "Case", "text"),
    Column("look", "Look", "count"),
    Column("n_candidate", "Runs cand. / base", "pair", "n_baseline"),
    Column("z", "Evidence", "number"),
    Column("bound", "Boundary", "number"),
    Column("status", "Status", "status"),
    Column("metrics", "Strongest in", "text"),
)


def change_charts(
    plot: Callable[..., Any],
    frame: pd.DataFrame,
    title: str,
    finding: Callable[[pd.DataFrame], str],
    names: tuple[str, str],
) -> list[Block]:
    """Return charts of changes, one per scale, each with the names behind its keys."""
    blocks: list[Block] = []
    parts = _by_scale(frame)
    for name, part in parts[:_MOST_CHARTS]:
        shown = part.head(_TOP)
        heading = title if name is None else f"{title}: {name}, in its own unit"
        blocks.append(Chart(plot, part, heading, finding(part), len(shown) + (len(part) > len(shown))))
        # Masked first: keys must be those of the labels as they are drawn.
        keys = label_keys(pair_texts(mask_frame(shown), names))
        if not keys.empty:
            columns = (Column("key", "Key", "text"), Column("text", "Stands for", "text"))
            blocks.append(
                Table(f"keys_{plot.__name__}_{len(blocks)}", "Names behind the keys in the chart", keys, columns)
            )
    if len(parts) > _MOST_CHARTS:
        left = ", ".join(str(name) for name, _ in parts[_MOST_CHARTS:])
        blocks.append(Prose((f"Not drawn, because their units differ: {left}. The table has them.",)))
    return blocks


def _by_scale(frame: pd.DataFrame) -> list[tuple[str | None, pd.DataFrame]]:
    """Return the rows that can share an axis: all metrics with small changes together, every other on its own."""
    if frame.empty:
        return []
    values = frame[["delta", "low", "high"]].apply(pd.to_numeric, errors="coerce").abs().max(axis=1)
    largest = values.groupby(frame["metric"], sort=False, dropna=False).max()
    wide = [metric for metric in largest.index if largest[metric] > _COMMON_SCALE]
    if not wide or len(largest) == 1:
        return [(None, frame)]
    shared = frame[~frame["metric"].isin(wide)]
    parts: list[tuple[str | None, pd.DataFrame]] = [(None, shared)] if not shared.empty else []
    return parts + [(str(metric), frame[frame["metric"] == metric]) for metric in wide]


def sequence_blocks(looks: pd.DataFrame | None) -> list[Block]:
    """Return how the evidence of an adaptive run came in, the cases looked at more than once drawn; nothing without."""
    if looks is None or looks.empty:
        return []
    again = looks[looks.groupby("case_id")["look"].transform("size") > 1]
    said = (
        "Every win was replayed once; then only those where a verdict could still change. After each replay the "
        "evidence is held against a boundary that allows for all wins and all looks, so that looking often raises no "
        "false alarms."
    )
    caption = f"Every look at {count(looks['case_id'].nunique(), 'win')}, in the order of the chart"
    table = Table("looks", caption, looks, _LOOKS, open_rows=0)
    if again.empty:
        return [Prose((said, "No win was looked at more than once.")), table]
    drawn = again[again["case_id"].isin(again["case_id"].drop_duplicates().head(_PATHS))]
    title = "Evidence of a drop after each replay, against the boundary"
    return [Prose((said,)), Chart(plot_sequence, drawn, title, sequence_finding(again), 9), table]
