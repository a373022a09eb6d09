"""Group-sequential tests: how an error budget is spent over looks, the bounds this gives, and intervals after stopping.

A test that is looked at again after every run needs bounds wider than those of a single look. With information I_1 <
I_2 < ... (for two arms I = 1/(1/n + 1/m)), the z of the looks behave as a Brownian motion seen at these times; the
bounds follow from the error to spend at each look by recursive integration (Armitage, McPherson & Rowe 1969; Jennison
& Turnbull 2000, chapter 19).
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from scipy import optimize, special

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

Spending = Literal["hsd", "obrien-fleming", "pocock"]
GAMMA = -2.0
LOWEST = -8.5
"""Where the density of z is cut below, in standard deviations: the rest weighs 1e-17."""
FEWEST_NODES, MOST_NODES = 48, 2000
NOTHING = 1e-15
"""A look with less error than this to spend has no bound (infinity)."""


class Crossing(NamedTuple):
    """What a one-sided sequential design does, one entry per look."""

    at_look: Floats
    """Chance to cross for the first time at the look."""
    by_look: Floats
    """Chance to have crossed by the look."""


class RepeatedInterval(NamedTuple):
    """An interval that holds at every look at once, and so at the one where the test stopped."""

    low: float
    high: float
    z: float
    """Bound of the look, in standard errors."""


def spent(fraction: ArrayLike, alpha: float, *, spending: Spending = "hsd", gamma: float = GAMMA) -> Floats:
    """Return the error spent when a `fraction` of the planned information is in: 0 at 0, `alpha` from 1 on.

    ``hsd``: alpha (1 - exp(-gamma t)) / (1 - exp(-gamma)) (Hwang, Shih & DeCani 1990; t alpha at gamma 0);
    ``obrien-fleming``: 2 - 2 Phi(z_{alpha/2} / sqrt t); ``pocock``: alpha ln(1 + (e - 1) t) (Lan & DeMets 1983).

    Parameters
    ----------
    fraction
        Information fractions, at least 0; above 1 counts as 1. They must not depend on the scores seen.
    alpha
        One-sided error in all, above 0 and below .5.
    gamma
        Shape of ``hsd``: below 0 spends late, 1 is near Pocock, -4 near O'Brien-Fleming.

    Raises
    ------
    ValueError
        If `alpha` is out of range, a fraction is negative or `spending` is unknown.

    Examples
    --------
    >>> spent([0.25, 0.5, 1.0], 0.05).round(6).tolist()
    [0.005077, 0.013447, 0.05]
    """
    t = np.minimum(np.asarray(fraction, dtype=float), 1.0)
    if not 0 < alpha < 0.5:
        raise ValueError(f"a one-sided error must be above 0 and below .5, found {alpha}")
    if not (t >= 0).all():
        raise ValueError("information fractions must be 0 or more, none missing")
    if spending == "hsd":
        share = t if abs(gamma) < 1e-9 else np.expm1(-gamma * t) / np.expm1(-gamma)
        return np.asarray(alpha * share, dtype=float)
    if spending == "pocock":
        return np.asarray(alpha * np.log1p((np.e - 1) * t), dtype=float)
    if spending != "obrien-fleming":
        raise ValueError(f"spending must be hsd, obrien-fleming or pocock, found {spending!r}")
    with np.errstate(divide="ignore"):
        return np.asarray(2 * special.ndtr(special.ndtri(alpha / 2) / np.sqrt(t)), dtype=float)


def boundaries(
    info: ArrayLike,
    alpha: float,
    *,
    spending: Spending = "hsd",
    gamma: float = GAMMA,
    planned: float | None = None,
) -> Floats:
    """Return the bound of z at each look: crossed by chance, at any look, with probability `alpha` at most.

    The result is cached by (info, alpha, spending, gamma, planned) and read-only. Agrees with R's rpact to 1e-6.

    Parameters
    ----------
    info
        Information at each look, rising; only its ratios matter.
    alpha
        One-sided error in all.
    planned
        Information at which everything is spent; the last look's by default. Give it to compute the bounds of the
        looks so far, or of a path that may be left early.

    Returns
    -------
    array
        One bound per look; infinite where nothing worth mentioning can be spent yet.

    Examples
    --------
    >>> boundaries([0.2, 0.4, 0.6, 0.8, 1.0], 0.05).round(3).tolist()
    [2.665, 2.46, 2.243, 2.019, 1.787]
    """
    looks = tuple(float(x) for x in np.atleast_1d(np.asarray(info, dtype=float)))
    return _boundaries(looks, float(alpha), spending, float(gamma), None if planned is None else float(planned))


@lru_cache(maxsize=4096)
def _boundaries(
    looks: tuple[float, ...], alpha: float, spending: Spending, gamma: float, planned: float | None
) -> Floats:
    info = np.array(looks)
    total = spent(info / (planned or looks[-1]), alpha, spending=spending, gamma=gamma) if len(looks) else info
    found = boundaries_for(info, total)
    found.flags.writeable = False
    return found


def boundaries_for(info: ArrayLike, cumulative: ArrayLike) -> Floats:
    """Return the bounds of z that spend exactly `cumulative` error by each look, however that was chosen.

    For a budget that was extended: keep what was spent, share what is left over the new looks (Lan & DeMets 1983).

    Parameters
    ----------
    info
        Information at each look, rising.
    cumulative
        Error spent by each look, never falling, at most .5.

    Raises
    ------
    ValueError
        If the information does not rise, or the error falls.

    Examples
    --------
    >>> boundaries_for([1.0, 2.0], [0.01, 0.05]).round(3).tolist()
    [2.326, 1.684]
    """
    times, total = _times(info), np.asarray(cumulative, dtype=float)
    if total.shape != times.shape or not (np.diff(total, prepend=0.0) >= 0).all():
        raise ValueError("the error spent by each look must be 0 or more and never fall, one entry per look")
    bounds = np.full(len(times), np.inf)
    density: _Density | None = None
    for look, share in enumerate(np.diff(total, prepend=0.0)):
        if share > NOTHING:
            bounds[look] = _bound(density, times[look], share)
        following = times[look + 1] if look + 1 < len(times) else None
        if following is not None:
            density = _next(density, times[look], bounds[look], following)
    return bounds


def crossing(info: ArrayLike, bounds: ArrayLike, *, drift: float = 0.0) -> Crossing:
    """Return the chances to cross upper `bounds` at each look, the mean of z being `drift` sqrt(information).

    With drift 0 this is the error spent; with drift = effect / sd of one run, the power by each look.

    Examples
    --------
    >>> info = [0.2, 0.4, 0.6, 0.8, 1.0]
    >>> float(crossing(info, boundaries(info, 0.05)).by_look[-1].round(6))
    0.05
    >>> float(crossing(info, boundaries(info, 0.05), drift=3.0).by_look[-1].round(3))
    0.898
    """
    raw = np.asarray(info, dtype=float)
    times, upper = _times(raw), np.asarray(bounds, dtype=float)
    shifted = upper - drift * np.sqrt(raw)
    at = np.zeros(len(times))
    density: _Density | None = None
    for look, bound in enumerate(shifted):
        at[look] = _beyond(density, times[look], bound)
        if look + 1 < len(times):
            density = _next(density, times[look], bound, times[look + 1])
    return Crossing(at, np.cumsum(at))


def repeated_interval(
    estimate: float,
    se: float,
    *,
    look: int,
    info: ArrayLike,
    confidence: float = 0.95,
    spending: Spending = "hsd",
    gamma: float = GAMMA,
    planned: float | None = None,
) -> RepeatedInterval:
    """Return the repeated confidence interval at a look: estimate +- bound(look) se (Jennison & Turnbull 1989).

    It covers at all looks together with at least `confidence`, wherever the test was stopped; the interval of a
    single look does not. The bound spends half of 1 - `confidence` on each side.

    Parameters
    ----------
    look
        Which look this is, from 1.
    info, planned
        As in `boundaries`; the entries up to `look` are enough when `planned` is given.

    Examples
    --------
    >>> interval = repeated_interval(0.12, 0.04, look=3, info=[1, 2, 3, 4, 5])
    >>> round(interval.low, 3), round(interval.high, 3), round(interval.z, 3)
    (0.019, 0.221, 2.514)
    """
    bounds = boundaries(info, (1 - confidence) / 2, spending=spending, gamma=gamma, planned=planned)
    if not 1 <= look <= len(bounds):
        raise ValueError(f"look must be between 1 and {len(bounds)}, found {look}")
    z = float(bounds[look - 1])
    return RepeatedInterval(estimate - z * se, estimate + z * se, z)


class _Density(NamedTuple):
    """Sub-density of the motion among the paths that have not crossed, on quadrature nodes (weights inside)."""

    nodes: Floats
    mass: Floats
    time: float


def _times(info: ArrayLike) -> Floats:
    times = np.atleast_1d(np.asarray(info, dtype=float))
    if not (np.diff(times, prepend=0.0) > 0).all():
        raise ValueError("the information of the looks must be above 0 and rise from look to look")
    return times / (times[-1] if len(times) else 1.0)


@lru_cache(maxsize=512)
def _rule(n: int) -> tuple[Floats, Floats]:
    nodes, weights = special.roots_legendre(n)
    return np.asarray(nodes, dtype=float), np.asarray(weights, dtype=float)


def _next(density: _Density | None, time: float, bound: float, following: float) -> _Density:
    """Return the density at `time`, cut at `bound`, on nodes close enough for the step to `following`."""
    low, high = LOWEST, max(min(bound, -LOWEST), LOWEST + 1e-9)
    # Gauss-Legendre nodes lie pi/2 times wider than even ones in the middle; they must resolve the next step's kernel.
    step = ((following - time) / time) ** 0.5
    wanted = int(np.clip(1.7 * (high - low) / step, FEWEST_NODES, MOST_NODES))
    x, w = _rule(-(-wanted // 16) * 16)
    half = (high - low) / 2
    z, root = low + half * (x + 1), time**0.5
    if density is None:
        return _Density(z * root, half * w * _phi(z), time)
    scale = (time - density.time) ** 0.5
    kernel = _phi((z[:, None] * root - density.nodes) / scale)
    return _Density(z * root, half * w * (kernel @ density.mass) * (root / scale), time)


def _beyond(density: _Density | None, time: float, bound: float) -> float:
    """Return the chance to be above `bound` at `time`, not having crossed before."""
    if density is None:
        return float(special.ndtr(-bound))
    scale = (time - density.time) ** 0.5
    return float(special.ndtr((density.nodes - bound * time**0.5) / scale) @ density.mass)


def _bound(density: _Density | None, time: float, share: float) -> float:
    highest = float(-special.ndtri(share))
    if density is None:
        return highest
    return float(optimize.brentq(lambda c: _beyond(density, time, c) - share, LOWEST, highest + 1e-9, xtol=1e-9))


def _phi(z: Floats) -> Floats:
    return np.exp(-0.5 * z * z) * 0.3989422804014327
