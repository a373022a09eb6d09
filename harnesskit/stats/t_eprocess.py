"""The t-type e-process: a likelihood ratio of the pooled t statistic that may be looked at after every replay.

Exact at any time for Gaussian noise of equal variance when no prior degrees of freedom are mixed in (right-Haar
invariance: Perez-Ortiz, Lardy, de Heide & Gruenwald 2024). With a prior, or other noise, its level is approximate;
the sign-symmetry process is the one that is exact under every noise.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import special

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

EFFECTS = (0.075, 0.20)
"""Effects that the mixture bets on, on the 0-to-1 scale."""
PRIOR_DF = 4.0
"""Degrees of freedom of the prior variance in the pooled t of this process."""
FRESH_DF = 6.0
"""Residual degrees of freedom before which nothing is decided without a bank."""
HALF_WIDTH = 9.0
"""The integrand is log-concave with curvature 1 or more: beyond 9 from its peak lies less than 1e-18 of it."""


class TEvidence(NamedTuple):
    """Both directions of the evidence, in logarithms, one entry per look."""

    log_promote: Floats
    """Against "no effect"; promote at ln 20."""
    log_retire: Floats
    """Against "at least the worthwhile effect"; retire at ln 10."""


def log_density_ratio(t: ArrayLike, df: ArrayLike, shift: ArrayLike) -> Floats:
    """Return ln of the noncentral over the central t density at `t`, entry by entry.

    With a = shift t / sqrt(df + t^2): exp(-shift^2/2) E[exp(a U)], U ~ chi with df + 1 degrees of freedom; by
    160-point Gauss-Legendre quadrature about the peak of the integrand.

    Parameters
    ----------
    t, df, shift
        Statistic, degrees of freedom (1 or more) and noncentrality; they broadcast.

    Examples
    --------
    >>> from scipy import stats
    >>> found = float(log_density_ratio(2.0, 7, 1.5))
    >>> round(found, 6) == round(float(stats.nct.logpdf(2.0, 7, 1.5) - stats.t.logpdf(2.0, 7)), 6)
    True
    """
    at, nu, lam = np.broadcast_arrays(*(np.asarray(x, dtype=float) for x in (t, df, shift)))
    if not (nu >= 1).all():
        raise ValueError("the t process needs at least 1 degree of freedom")
    a = (lam * at / np.sqrt(nu + at**2))[..., None]
    free = nu[..., None]
    peak = (a + np.sqrt(a**2 + 4 * free)) / 2
    low, high = np.maximum(peak - HALF_WIDTH, 0.0), peak + HALF_WIDTH
    x, w = _rule()
    u = low + (high - low) * (x + 1) / 2
    log_chi = (1 - (free + 1) / 2) * math.log(2) - special.gammaln((free + 1) / 2) + free * np.log(u) - u**2 / 2
    inside = special.logsumexp(log_chi + a * u, b=w * (high - low) / 2, axis=-1)
    return np.asarray(inside - lam**2 / 2, dtype=float)


def t_evidence(
    delta: ArrayLike,
    se: ArrayLike,
    df: ArrayLike,
    information: ArrayLike,
    *,
    sd: float,
    effects: ArrayLike = EFFECTS,
    worthwhile: float = 0.10,
) -> TEvidence:
    """Return the e-process of a pooled t statistic in both directions, one entry per look.

    E = mean over effects of the density ratio at t = delta / se with noncentrality effect sqrt(information) / sd;
    against a worthwhile effect the same at (worthwhile - delta) / se.

    Parameters
    ----------
    delta, se, df, information
        Per look, of `harnesskit.stats.benefit.benefit` with ``prior_df`` 4: the mean difference, its standard error,
        degrees of freedom, and 1 / (sum of 1/n + 1/m over the cases) F^2.
    sd
        Standard deviation of one run that the noncentrality assumes, fixed before looking.

    Examples
    --------
    >>> found = t_evidence([0.0, 0.3], [0.05, 0.05], [10, 16], [4, 4], sd=0.1)
    >>> np.exp(found.log_promote).round(1).tolist(), bool(found.log_retire[1] < 0)
    ([0.2, 2813.3], True)
    """
    change, error, free, info = (np.asarray(x, dtype=float) for x in (delta, se, df, information))
    shift = np.asarray(effects, dtype=float) * np.sqrt(info)[..., None] / sd
    promote = _mixture((change / error)[..., None], free[..., None], shift)
    return TEvidence(promote, _mixture(((worthwhile - change) / error)[..., None], free[..., None], shift))


@lru_cache(maxsize=1)
def _rule() -> tuple[Floats, Floats]:
    x, w = special.roots_legendre(160)
    return np.asarray(x, dtype=float), np.asarray(w, dtype=float)


def _mixture(t: Floats, df: Floats, shift: Floats) -> Floats:
    ratios = log_density_ratio(t, df, shift)
    return np.asarray(special.logsumexp(ratios, axis=-1) - math.log(ratios.shape[-1]), dtype=float)
