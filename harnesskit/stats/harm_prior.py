"""What is known of the protected wins before a candidate is replayed on them: their control means, and the noise.

A win has a bank (two or more control runs of its own), or the run it was captured with, or nothing. A capture was
kept because it scored well, on another day: it counts as one control run shifted by an amount that is not known, and
that control runs made now tell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from harnesskit.stats.noise import ASSUMED_SD, MIN_SD, robust_sd

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    Bools = NDArray[np.bool_]

CORRELATION = 0.5
"""Correlation of two metrics within a run that is assumed."""
CLIP = 3.0
"""Robust standard deviations at which runs are clipped about the median of their win's control runs."""
LEAST_SPREAD_BANK = 0.02
LEAST_SPREAD_CAPTURE = 0.06
"""Least standard deviation of the wins' control means; captures are too alike for having been selected."""
SPREAD_DF = 6.0
"""Degrees of freedom that the mean noise counts for in the noise of one win."""
CAPTURE_DF = 8.0
"""Degrees of freedom of a win's evidence when there is no bank."""
SINGLE = 0.5
SINGLE_CAPTURE = 0.1
"""Weight of harms to one metric alone, with a bank and without."""
STALE_SD = 0.05
SELECTED = 0.5
"""Standard deviation of the shift of captures: sqrt(stale^2 + (selected * sd of a run)^2)."""
UNKNOWN_SHIFT = 10.0
"""Standard deviation of the shift when there is no capture to shift."""


class HarmPrior(NamedTuple):
    """W wins, K metrics on the common scale; fixed before the first replay."""

    control: Floats
    """(W, R, K): control runs so far, clipped; NaN where there is none. A capture is the only run of its win."""
    centre: Floats
    """(W, K): about which runs of the win are clipped; NaN: not clipped."""
    reach: Floats
    """(K,): farthest a run may lie from it."""
    sd: Floats
    """(K,): standard deviation of one run."""
    clipped_sd: Floats
    """(K,): the same of clipped runs."""
    correlation: Floats
    """(K, K): of the metrics within a run."""
    level: Floats
    """(K,): mean of the wins' control means, captures as they are."""
    between: Floats
    """(K,): variance of the wins' control means."""
    spread: Floats
    """(W,): variance of a run of the win, over the mean of all."""
    df: Floats
    """(W,): degrees of freedom of the win's evidence."""
    single: float
    """Weight of harms to one metric alone."""
    shift: Floats
    """(K,): expected shift of the captures."""
    shift_s2: Floats
    """(K,): its variance; 0 when there is nothing to shift."""
    captured: Bools
    """(W,): the only control run is a capture."""
    banked: Bools
    """(W,): two or more control runs."""

    @property
    def wins(self) -> int:
        """Number of wins."""
        return len(self.control)

    @property
    def fresh(self) -> bool:
        """Whether control runs have to be made along with the candidate's: some win has no bank."""
        return not bool(self.banked.all())


def harm_prior(
    bank: ArrayLike | None,
    captures: ArrayLike | None = None,
    *,
    sd: ArrayLike | None = None,
    correlation: ArrayLike | None = None,
    shift: float = -0.25,
    wins: int | None = None,
) -> HarmPrior:
    """Return what is known of each win from its bank, else from its capture.

    Parameters
    ----------
    bank
        (W, R, K) control runs of each win; NaN where a run or score is missing. None: there is no bank.
    captures
        (W, K) scores of the captured runs; used for wins without any banked run. None: there are none.
    sd
        (K,) standard deviation of one run where the bank does not tell it, see `benefit_noise`; .10 when not given.
    correlation
        (K, K) of the metrics within a run; .5 between any two when not given.
    shift
        Expected shift of captures, in standard deviations of a run; below 0: they were selected high. 0 is strict.
    wins
        Number of wins, when there is neither bank nor capture.

    Raises
    ------
    ValueError
        If the shapes do not agree.

    Examples
    --------
    >>> bank = np.full((2, 3, 1), 0.8) + np.array([-0.1, 0, 0.1])[None, :, None]
    >>> known = harm_prior(bank)
    >>> known.sd.round(3).tolist(), known.level.round(3).tolist(), known.fresh
    ([0.1], [0.8], False)
    """
    raise NotImplementedError


def benefit_noise(cells: list[ArrayLike], *, prior_sd: ArrayLike = ASSUMED_SD, prior_df: float = 3.0) -> Floats:
    """Return the standard deviation of one run of each metric from the failing cases' runs, all metrics.

    (sum of squares + prior_df prior_sd^2) / (sum of df + prior_df), at least .02.

    Parameters
    ----------
    cells
        (runs, K) of each case and arm; NaN where a score is missing.

    Examples
    --------
    >>> benefit_noise([[[0.4], [0.6]], [[0.5], [0.7]]]).round(4).tolist()
    [0.1183]
    """
    raise NotImplementedError
