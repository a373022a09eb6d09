"""Running sums of the runs of each case in each arm: the pooled statistics after every replay, without reading again.

Values go in in the order of the replays; an unscored one counts as a replay and as nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]


class RunningCells(NamedTuple):
    """After each replay: one entry per replay; entries before every case has a run in each arm are NaN."""

    scored: Bools
    n_control: Ints
    """Scored control runs in all, the bank included."""
    n_candidate: Ints
    delta: Floats
    """Mean over the cases of candidate mean - control mean."""
    squares: Floats
    """Sum of squares within cells."""
    df: Ints
    """Residual degrees of freedom: runs - cells."""
    information: Floats
    """F^2 / sum_c (1/n_c + 1/m_c); 0 while a case has no run in an arm."""
    even: Bools
    """Whether every case has as many candidate runs, and no fewer control runs: a round is complete."""


def running_cells(
    case: ArrayLike, candidate: ArrayLike, value: ArrayLike, *, banked: Sequence[ArrayLike]
) -> RunningCells:
    """Return the sums over the cells after each replay.

    Parameters
    ----------
    case, candidate, value
        Per replay, in order: place of the case, whether it was the candidate's arm, score (NaN: unscored).
    banked
        Control runs of each case from before the first replay (NaN left out); an empty list where there are none.

    Raises
    ------
    ValueError
        If the replays differ in length, or name a case that `banked` does not have.

    Examples
    --------
    >>> found = running_cells([0, 0, 0], [True, True, False], [0.6, 0.8, 0.4], banked=[[0.5, 0.3]])
    >>> found.delta.round(3).tolist(), found.df.tolist(), found.information.round(3).tolist()
    ([0.2, 0.3, 0.3], [1, 2, 3], [0.667, 1.0, 1.2])
    """
    at, arm, values = np.asarray(case, dtype=int), np.asarray(candidate, dtype=bool), np.asarray(value, dtype=float)
    if not len(at) == len(arm) == len(values):
        raise ValueError(f"each replay needs a case, an arm and a value, found {len(at)}, {len(arm)} and {len(values)}")
    if len(at) and not (at.min() >= 0 and at.max() < len(banked)):
        raise ValueError(f"replays name cases up to {at.max()}, but `banked` has {len(banked)} cases")
    steps, cases = len(at), len(banked)
    hit = np.zeros((steps + 1, cases, 2))  # a cell per case and arm: control, candidate
    total, square = np.zeros_like(hit), np.zeros_like(hit)
    scored = np.isfinite(values)
    centre = np.array([_centre(runs, values[scored & (at == c)]) for c, runs in enumerate(banked)])
    for c, runs in enumerate(banked):
        known = np.asarray(runs, dtype=float)
        known = known[np.isfinite(known)] - centre[c]
        hit[0, c, 0], total[0, c, 0], square[0, c, 0] = len(known), known.sum(), (known**2).sum()
    rows = np.arange(1, steps + 1)[scored]
    cells = (rows, at[scored], arm[scored].astype(int))
    shifted = values[scored] - centre[at[scored]]
    hit[cells], total[cells], square[cells] = 1.0, shifted, shifted**2
    hit, total, square = (np.cumsum(part, axis=0)[1:] for part in (hit, total, square))
    return _summary(scored, hit, total, square)


def _centre(banked: ArrayLike, values: Floats) -> float:
    """Return a value near the runs of a case: sums of squares about it lose no digits."""
    known = np.concatenate([np.asarray(banked, dtype=float), values])
    known = known[np.isfinite(known)]
    return float(known[0]) if len(known) else 0.0


def _summary(scored: Bools, hit: Floats, total: Floats, square: Floats) -> RunningCells:
    complete = (hit > 0).all(axis=(1, 2)) & (hit.shape[1] > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        means = total / hit
        spread = (1 / hit).sum(axis=(1, 2)) / max(hit.shape[1], 1) ** 2
        squares = (square - hit * means**2).sum(axis=(1, 2))
        delta = (means[:, :, 1] - means[:, :, 0]).sum(axis=1) / max(hit.shape[1], 1)
    runs = hit.sum(axis=1).astype(int)
    even = complete & (hit[:, :, 1] == hit[:, :1, 1]).all(axis=1) & (hit[:, :, 0] >= hit[:, :, 1]).all(axis=1)
    return RunningCells(
        scored=scored,
        n_control=runs[:, 0],
        n_candidate=runs[:, 1],
        delta=np.where(complete, delta, np.nan),
        squares=np.where(complete, np.maximum(squares, 0.0), np.nan),
        df=(runs.sum(axis=1) - 2 * hit.shape[1]).astype(int),
        information=np.where(complete, 1 / np.where(complete, spread, 1.0), 0.0),
        even=even,
    )
