"""The gate replayed over stored series: on the live gate's own settings the same alarms, turn by turn."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import harnesskit as hk
from harnesskit.live.gate import GateState, step
from harnesskit.stats.gate_paths import gate_alarms

SERIES = st.lists(st.one_of(st.none(), st.floats(0, 1).map(lambda v: round(v, 2))), max_size=25)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(SERIES, min_size=1, max_size=4),
    st.integers(0, 6), st.sampled_from([0.3, 0.5, 0.9]), st.sampled_from([0.0, 0.02, 0.1]),
    st.sampled_from([0.0, 0.15, 0.4]),
)  # fmt: skip
def test_the_replayed_gate_is_the_live_one(series, window, target, gain, drop):
    config = hk.HarnessConfig(gate_window=window, gate_target=target, gate_gain=gain, gate_drop=drop)
    width = max(map(len, series))
    table = np.full((len(series), width), np.nan)
    stalled, regressed = np.zeros(table.shape, dtype=bool), np.zeros(table.shape, dtype=bool)
    for row, values in enumerate(series):
        state = GateState()
        for turn, value in enumerate(values):
            table[row, turn] = np.nan if value is None else value
            state, stalled[row, turn], regressed[row, turn] = step(state, value, config)
    found = gate_alarms(table, window=window, target=target, gain=gain, drop=drop)
    assert (found.stalled == stalled).all()
    assert (found.regressed == regressed).all()
    rows = [(f"s-{row}", "coherence", value) for row, values in enumerate(series) for value in values]
    scores = pd.DataFrame(rows, columns=["session_id", "metric", "value"])
    replayed = hk.replay_gate(scores, window=window, target=target, gain=gain, drop=drop).iloc[0]
    assert (replayed["stalled"], replayed["regressed"]) == (stalled.sum(), regressed.sum())
    assert replayed["alarmed_turns"] == (stalled | regressed).sum()
    assert replayed["alarmed_sessions"] == (stalled | regressed).any(axis=1).sum()


def test_one_turn_that_alarms_in_two_metrics_is_one_turn():
    rows = [(f"t-{i}", metric, 0.9 if i == 0 else 0.3) for i in range(2) for metric in ("coherence", "task_completion")]
    scores = pd.DataFrame(rows, columns=["sample_id", "metric", "value"]).assign(session_id="s")
    row = hk.replay_gate(scores, {"s": True}).iloc[0]
    assert (row["regressed"], row["alarmed_turns"], row["tp"]) == (2, 1, 1)


def test_settings_are_compared_against_labels_and_time_orders_the_series():
    scores = pd.DataFrame({
        "session_id": ["a"] * 3 + ["b"] * 3, "metric": "coherence", "value": [0.3, 0.9, 0.8, 0.9, 0.9, 0.9],
        "occurred_at": ["2026-01-03", "2026-01-01", "2026-01-02", "2026-01-01", "2026-01-02", "2026-01-03"],
    })  # fmt: skip
    found = hk.replay_gate(scores, {"a": True, "b": False}, drop=[0.05, 0.2, 0.7])
    assert found[["drop", "regressed", "tp", "fp", "fn", "tn"]].to_numpy().tolist() == [
        [0.05, 2, 1, 0, 0, 1], [0.2, 1, 1, 0, 0, 1], [0.7, 0, 0, 0, 1, 1],
    ]  # fmt: skip


def test_no_rows_and_bad_settings():
    empty = pd.DataFrame(columns=["session_id", "metric", "value"])
    assert hk.replay_gate(empty).iloc[0]["n_sessions"] == 0
    with pytest.raises(hk.PolicyError, match="drop"):
        hk.replay_gate(empty, drop=["much"])
