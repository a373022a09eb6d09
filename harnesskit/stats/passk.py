"""Reliability over repeats: the chance that at least one, or all, of k trials pass."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import special

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]


def pass_at_k(n: ArrayLike, c: ArrayLike, k: ArrayLike) -> Floats:
    """Return the chance that at least one of `k` trials passes, `c` of `n` having passed (Chen et al. 2021).

    1 - C(n-c, k) / C(n, k), unbiased; NaN where n < k.

    Examples
    --------
    >>> pass_at_k(10, [3, 7], 3).round(4).tolist()
    [0.7083, 0.9917]
    """
    trials, passed, draws = (np.asarray(x, dtype=float) for x in (n, c, k))
    return np.asarray(1.0 - pass_hat_k(trials, trials - passed, draws), dtype=float)


def pass_hat_k(n: ArrayLike, c: ArrayLike, k: ArrayLike) -> Floats:
    """Return the chance that all of `k` trials pass, `c` of `n` having passed (tau-bench, 2024).

    C(c, k) / C(n, k), unbiased (the plug-in (c/n)^k is not); NaN where n < k.

    Examples
    --------
    >>> pass_hat_k(10, [3, 7], 3).round(4).tolist()
    [0.0083, 0.2917]
    """
    trials, passed, draws = np.broadcast_arrays(*(np.asarray(x, dtype=float) for x in (n, c, k)))
    if np.any((passed < 0) | (passed > trials) | (draws < 1)):
        raise ValueError("pass rates need 0 <= c <= n and k >= 1")
    enough = trials >= draws
    chosen = special.binom(np.where(passed >= draws, passed, 0.0), np.where(passed >= draws, draws, 1.0))
    return np.asarray(
        np.where(enough, chosen / special.binom(np.where(enough, trials, 1.0), np.where(enough, draws, 1.0)), np.nan),
        dtype=float,
    )
