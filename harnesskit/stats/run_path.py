"""The order in which a case is replayed, and what each step is worth: paths of (candidate, control) runs."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from harnesskit.stats.sequential import boundaries

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

FIRST_LOOK = 2
"""Candidate runs from which a verdict may be reached."""


class RunPath(NamedTuple):
    """The steps of one case, the first being one candidate run."""

    n: Ints
    """Candidate runs at each step."""
    m: Ints
    """Control runs at each step."""
    info: Floats
    """Information at each step: 1 / (1/n + 1/m)."""


@lru_cache(maxsize=1024)
def run_path(m: int, *, n_max: int = 16, top_up: bool = True) -> RunPath:
    """Return the path of a case with `m` control runs: n grows to m, then control and candidate take turns.

    It ends at (N, N) with N = max(`n_max`, m), or at (N, m) when no control can be run (`top_up` False).

    Examples
    --------
    >>> path = run_path(2, n_max=3)
    >>> list(zip(path.n.tolist(), path.m.tolist()))
    [(1, 2), (2, 2), (2, 3), (3, 3)]
    """
    if m < 1:
        raise ValueError(f"a path needs at least one control run, found {m}")
    most = max(n_max, m)
    steps = [(1, m)]
    while steps[-1] != (most, most if top_up else m):
        n, controls = steps[-1]
        steps.append((n + 1, controls) if n < controls or not top_up else (n, controls + 1))
    after, before = (np.array(side, dtype=np.int64) for side in zip(*steps, strict=True))
    return RunPath(after, before, 1 / (1 / after + 1 / before))


@lru_cache(maxsize=1024)
def steps_of(m: int, *, n_max: int = 16, top_up: bool = True) -> dict[tuple[int, int], int]:
    """Return the place of each (n, m) on the path."""
    path = run_path(m, n_max=n_max, top_up=top_up)
    return {pair: step for step, pair in enumerate(zip(path.n.tolist(), path.m.tolist(), strict=True))}


@lru_cache(maxsize=4096)
def step_bounds(
    m: int, level: float, *, n_max: int = 16, top_up: bool = True, gamma: float = -2.0, first: int = FIRST_LOOK
) -> Floats:
    """Return the bound of z at each step of the path, infinite before `first` candidate runs.

    Hwang-Shih-DeCani spending over the information fraction (`harnesskit.stats.sequential.boundaries`). A step that is
    left out costs nothing: fewer looks cross less often.

    Examples
    --------
    >>> step_bounds(5, 0.001).round(2)[:4].tolist()
    [inf, 3.82, 3.94, 3.94]
    """
    path = run_path(m, n_max=n_max, top_up=top_up)
    looks = path.n >= first
    bounds = np.full(len(path.n), np.inf)
    if level > 0 and looks.any():
        bounds[looks] = boundaries(path.info[looks], min(level, 0.49), gamma=gamma)
    bounds.flags.writeable = False
    return bounds
