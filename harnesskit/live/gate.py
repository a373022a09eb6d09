"""The gate of Tier 1: when the series of a session and metric stalls or regresses, and where its state is kept."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from harnesskit.live.history_file import HistoryFile
from harnesskit.model.config import HarnessConfig
from harnesskit.workspace.clock import Clock, utc_now, written_time
from harnesskit.workspace.fields import read_score
from harnesskit.workspace.history import SERIES_CAP
from harnesskit.workspace.layout import HISTORY, OURS
from harnesskit.workspace.locking import hold


class GateState(NamedTuple):
    """State of one series: best value that counted as a gain, and turns since then."""

    peak: float | None = None
    turns_since_gain: int = 0


class GateStep(NamedTuple):
    """What one value did: the new state, and which alarms fired."""

    state: GateState
    stalled: bool
    regressed: bool


def step(state: GateState, value: float | None, config: HarnessConfig) -> GateStep:
    """Return what `value` does to the gate of one series.

    The first value, and one at least `gate_gain` above the peak, is a gain: it becomes the peak. Otherwise the series
    stalls after `gate_window` turns without a gain while the peak is below `gate_target`, and regresses when the value
    is more than `gate_drop` below the peak. An alarm starts the count again and leaves the peak. An unscored value
    (None) changes nothing.

    Examples
    --------
    >>> config = HarnessConfig(gate_window=1)
    >>> state, *alarms = step(GateState(), 0.2, config)
    >>> state, alarms
    (GateState(peak=0.2, turns_since_gain=0), [False, False])
    >>> step(state, 0.2, config).stalled
    True
    """
    if value is None:
        return GateStep(state, stalled=False, regressed=False)
    if state.peak is None or value >= state.peak + config.gate_gain:
        peak = value if state.peak is None else max(state.peak, value)
        return GateStep(GateState(peak), stalled=False, regressed=False)
    turns = state.turns_since_gain + 1
    stalled = turns >= max(1, config.gate_window) and state.peak < config.gate_target
    regressed = value < state.peak - config.gate_drop
    kept = GateState(state.peak, 0 if stalled or regressed else turns)
    return GateStep(kept, stalled, regressed)


def fold(values: Iterable[float | None], config: HarnessConfig) -> GateState:
    """Return the state after a whole series, oldest first.

    Examples
    --------
    >>> fold([0.2, None, 0.21, 0.9], HarnessConfig())
    GateState(peak=0.9, turns_since_gain=0)
    """
    state = GateState()
    for value in values:
        state = step(state, value, config).state
    return state


class ScoreHistory:
    """The file ``state/score_history.json``: every Tier 1 value, and the state of every gate.

    Every turn reads the file, adds to it and writes it, all under a lock, so that several processes on one workspace
    lose nothing to each other. Keys and fields that are not ours stay as they are.

    Parameters
    ----------
    root
        The workspace.
    config
        Settings of the gate.
    clock
        Time of a value; asked once per value.
    """

    def __init__(self, root: Path, config: HarnessConfig, *, clock: Clock = utc_now) -> None:
        self._file = HistoryFile(root / HISTORY)
        self._lock = root / OURS / "history.lock"
        self.config = config
        self._clock = clock

    def record(self, session_id: str, values: Sequence[tuple[str, float | None]]) -> list[GateStep]:
        """Add values (metric, value), oldest first, and return what each did to its gate; None adds nothing.

        Raises
        ------
        WorkspaceError
            The file is not one JSON object, or cannot be written; it is left as it is.
        """
        with hold(self._lock, "add to the score history"):
            self._file.load()
            steps = [self._add(f"{session_id}::{metric}", value) for metric, value in values]
            if any(value is not None for _, value in values):
                self._file.save()
        return steps

    def _add(self, key: str, value: float | None) -> GateStep:
        entry = self._file.get(key)
        series = entry.get("series")
        items: list[Any] = list(series) if isinstance(series, list) else []
        done = step(self._state(entry, items), value, self.config)
        if value is not None:
            items.append({"value": value, "ts": written_time(self._clock), "run_id": None})
            state = {"peak": done.state.peak, "turns_since_gain": done.state.turns_since_gain}
            self._file.put(key, {**entry, "series": items[-SERIES_CAP:], "gate": state})
        return done

    def _state(self, entry: dict[str, Any], items: Sequence[Any]) -> GateState:
        """Return the stored state; versions up to 0.6 stored none, so there the series is folded again."""
        gate = entry.get("gate")
        if not isinstance(gate, dict):
            return fold((_usable(item.get("value")) if isinstance(item, dict) else None for item in items), self.config)
        turns = gate.get("turns_since_gain")
        since = turns if isinstance(turns, int) and not isinstance(turns, bool) and turns >= 0 else 0
        # a peak that is no number (the reference stores NaN for a first value of NaN) is none: the gate opens again
        return GateState(_usable(gate.get("peak")), since)


def _usable(value: object) -> float | None:
    return read_score(value)[0]
