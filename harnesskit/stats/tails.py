"""Tails of the t and normal distributions of many cases at once.

The same numbers as `scipy.stats.t` and `scipy.stats.norm`, without the checks that these make on every call: a
simulation asks for them thousands of times.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import special

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]


def t_sf(t: ArrayLike, df: ArrayLike) -> Floats:
    """Return the chance that Student's t with `df` degrees of freedom is above `t`.

    Examples
    --------
    >>> t_sf([0.0, 2.0], 5).round(4).tolist()
    [0.5, 0.051]
    """
    return np.asarray(special.stdtr(df, -np.asarray(t, dtype=float)), dtype=float)


def t_isf(p: ArrayLike, df: ArrayLike) -> Floats:
    """Return the t that is exceeded with chance `p`, each distinct pair of `p` and `df` worked out once.

    The inverse is a search (a microsecond each), and cases share few degrees of freedom.

    Examples
    --------
    >>> t_isf(0.05, [5.0, 9.0, 5.0]).round(3).tolist()
    [2.015, 1.833, 2.015]
    """
    chance, free = np.broadcast_arrays(np.asarray(p, dtype=float), np.asarray(df, dtype=float))
    chances, of_chance = np.unique(chance, return_inverse=True)
    frees, of_free = np.unique(free, return_inverse=True)
    pair, place = np.unique(of_chance.ravel() * len(frees) + of_free.ravel(), return_inverse=True)
    low, nu = chances[pair // len(frees)], frees[pair % len(frees)]
    found = np.where(low == 0, np.where(np.isnan(nu), np.nan, np.inf), -special.stdtrit(nu, low))
    return np.asarray(found[place].reshape(chance.shape), dtype=float)


def normal_sf(z: ArrayLike) -> Floats:
    """Return the chance that a standard normal value is above `z`.

    Examples
    --------
    >>> normal_sf([0.0, 1.645]).round(3).tolist()
    [0.5, 0.05]
    """
    return np.asarray(special.ndtr(-np.asarray(z, dtype=float)), dtype=float)


def normal_isf(p: ArrayLike) -> Floats:
    """Return the standard normal value that is exceeded with chance `p`.

    Examples
    --------
    >>> normal_isf([0.5, 0.05]).round(3).tolist()
    [-0.0, 1.645]
    """
    return np.asarray(-special.ndtri(np.asarray(p, dtype=float)), dtype=float)
