"""The gate of Tier 1 over many series and settings at once; one step per turn, everything else in arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Bools = NDArray[np.bool_]


class GateAlarms(NamedTuple):
    """Alarms by series and turn."""

    stalled: Bools
    regressed: Bools


def gate_alarms(values: ArrayLike, *, window: int, target: float, gain: float, drop: float) -> GateAlarms:
    """Return where the gate fires, for series down the rows, turns across, NaN where a turn has no value.

    The first value, and one at least `gain` above the peak, becomes the peak. Otherwise the series stalls after
    `window` turns without a gain while the peak is below `target`, and regresses when the value is more than `drop`
    below the peak; an alarm starts the count again and leaves the peak.

    Examples
    --------
    >>> found = gate_alarms([[0.2, 0.2, 0.2, 0.05]], window=2, target=0.5, gain=0.05, drop=0.1)
    >>> found.stalled.tolist(), found.regressed.tolist()
    ([[False, False, True, False]], [[False, False, False, True]])
    """
    x = np.atleast_2d(np.asarray(values, dtype=float))
    peak, turns = np.full(len(x), np.nan), np.zeros(len(x), dtype=np.int64)
    stalled, regressed = np.zeros(x.shape, dtype=bool), np.zeros(x.shape, dtype=bool)
    for turn in range(x.shape[1]):
        value = x[:, turn]
        seen, first = ~np.isnan(value), np.isnan(peak)
        gained = seen & (first | (value >= peak + gain))
        waits = seen & ~gained
        turns = np.where(gained, 0, turns + waits)
        peak = np.where(gained, np.fmax(value, peak), peak)
        stalled[:, turn] = waits & (turns >= max(1, window)) & (peak < target)
        regressed[:, turn] = waits & (value < peak - drop)
        turns[stalled[:, turn] | regressed[:, turn]] = 0
    return GateAlarms(stalled, regressed)
