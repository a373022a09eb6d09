"""Evidence of harm to protected wins: a mixture likelihood ratio over all wins, replayed one at a time.

Each replayed win compares its candidate runs with what is known of its control mean: no change, against a harm of .10,
.20 or .30 on all metrics or on one. Over the wins, each is harmed with probability q, for q = .05, .10 and .30. A win
that was not replayed counts 1, one that came out clean counts below 1: how many were covered is inside the statistic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from harnesskit.stats.harm_prior import HarmPrior

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]


class GuardRules(NamedTuple):
    """Bars of the guard, fixed before the first replay."""

    ni_margin: float = 0.10
    ni_level: float = 0.95
    harm_bar: float = 12.0
    clean_bar: float = 0.25
    end_bar: float = 2.0
    harms: tuple[float, ...] = (0.10, 0.20, 0.30)
    shares: tuple[float, ...] = (0.05, 0.10, 0.30)
    full: int = 40
    """Wins replayed at most: that many count as all."""
    most_per_win: int = 6
    """Candidate runs of a win after which doubt about it draws no more."""


class GuardLook(NamedTuple):
    """Where the guard stands after some replays; arrays have one entry per win."""

    replays: int
    n_candidate: Ints
    """Scored candidate runs."""
    n_control: Ints
    """Scored control runs; the bank counts, and a capture where it is all there is."""
    n_fresh: Ints
    """Scored control runs made along with the candidate's."""
    delta: Floats
    """Mean change over the metrics, positive is better; NaN where not replayed."""
    low: Floats
    high: Floats
    """Two-sided 95 % interval of it, for one look at one win."""
    harm: Floats
    """Likelihood ratio of harm against no change; 1 where not replayed."""
    evidence: float
    """Of harm over all wins (lambda)."""
    estimate: float
    """Mean change over the replayed wins; NaN without any."""
    highest_drop: float
    """Upper bound of the mean drop over the replayed wins at `ni_level`; infinite without any."""


def guard_look(
    known: HarmPrior, win: ArrayLike, candidate: ArrayLike, values: ArrayLike, *, rules: GuardRules | None = None
) -> GuardLook:
    """Return where the guard stands after these replays.

    Parameters
    ----------
    known
        Control runs and noise of the wins.
    win, candidate, values
        Per replay, in order: place of the win, whether it was the candidate's arm, (replays, K) scores (NaN: missing;
        a replay with none is unscored).
    """
    raise NotImplementedError
