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
    """Pair treatment with control units in their order of entry; what comes later changes no pair made before.

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
    blocked = _balanced(arm) if twin is None or not found else 0
    waiting = {True: list[int](), False: list[int]()}
    for start in range(0, blocked, BLOCK):
        places = range(start, min(start + BLOCK, len(arm)))
        found += _in_block(arm, free, places, swap[start // BLOCK] if start // BLOCK < len(swap) else False, waiting)
    after = np.flatnonzero(free[blocked:]) + blocked
    loose = np.array(sorted([*after.tolist(), *waiting[True], *waiting[False]]), dtype=np.int64)
    order = sorted([*found, *_as_they_come(arm, loose)])
    columns = np.array(order, dtype=np.int64).reshape(-1, 3)
    return Pairs(columns[:, 1], columns[:, 2], columns[:, 0], int(there.sum()) - 2 * len(order), blocked)


def _balanced(arm: NDArray[np.bool_]) -> int:
    """Return how many units from the first on lie in blocks of four with two of each arm; an open block may be one."""
    for start in range(0, len(arm), BLOCK):
        block = arm[start : start + BLOCK]
        if max(int(block.sum()), int((~block).sum())) > BLOCK // 2:
            return start
    return len(arm)


def _twins(arm: NDArray[np.bool_], twin: ArrayLike | None) -> list[tuple[int, int]]:
    if twin is None:
        return []
    group = np.asarray(twin)
    with_rule = {int(group[i]): int(i) for i in np.flatnonzero(arm & (group >= 0))}
    without = {int(group[i]): int(i) for i in np.flatnonzero(~arm & (group >= 0))}
    return [(with_rule[g], without[g]) for g in sorted(with_rule.keys() & without.keys())]


def _in_block(
    arm: NDArray[np.bool_],
    there: NDArray[np.bool_],
    places: range,
    swapped: bool,
    waiting: dict[bool, list[int]],
) -> list[tuple[int, int, int]]:
    """Return the pairs of one block; its scored units whose partner came and was not scored join those that wait."""
    with_rule, without = [i for i in places if arm[i]], [i for i in places if not arm[i]]
    found = []
    for turn in range(BLOCK // 2):
        other = 1 - turn if swapped else turn
        one = with_rule[turn] if turn < len(with_rule) else None
        two = without[other] if other < len(without) else None
        if one is None or two is None:
            continue  # the partner is still to come
        if there[one] and there[two]:
            found.append((max(one, two), one, two))
        elif there[one] or there[two]:
            left = one if there[one] else two
            waiting[bool(arm[left])].append(left)
    return found


def _as_they_come(arm: NDArray[np.bool_], places: Ints) -> list[tuple[int, int, int]]:
    queue: list[int] = []
    found = []
    for place in places.tolist():
        if queue and arm[queue[0]] != arm[place]:
            other = queue.pop(0)
            one, two = (place, other) if arm[place] else (other, place)
            found.append((place, one, two))
        else:
            queue.append(place)
    return found
