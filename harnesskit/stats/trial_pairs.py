"""Who is compared with whom in a forward trial: treatment and control units, paired as they come."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    Ints = NDArray[np.int64]

BLOCK = 4


class Pairs(NamedTuple):
    """Pairs in the order in which their second unit came."""

    treated: Ints
    control: Ints
    closed: Ints
    """Place of the unit that completed the pair."""
    unpaired: int
    """Scored units that have no partner yet."""
    blocks: int
    """Units from the first on whose arms are balanced in blocks of four."""


def trial_pairs(
    treated: ArrayLike, scored: ArrayLike, *, twin: ArrayLike | None = None, swap: Sequence[bool] = ()
) -> Pairs:
    """Pair treatment with control units in their order of entry.

    What comes later changes no pair made before, but for a group that comes back in its other arm.

    Inside a balanced block of four the pairing is drawn at random among the two possible ones (`swap`). Drawn so, the
    sign of each difference is a fair coin of its own whatever happens to the level of scores inside the block: the 12
    combinations of arms and pairing are equally likely, and each way to cut a block into two pairs has all 4 signs
    equally often. "First with first" has not that property. Units without a balanced block, and those whose partner
    was not scored, are paired first come, first served.

    Parameters
    ----------
    treated, scored
        Per unit in order of entry: has it the rule, has it a score.
    twin
        Group of a unit; the two arms of one group are paired with each other first. Negative: no group.
    swap
        Per block of four: whether its first treatment unit is paired with its second control unit.

    Examples
    --------
    >>> pairs = trial_pairs([1, 0, 0, 1, 1, 0], [1, 1, 1, 1, 1, 1], swap=[False, False])
    >>> list(zip(pairs.treated.tolist(), pairs.control.tolist()))
    [(0, 1), (3, 2), (4, 5)]
    >>> trial_pairs([1, 0, 1], [1, 0, 1]).unpaired
    2
    """
    arm, there = np.asarray(treated, dtype=bool), np.asarray(scored, dtype=bool)
    found: list[tuple[int, int, int]] = []
    free = there.copy()
    for one, other in _twins(arm, twin):
        free[[one, other]] = False
        if there[one] and there[other]:
            found.append((max(one, other), one, other))
    blocked = 0 if found else _balanced(arm)
    waiting = [(place, place) for place in range(blocked, len(arm)) if free[place]]
    for start in range(0, blocked, BLOCK):
        swapped = bool(swap[start // BLOCK]) if start // BLOCK < len(swap) else False
        made, left = _in_block(arm, free, range(start, min(start + BLOCK, blocked)), swapped)
        found += made
        waiting += left
        if start + BLOCK > blocked and blocked < len(arm):  # the block broke: its other units need not wait for it
            used = {place for pair in made for place in pair[1:]} | {place for _, place in left}
            waiting += [(blocked, place) for place in range(start, blocked) if free[place] and place not in used]
    order = sorted([*found, *_as_they_come(arm, sorted(waiting))])
    columns = np.array(order, dtype=np.int64).reshape(-1, 3)
    return Pairs(columns[:, 1], columns[:, 2], columns[:, 0], int(there.sum()) - 2 * len(order), blocked)


def _balanced(arm: NDArray[np.bool_]) -> int:
    """Return how many units from the first on lie in blocks of four that can still have two of each arm."""
    for start in range(0, len(arm), BLOCK):
        block = arm[start : start + BLOCK]
        broken = np.flatnonzero(np.maximum(np.cumsum(block), np.cumsum(~block)) > BLOCK // 2)
        if len(broken):
            return start + int(broken[0])
    return len(arm)


def _twins(arm: NDArray[np.bool_], twin: ArrayLike | None) -> list[tuple[int, int]]:
    if twin is None:
        return []
    group = np.asarray(twin)
    with_rule = {int(group[i]): int(i) for i in np.flatnonzero(arm & (group >= 0))}
    without = {int(group[i]): int(i) for i in np.flatnonzero(~arm & (group >= 0))}
    return [(with_rule[g], without[g]) for g in sorted(with_rule.keys() & without.keys())]


def _in_block(
    arm: NDArray[np.bool_], there: NDArray[np.bool_], places: range, swapped: bool
) -> tuple[list[tuple[int, int, int]], list[tuple[int, int]]]:
    """Return the pairs of one block, and when which of its units became free because the partner had no score."""
    with_rule, without = [i for i in places if arm[i]], [i for i in places if not arm[i]]
    found, left = [], []
    for turn in range(BLOCK // 2):
        other = 1 - turn if swapped else turn
        if turn >= len(with_rule) or other >= len(without):
            continue  # the partner is still to come
        one, two = with_rule[turn], without[other]
        if there[one] and there[two]:
            found.append((max(one, two), one, two))
        elif there[one] or there[two]:
            left.append((max(one, two), one if there[one] else two))
    return found, left


def _as_they_come(arm: NDArray[np.bool_], free: list[tuple[int, int]]) -> list[tuple[int, int, int]]:
    """Return the pairs of units that are free from a place on, first come, first served."""
    queue: list[int] = []
    found = []
    for since, place in free:
        if queue and arm[queue[0]] != arm[place]:
            other = queue.pop(0)
            one, two = (place, other) if arm[place] else (other, place)
            found.append((since, one, two))
        else:
            queue.append(place)
    return found
