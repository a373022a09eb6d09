"""The mean drop over the replayed wins where captures stand for control runs: all runs in one model.

Which win gets another run depends on how its runs came out: bad ones are run again and come out better, and control
runs on wins that look bad make all captures look too high. A mean of differences is drawn upwards by both. With all
runs in one likelihood that does no harm (missing at random, Rubin 1976): win w has level mu_w ~ N(M, T^2); its capture
scatters about mu_w + b, its control runs about mu_w, its candidate runs about mu_w + drop; b is the shift of captures.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from harnesskit.stats.harm_prior import HarmPrior
    from harnesskit.stats.win_runs import WinRuns

    Floats = NDArray[np.float64]


class Change(NamedTuple):
    """A mean change, positive is better."""

    mean: float
    se: float


def level_change(
    capture: Floats, control: Floats, n_control: Floats, rule: Floats, n_rule: Floats,
    *, run_s2: float, between: float, shift: float, shift_s2: float,
) -> Change:  # fmt: skip
    """Return the mean change of the rule over the wins by generalised least squares.

    Parameters
    ----------
    capture, control, rule
        (W,): captured score, mean of the control runs and of the candidate runs; NaN where there is none.
    n_control, n_rule
        (W,): runs behind the means.
    run_s2, between
        Variance of one run, and of the wins' levels.
    shift, shift_s2
        Prior mean and variance of how much captures lie above control runs.

    Examples
    --------
    >>> none, few = np.full(3, np.nan), np.array([2.0, 2.0, 2.0])
    >>> found = level_change(none, np.array([0.8, 0.9, 0.7]), few, np.array([0.7, 0.8, 0.6]), few,
    ...                      run_s2=0.01, between=0.01, shift=0.0, shift_s2=0.01)
    >>> round(found.mean, 3), round(found.se, 4)
    (-0.1, 0.0577)
    """
    values = np.stack([capture, control, rule], axis=1)
    runs = np.stack([np.ones_like(capture), n_control, n_rule], axis=1)
    precision = np.where(np.isfinite(values), runs / run_s2, 0.0)
    values = np.where(np.isfinite(values), values, 0.0)
    design = np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 0.0], [1.0, 0.0, 1.0]])  # level, shift of captures, change
    total = precision.sum(axis=1)
    drawn = between / (1 + between * total)
    along = precision @ design
    normal = np.einsum("wi,ij,ik->jk", precision, design, design) - np.einsum("w,wj,wk->jk", drawn, along, along)
    weighted = precision * values
    right = weighted.sum(axis=0) @ design - (drawn * weighted.sum(axis=1)) @ along
    normal[1, 1] += 1 / shift_s2
    right[1] += shift / shift_s2
    inverse = np.linalg.inv(normal)
    return Change(float((inverse @ right)[2]), float(inverse[2, 2]) ** 0.5)


def captured_change(known: HarmPrior, runs: WinRuns, scale: float) -> Change:
    """Return the mean change over the metrics and wins; infinitely unsure before there is a run in each arm.

    Parameters
    ----------
    scale
        By how much runs scatter more than assumed, in variance.
    """
    noise = float((known.correlation * np.outer(known.sd, known.sd)).mean())
    before = known.control - known.level
    seen = np.isfinite(before)
    m = (~known.captured) * seen.any(axis=2).sum(axis=1)
    first = _mean(np.where(seen, before, 0.0).sum(axis=1), seen.sum(axis=1))
    fresh = _mean(runs.fresh_total - runs.fresh_count * known.level, runs.fresh_count)
    total, count = runs.candidate_sums()
    rule = _mean(total - count * known.level, count)
    control = _pool(first, m, fresh, runs.n_fresh)
    capture = np.where(known.captured, first, np.nan)
    if not (np.isfinite(rule).any() and (np.isfinite(control).any() or known.captured.any())):
        return Change(float("nan"), float("inf"))
    return level_change(
        capture, control, m + runs.n_fresh.astype(float), rule, runs.n_candidate.astype(float),
        run_s2=noise * scale, between=known.level_between, shift=-float(known.shift.mean()),
        shift_s2=_mean_s2(known),
    )  # fmt: skip


def _mean_s2(known: HarmPrior) -> float:
    sd = np.sqrt(known.level_s2)
    return max(float((np.outer(sd, sd) * known.correlation).mean()), 1e-12)


def _mean(total: Floats, count: Floats) -> Floats:
    """Return the mean over the metrics of total / count, of those with a count; NaN without any."""
    some = count > 0
    each = np.where(some, total / np.maximum(count, 1), 0.0).sum(axis=1)
    metrics = some.sum(axis=1)
    return np.where(metrics > 0, each / np.maximum(metrics, 1), np.nan)


def _pool(first: Floats, m: Floats, fresh: Floats, c: NDArray[np.int64]) -> Floats:
    sums = np.where(m > 0, m * np.nan_to_num(first), 0.0) + np.where(c > 0, c * np.nan_to_num(fresh), 0.0)
    return np.where(m + c > 0, sums / np.maximum(m + c, 1), np.nan)
