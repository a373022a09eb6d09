"""Interleaved timing in one process, and the table of what came out."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any, NamedTuple

REPEATS = 5


class Row(NamedTuple):
    """One line of the table; `bound` is the most (or, with `least`, the least) that `ratio` may be."""

    what: str
    measured: str
    naive: str = ""
    limit: str = ""
    ratio: float | None = None
    spread: tuple[float, float] | None = None
    bound: float | None = None
    least: bool = False

    @property
    def ok(self) -> bool:
        """Whether the target was met; a line without one is always met."""
        if self.ratio is None or self.bound is None:
            return True
        return self.ratio >= self.bound if self.least else self.ratio <= self.bound


class Times:
    """Seconds per way and repetition."""

    def __init__(self, seconds: list[list[float]]) -> None:
        self.seconds = seconds

    def of(self, way: int) -> float:
        """Return the median seconds of one way."""
        return median(self.seconds[way])

    def ratios(self, way: int, other: int) -> tuple[float, tuple[float, float]]:
        """Return the median, lowest and highest ratio of two ways, each repetition with its own neighbour."""
        found = [a / b for a, b in zip(self.seconds[way], self.seconds[other], strict=True)]
        return median(found), (min(found), max(found))


def interleaved(ways: Sequence[Callable[[], Any]], repeats: int = REPEATS) -> Times:
    """Time `ways` in turn, `repeats` times, after one round that warms caches; results are dropped untimed."""
    for way in ways:
        way()
    seconds: list[list[float]] = [[] for _ in ways]
    for _ in range(repeats):
        for way, taken in zip(ways, seconds, strict=True):
            gc.collect()
            start = time.perf_counter()
            result = way()
            taken.append(time.perf_counter() - start)
            del result
    return Times(seconds)


def shown(seconds: float) -> str:
    """Return a duration for the table."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e6:.3g} us"


def text_table(rows: Sequence[Row]) -> str:
    """Return the rows as aligned text."""
    cells = [("what", "measured", "naive", "limit", "ratio", "(lowest-highest)", "target", "ok")]
    for row in rows:
        spread = f"({row.spread[0]:.2f}-{row.spread[1]:.2f})" if row.spread else ""
        target = "" if row.bound is None else f"{'>=' if row.least else '<='} {row.bound:g}"
        ratio = "" if row.ratio is None else f"{row.ratio:.2f}"
        verdict = "" if row.bound is None else "yes" if row.ok else "MISSED"
        cells.append((row.what, row.measured, row.naive, row.limit, ratio, spread, target, verdict))
    widths = [max(len(line[column]) for line in cells) for column in range(len(cells[0]))]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in cells)
