"""The sign-symmetry e-process: evidence from pairs that may be looked at after every one, whatever the noise.

Under "nothing changed" the two runs of a pair are exchangeable, so their difference is symmetric about 0 and every
factor 1 + tanh(kappa D) has mean 1 (Koning 2023, arXiv:2310.01153; Vovk & Wang 2024). Rounded, bounded, skewed and
binary scores are all covered; a wrong kappa costs power, never validity. A shift downwards only makes it smaller.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

EFFECTS = (0.05, 0.10, 0.20, 0.30)
"""Effects that the mixture bets on, on the 0-to-1 scale."""
WORTHWHILE = 0.10
LN2 = math.log(2.0)
SATURATED = 20.0
"""tanh of this is 1 to the last digit."""


class EProcess(NamedTuple):
    """Evidence after each pair, in logarithms: a run of luck stays within numbers."""

    log_e: Floats

    @property
    def e(self) -> Floats:
        """E-value after each pair; reject at level alpha once one is 1 / alpha or more."""
        return np.exp(np.minimum(self.log_e, 700.0))

    @property
    def last(self) -> float:
        """E-value now: 1 before any pair."""
        return float(self.e[-1]) if len(self.log_e) else 1.0

    @property
    def p(self) -> float:
        """Anytime-valid p-value: 1 / the largest e-value so far, at most 1 (Ville 1939)."""
        return float(math.exp(-max(0.0, float(self.log_e.max())))) if len(self.log_e) else 1.0


class ConfidenceSequence(NamedTuple):
    """Intervals of the shift after each pair; together they cover at every pair at once."""

    low: Floats
    high: Floats


def bets(sd: float, *, effects: ArrayLike = EFFECTS) -> Floats:
    """Return kappa = effect / variance of a pair's difference, for each effect.

    Parameters
    ----------
    sd
        Standard deviation of the difference of a pair (sqrt 2 times that of one run), fixed before looking.

    Raises
    ------
    ValueError
        If `sd` is not above 0.

    Examples
    --------
    >>> bets(0.02**0.5).round(6).tolist()
    [2.5, 5.0, 10.0, 15.0]
    """
    if not sd > 0:
        raise ValueError(f"the standard deviation of a difference must be above 0, found {sd}")
    return np.asarray(effects, dtype=float) / sd**2


def sign_symmetry(d: ArrayLike, kappa: ArrayLike) -> EProcess:
    """Return the e-process against "no effect or a harmful one", one entry per pair.

    E_t = mean over g of prod_{i <= t} (1 + tanh(kappa_g D_i)). A difference of 0 has factor 1. For differences of
    -1, 0 and 1 this is betting the share tanh(kappa) on each discordant pair (Turner et al. 2024).

    Parameters
    ----------
    d
        Differences treatment - control in the order they came, one per pair, none missing.
    kappa
        The mixture, see `bets`; fixed before looking.

    Examples
    --------
    >>> sign_symmetry([0.12, 0.05, -0.04, 0.2], bets(0.02**0.5)).e.round(3).tolist()
    [1.652, 2.307, 1.495, 2.705]
    >>> sign_symmetry([], [1.0]).last
    1.0
    """
    return EProcess(_log_mixture(np.cumsum(_log_factors(_pairs(d), kappa), axis=1)))


def retire_evidence(d: ArrayLike, kappa: ArrayLike, *, worthwhile: float = WORTHWHILE) -> EProcess:
    """Return the e-process against "the effect is at least `worthwhile`": the same on `worthwhile` - D.

    Its guarantee is weaker than that of `sign_symmetry`: it holds when an effect only shifts the difference.

    Examples
    --------
    >>> retire_evidence([-0.1] * 5, bets(0.02**0.5)).last > 10
    True
    """
    return sign_symmetry(worthwhile - _pairs(d), kappa)


def min_pairs(alpha: float) -> int:
    """Return the fewest pairs that can reach E >= 1 / alpha: each factor is below 2, so ceil(log2(1 / alpha)).

    Examples
    --------
    >>> [min_pairs(alpha) for alpha in (0.1, 0.05, 0.01)]
    [4, 5, 7]
    """
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must be between 0 and 1, found {alpha}")
    return math.ceil(-math.log2(alpha) - 1e-12)


def confidence_sequence(d: ArrayLike, kappa: ArrayLike, *, confidence: float = 0.95) -> ConfidenceSequence:
    """Return the two-sided confidence sequence of the shift, one interval per pair.

    After t pairs: the shifts delta with E_t(D - delta) < 2 / alpha and E_t(delta - D) < 2 / alpha, alpha = 1 -
    `confidence` (half on each side). It covers at all t at once if D - shift is symmetric about 0, under every
    optional stopping. Infinite until ceil(log2(2 / alpha)) pairs are in. Cost grows with the square of the pairs.

    Examples
    --------
    >>> path = confidence_sequence([0.12, 0.05, -0.04, 0.2, 0.1, 0.15, 0.0, 0.09], bets(0.1))
    >>> round(float(path.low[-1]), 3), round(float(path.high[-1]), 3), float(path.low[4])
    (-0.022, 0.182, -inf)
    """
    values = _pairs(d)
    ends = [shift_interval(values[: t + 1], kappa, confidence=confidence) for t in range(len(values))]
    return ConfidenceSequence(np.array([low for low, _ in ends]), np.array([high for _, high in ends]))


def shift_interval(d: ArrayLike, kappa: ArrayLike, *, confidence: float = 0.95) -> tuple[float, float]:
    """Return the last interval of `confidence_sequence`: valid at whichever pair the trial stopped.

    Examples
    --------
    >>> low, high = shift_interval([0.2, 0.22, 0.18, 0.21, 0.2, 0.19, 0.2], bets(0.1))
    >>> bool(0 < low < 0.2 < high)
    True
    """
    values, level = _pairs(d), math.log(2 / (1 - confidence))
    low = _lowest_shift(values, np.asarray(kappa, dtype=float), level)
    high = -_lowest_shift(-values, np.asarray(kappa, dtype=float), level)
    return low, high


def _lowest_shift(d: Floats, kappa: Floats, level: float) -> float:
    """Return the shift at which the evidence for a larger one equals `level`; E falls as the shift rises."""
    if len(d) * LN2 <= level:
        return -math.inf
    reach = SATURATED / float(kappa.min())
    low, high = float(d.min()) - reach, float(d.max())
    for _ in range(60):
        middle = (low + high) / 2
        if float(_log_mixture(_log_factors(d - middle, kappa).sum(axis=1))) >= level:
            low = middle
        else:
            high = middle
    return low


def _pairs(d: ArrayLike) -> Floats:
    values = np.asarray(d, dtype=float)
    if not np.isfinite(values).all():
        raise ValueError("a pair needs both scores; leave out the pairs of which one is missing, and count them")
    return values


def _log_factors(d: Floats, kappa: ArrayLike) -> Floats:
    """Return log(1 + tanh(kappa d)) = ln 2 - log(1 + exp(-2 kappa d)), one row per kappa."""
    x = np.atleast_1d(np.asarray(kappa, dtype=float))[:, None] * d
    return np.asarray(LN2 - np.logaddexp(0.0, -2 * x), dtype=float)


def _log_mixture(log_wealth: Floats) -> Floats:
    return np.asarray(np.logaddexp.reduce(log_wealth, axis=0) - math.log(len(log_wealth)), dtype=float)
