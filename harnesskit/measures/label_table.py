"""Labels as a table of units and raters: what agreement, confusion and correction begin with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from harnesskit.model.errors import FrameError, listed
from harnesskit.model.frames import LABELS

REVISED = "a rater labelled a unit again: the last label counts"


class Ratings(NamedTuple):
    """The labels of one metric: one row per unit, one column per rater, the codes of `labels`; NaN where none."""

    metric: str | None
    table: pd.DataFrame
    labels: list[Any]
    """Distinct labels in order; their places are the codes."""
    revised: bool
    cluster: Any
    """Cluster of each unit, or None."""


def ratings_of(
    labels: pd.DataFrame, *, unit: str, rater: str, value: str, cluster: str | None, by: str
) -> Iterator[Ratings]:
    """Yield the ratings of every metric, those on the whole unit first.

    Raises
    ------
    FrameError
        A column is missing.
    """
    LABELS.require(labels, *dict.fromkeys((unit, rater, value, *([cluster] if cluster else []))), by=by)
    rows = labels[labels[unit].notna() & labels[rater].notna() & labels[value].notna()].reset_index(drop=True)
    if "at" in rows:
        rows = rows.sort_values("at", kind="stable", na_position="first").reset_index(drop=True)
    metric = rows["metric"].astype(object) if "metric" in rows else pd.Series(None, index=rows.index, dtype=object)
    named = metric.where(metric.notna(), "")
    for name in sorted({str(one) for one in named}):
        yield _ratings(rows[named.astype(str) == name], name or None, unit, rater, value, cluster, by)


def _ratings(
    rows: pd.DataFrame, metric: str | None, unit: str, rater: str, value: str, cluster: str | None, by: str
) -> Ratings:
    found = _ordered(rows[value], by)
    code = {_key(label): place for place, label in enumerate(found)}
    rows = rows.copy()
    rows[value] = [float(code[_key(one)]) for one in rows[value]]
    rows[unit], rows[rater] = rows[unit].astype(str), rows[rater].astype(str)
    last = rows.drop_duplicates([unit, rater], keep="last")
    table = last.pivot_table(index=unit, columns=rater, values=value, aggfunc="first").sort_index().sort_index(axis=1)
    clusters = None
    if cluster is not None:
        of_unit = rows.drop_duplicates(unit, keep="last").set_index(unit)[cluster]
        clusters = [str(one) for one in of_unit.reindex(table.index)]
    return Ratings(metric, table, found, len(last) < len(rows), clusters)


def _ordered(values: pd.Series[Any], by: str) -> list[Any]:
    """Return the distinct labels in order; labels of different kinds cannot be told apart for sure."""
    kinds = {"truth" if isinstance(one, bool | np.bool_) else "number" if _is_number(one) else "text" for one in values}
    if len(kinds) > 1:
        shown = listed(sorted({repr(one) for one in values}))
        raise FrameError(
            f"{by} needs labels of one kind (true or false, numbers, or text); found {shown}. Convert them."
        )
    return sorted({_key(one): one for one in values}.values())


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.integer | np.floating)


def _key(value: Any) -> Any:
    return bool(value) if isinstance(value, bool | np.bool_) else float(value) if _is_number(value) else str(value)
