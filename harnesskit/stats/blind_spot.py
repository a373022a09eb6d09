"""What a guard cannot have seen: the chance that none of the harmed wins was among those replayed."""

from __future__ import annotations

import math


def blind_spot(wins: int, harmed: int, replayed: int) -> float:
    """Return the chance that none of `harmed` wins is among `replayed` of `wins`: C(W - h, g) / C(W, g).

    1 when nothing was replayed, 0 when fewer wins were left out than are harmed. Nothing harmed is 1: there is
    nothing to see.

    Raises
    ------
    ValueError
        If `harmed` or `replayed` is below 0 or above `wins`.

    Examples
    --------
    >>> [round(blind_spot(20, 2, g), 2) for g in (5, 10, 15, 20)]
    [0.55, 0.24, 0.05, 0.0]
    """
    if not (0 <= harmed <= wins and 0 <= replayed <= wins):
        raise ValueError(f"harmed and replayed wins must be 0 to {wins}, found {harmed} and {replayed}")
    return math.comb(wins - harmed, replayed) / math.comb(wins, replayed)


def harmed_wins(wins: int, share: float) -> int:
    """Return how many wins a `share` of them is: rounded, at least 1 where there are any.

    Examples
    --------
    >>> harmed_wins(20, 0.1), harmed_wins(4, 0.1), harmed_wins(0, 0.1)
    (2, 1, 0)
    """
    return min(wins, max(1, round(share * wins)))
