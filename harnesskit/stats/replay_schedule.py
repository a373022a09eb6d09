"""Which failing case is replayed next, in which arm: the run that lowers the variance of the mean difference most.

The order knows no score, only how many runs each case has in each arm: the information of every look, and so the
bounds of a sequential test, are fixed before the first replay. Runs of equal worth may be taken in any order: the
information is the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

FEWEST_GUARD = 3
"""Replays of wins that a budget keeps at least."""


class Cell(NamedTuple):
    """A replay to make: of which case (place among the failing cases), in which arm."""

    case: int
    candidate: bool


class Schedule(NamedTuple):
    """The replays of a budget in order, and the information after each."""

    cells: tuple[Cell, ...]
    information: Floats
    """F^2 / sum_c (1/n_c + 1/m_c) after each replay; 0 until every case has a run in each arm."""
    look: NDArray[np.bool_]
    """Whether the evidence is looked at after the replay."""

    @property
    def planned(self) -> float:
        """Information when the budget is spent: what a bound counts as all of it; 0 when there is no look."""
        seen = self.information[self.look]
        return float(seen[-1]) if len(seen) else 0.0


def benefit_budget(budget: int, *, guard_share: float = 0.25) -> int:
    """Return the most replays of failing cases: all but max(3, share of the budget), 3 where it is 5 or less.

    Examples
    --------
    >>> [benefit_budget(b) for b in (2, 5, 10, 20, 40, 80)]
    [2, 3, 7, 15, 30, 60]
    """
    if budget <= 5:
        return min(FEWEST_GUARD, budget)
    return budget - max(FEWEST_GUARD, round(guard_share * budget))


def next_cells(n_control: Sequence[int], n_candidate: Sequence[int]) -> list[Cell]:
    """Return the replays that lower the variance most, 1 / (k (k + 1)) with k the scored runs there; ties in order.

    The candidate's come first, then the lowest case. A case without a run in an arm comes before all others.

    Examples
    --------
    >>> next_cells([5, 5], [0, 1]), next_cells([1, 1], [1, 1])[0], next_cells([1, 1], [2, 2])[0].candidate
    ([Cell(case=0, candidate=True)], Cell(case=0, candidate=True), False)
    """
    fewest = min([*n_control, *n_candidate])
    arms = ((True, n_candidate), (False, n_control))
    return [Cell(case, candidate) for candidate, runs in arms for case, k in enumerate(runs) if k == fewest]


def next_in_round(n_control: Sequence[int], n_candidate: Sequence[int]) -> Cell:
    """Return the next replay of whole rounds: one candidate run of every case, control runs while they are fewer.

    Examples
    --------
    >>> next_in_round([0, 0], [1, 1]), next_in_round([5, 5], [1, 1])
    (Cell(case=0, candidate=False), Cell(case=0, candidate=True))
    """
    behind = [case for case, (m, n) in enumerate(zip(n_control, n_candidate, strict=True)) if m < n]
    start = min(n_candidate)
    waiting = [case for case, n in enumerate(n_candidate) if n == start]
    if behind and len(waiting) in (0, len(n_candidate)):
        return Cell(behind[0], candidate=False)
    return Cell(waiting[0], candidate=True)


def next_of_pair(n_control: Sequence[int], n_candidate: Sequence[int]) -> Cell:
    """Return the replay that completes a pair of a case, else begins one in the case with the fewest.

    Examples
    --------
    >>> next_of_pair([0, 0], [1, 0]), next_of_pair([5, 5], [2, 1])
    (Cell(case=0, candidate=False), Cell(case=1, candidate=True))
    """
    behind = [case for case, (m, n) in enumerate(zip(n_control, n_candidate, strict=True)) if m < n]
    if behind:
        return Cell(behind[0], candidate=False)
    return Cell(int(np.argmin(n_candidate)), candidate=True)


def information(n_control: Sequence[int], n_candidate: Sequence[int]) -> float:
    """Return F^2 / sum_c (1/n_c + 1/m_c); 0 while a case has no run in an arm.

    Examples
    --------
    >>> information([5, 5], [1, 1]).__round__(4), information([1, 0], [1, 1])
    (1.6667, 0.0)
    """
    runs = np.array([*n_control, *n_candidate], dtype=float)
    return float(len(n_control) ** 2 / (1 / runs).sum()) if len(runs) and runs.min() > 0 else 0.0


def schedule(banked: Sequence[int], budget: int, *, rounds: bool = False) -> Schedule:
    """Return the replays of a budget, one at a time, or in whole rounds that are looked at when complete.

    Parameters
    ----------
    banked
        Scored control runs of each case before the first replay.
    budget
        Replays of failing cases.
    rounds
        Whole rounds (the ``classic`` design): a look after each, and none after an incomplete one.

    Examples
    --------
    >>> plan = schedule([5, 5, 5], 7)
    >>> [cell.case for cell in plan.cells], int(plan.look.sum()), round(plan.planned, 2)
    ([0, 1, 2, 0, 1, 2, 0], 5, 4.66)
    """
    m, n = list(banked), [0] * len(banked)
    cells, info, look = [], [], []
    for _ in range(budget if banked else 0):
        cell = next_in_round(m, n) if rounds else next_cells(m, n)[0]
        (n if cell.candidate else m)[cell.case] += 1
        cells.append(cell)
        info.append(information(m, n))
        look.append(info[-1] > 0 and (not rounds or round_complete(m, n)))
    return Schedule(tuple(cells), np.array(info), np.array(look, dtype=bool))


def round_complete(n_control: Sequence[int], n_candidate: Sequence[int]) -> bool:
    """Whether every case has as many candidate runs, and no fewer control runs.

    Examples
    --------
    >>> round_complete([1, 5], [1, 1]), round_complete([0, 1], [1, 1])
    (True, False)
    """
    return len(set(n_candidate)) == 1 and min(n_control) >= n_candidate[0] > 0
