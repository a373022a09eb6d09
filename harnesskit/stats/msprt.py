"""The mixture sequential probability ratio test: for long streams of normal values whose variance is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]


def log_mixture_ratio(mean: ArrayLike, n: ArrayLike, *, variance: float, mixing: float) -> Floats:
    """Return ln of the mixture likelihood ratio against a mean of 0, after `n` values with the running `mean`.

    1/2 ln(s2 / (s2 + n tau2)) + n^2 tau2 mean^2 / (2 s2 (s2 + n tau2)) (Robbins 1970; Johari et al. 2017). Reject
    at ln(1 / alpha), at any time. A variance estimated from few values breaks the guarantee.

    Parameters
    ----------
    variance
        Of one value, s2, known beforehand.
    mixing
        tau2 of the N(0, tau2) prior of the mean, fixed beforehand.

    Examples
    --------
    >>> float(np.exp(log_mixture_ratio(0.08, 12, variance=0.02, mixing=0.01)).round(4))
    1.9596
    """
    x, count = np.asarray(mean, dtype=float), np.asarray(n, dtype=float)
    total = variance + count * mixing
    return np.asarray(0.5 * np.log(variance / total) + (count * x) ** 2 * mixing / (2 * variance * total), dtype=float)
