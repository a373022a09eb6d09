"""The steps of the guard: which win is replayed next in which arm, and what it decides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from harnesskit.stats.harm_mixture import GuardLook, GuardRules
    from harnesskit.stats.harm_prior import HarmPrior

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

GuardVerdict = Literal["harm", "clean", "open"]


class GuardStep(NamedTuple):
    """A replay to make: of which win (its place), in which arm."""

    win: int
    candidate: bool


class GuardPath(NamedTuple):
    """The looks, one entry per replay, until the one that decided (or all so far)."""

    replays: Ints
    n_control: Ints
    """Scored control runs of replayed wins, bank and captures included."""
    n_candidate: Ints
    estimate: Floats
    """Mean change over the replayed wins, positive is better; NaN before any."""
    evidence: Floats
    """Of harm over all wins (lambda)."""
    highest_drop: Floats
    """Upper bound of the mean drop over the replayed wins."""
    last: GuardLook
    """The last look, win by win."""
    verdict: GuardVerdict
    """``harm``: retire; ``clean``: promote; ``open``: more replays, or pending at the end of the budget."""


def guard_verdict(look: GuardLook, known: HarmPrior, *, ended: bool, rules: GuardRules | None = None) -> GuardVerdict:
    """Return what a look decides; `ended`: the budget is spent."""
    raise NotImplementedError


def next_guard_step(
    look: GuardLook, known: HarmPrior, order: Sequence[int], *, rules: GuardRules | None = None
) -> GuardStep | None:
    """Return the replay to make next; None when every win left cannot be scored.

    `order`: places of all wins in the order in which unreplayed ones come up (fixed before the first replay).
    """
    raise NotImplementedError


def guard_path(
    known: HarmPrior,
    win: ArrayLike,
    candidate: ArrayLike,
    values: ArrayLike,
    *,
    budget: int,
    rules: GuardRules | None = None,
) -> GuardPath:
    """Return the looks of the guard after every replay up to the one that decides, at most `budget`."""
    raise NotImplementedError
