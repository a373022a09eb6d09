"""The scale of imported metrics, declared in the workspace's ``metrics.toml``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harnesskit.model.errors import WorkspaceError
from harnesskit.model.metrics import Metric
from harnesskit.workspace.atomic import write_atomic
from harnesskit.workspace.declarations import read_declarations
from harnesskit.workspace.layout import METRICS
from harnesskit.workspace.locking import hold
from harnesskit.workspace.reading import read_file


def check_scale(scale: Mapping[str, Any] | None) -> list[Metric]:
    """Return the declared metrics.

    Raises
    ------
    WorkspaceError
        A scale is no pair of numbers; None on a side is unbounded.

    Examples
    --------
    >>> [m.high for m in check_scale({"helpfulness": (1, 5)})]
    [5.0]
    """
    found = []
    for name, pair in (scale or {}).items():
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise WorkspaceError(f"scale= needs the lowest and highest value of {name!r}, e.g. (1, 5); found {pair!r}.")
        low, high = (None if end is None else float(end) for end in pair)
        found.append(Metric(name, low=low, high=high))
    return found


def declare_scale(root: Path, metrics: list[Metric]) -> None:
    """Add the metrics to ``metrics.toml``; what is declared there already is left as it is.

    Raises
    ------
    WorkspaceError
        The file cannot be read, or declares one of them with another range.
    """
    if not metrics:
        return
    path = root / METRICS
    with hold(path.with_name("metrics.lock"), "declare metrics"):
        found = read_declarations(root)
        held = {metric.name: metric for metric in found.metrics}
        for metric in metrics:
            if metric.name in held and (held[metric.name].low, held[metric.name].high) != (metric.low, metric.high):
                raise WorkspaceError(
                    f"scale= gives {metric.name!r} {metric.low} to {metric.high}, {METRICS} declares "
                    f"{held[metric.name].low} to {held[metric.name].high}; correct one of them."
                )
        new = [_table(metric) for metric in metrics if metric.name not in held]
        if new:
            before = read_file(str(path))[0].rstrip() + b"\n\n" if path.exists() else b""
            write_atomic(path, before.lstrip(b"\n") + "\n".join(new).encode("utf-8"))


def _table(metric: Metric) -> str:
    ends = (
        f"{n} = {json.dumps('unbounded' if v is None else v)}\n"
        for n, v in (("low", metric.low), ("high", metric.high))
    )
    return f"[metrics.{json.dumps(metric.name)}]\n{''.join(ends)}"
