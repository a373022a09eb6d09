"""Calls that were made held against calls that were expected: which of them belong together, and how many are right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import numpy as np

from harnesskit.graders.tool_calls import ToolCall

Mode = Literal["exact", "in_order", "any_order", "subset", "superset"]
MODES: tuple[Mode, ...] = ("exact", "in_order", "any_order", "subset", "superset")
MOST_PAIRS = 250_000
"""Expected times made calls up to which they are paired."""


class Match(NamedTuple):
    """How many calls are right, of how many; None when there is nothing to judge."""

    right: int
    total: int | None


def match_tools(expected: Sequence[str], made: Sequence[str], mode: Mode) -> Match:
    """Return how many of the tools are right; right equals total when everything is.

    ``exact``: the same tools in the same places, of the longer list. ``in_order``: expected tools in their order,
    others between them, of the expected. ``any_order``: the same tools as often, of the longer list. ``superset``:
    expected tools among those made, of the expected. ``subset``: made tools among those expected, of the made.

    Examples
    --------
    >>> match_tools(["find", "refund"], ["find", "look", "refund"], "in_order")
    Match(right=2, total=2)
    >>> match_tools(["find", "refund"], ["refund", "refund"], "any_order")
    Match(right=1, total=2)
    """
    longer = max(len(expected), len(made))
    if mode == "exact":
        return Match(sum(a == b for a, b in zip(expected, made, strict=False)), longer)
    if mode == "in_order":
        return Match(_longest_common(expected, made), len(expected) or None)
    both = sum((Counter(expected) & Counter(made)).values())
    if mode == "any_order":
        return Match(both, longer)
    if mode == "subset":
        return Match(both, len(made))
    return Match(both, len(expected) or None)


def pair_calls(
    expected: Sequence[ToolCall],
    made: Sequence[ToolCall],
    mode: Mode,
    likeness: Callable[[ToolCall, ToolCall], float],
) -> list[int | None]:
    """Return, for each expected call, the place of the made call that stands for it; None when there is none.

    Only calls of one tool belong together, each once. ``exact`` pairs by place; ``in_order`` keeps the order; the
    other modes choose freely. Of several ways the one with the greatest total `likeness` (0 to 1) is taken.
    """
    if mode == "exact":
        return [
            place if place < len(made) and made[place].tool == call.tool else None
            for place, call in enumerate(expected)
        ]
    if not expected or not made:
        return [None] * len(expected)
    worth = np.array([
        [1.0 + likeness(call, one) if one.tool == call.tool else 0.0 for one in made] for call in expected
    ])  # fmt: skip
    return _aligned(worth) if mode == "in_order" else _assigned(worth)


def _longest_common(first: Sequence[str], second: Sequence[str]) -> int:
    row = [0] * (len(second) + 1)
    for one in first:
        before = 0
        for place, other in enumerate(second, 1):
            before, row[place] = row[place], before + 1 if one == other else max(row[place], row[place - 1])
    return row[-1]


def _aligned(worth: np.ndarray) -> list[int | None]:
    """Pair in order: the best alignment of two sequences (Needleman and Wunsch 1970, gaps free)."""
    rows, columns = worth.shape
    best = np.zeros((rows + 1, columns + 1))
    for i in range(rows):
        for j in range(columns):
            best[i + 1, j + 1] = max(best[i, j + 1], best[i + 1, j], best[i, j] + worth[i, j])
    pairs: list[int | None] = [None] * rows
    i, j = rows, columns
    while i and j:
        if best[i, j] == best[i - 1, j]:
            i -= 1
        elif best[i, j] == best[i, j - 1]:
            j -= 1
        else:
            i, j = i - 1, j - 1
            pairs[i] = j
    return pairs


def _assigned(worth: np.ndarray) -> list[int | None]:
    from scipy.optimize import linear_sum_assignment

    chosen: list[int | None] = [None] * len(worth)
    for row, column in zip(*linear_sum_assignment(worth, maximize=True), strict=True):
        if worth[row, column] > 0:
            chosen[row] = int(column)
    return chosen
