"""The gate of Tier 1: the stated rule on its edges, every stored series of the reference, and the file it keeps."""

from __future__ import annotations

import json
import math
import multiprocessing
from pathlib import Path

import pytest
from made_live import SteppingClock

from harnesskit.live.gate import GateState, ScoreHistory, fold, step
from harnesskit.model.config import HarnessConfig
from harnesskit.model.errors import WorkspaceError
from harnesskit.workspace.atomic import json_file_bytes

FILE = "state/score_history.json"


def history(root: Path, **settings) -> ScoreHistory:
    return ScoreHistory(root, HarnessConfig(**settings), clock=SteppingClock())


@pytest.mark.parametrize(
    ("peak", "turns", "value", "after", "stalled", "regressed"),
    [
        (None, 0, 0.125, (0.125, 0), False, False),  # the first value is the peak, whatever it is
        (0.25, 4, 0.3125, (0.3125, 0), False, False),  # a gain of exactly gate_gain counts
        (0.25, 0, 0.312, (0.25, 1), False, False),  # a smaller one does not raise the peak
        (0.25, 4, 0.25, (0.25, 0), True, False),  # the fifth turn without a gain stalls, and the count begins again
        (0.25, 3, 0.25, (0.25, 4), False, False),
        (0.5, 9, 0.5, (0.5, 10), False, False),  # at the target nothing stalls
        (0.75, 0, 0.625, (0.75, 1), False, False),  # a drop of exactly gate_drop is none
        (0.75, 3, 0.624, (0.75, 0), False, True),  # a larger one regresses; the peak stays
        (0.25, 4, 0.0625, (0.25, 0), True, True),  # both at once
        (0.25, 2, None, (0.25, 2), False, False),  # unscored: no turn at all
    ],
)
def test_one_step_of_the_gate(peak, turns, value, after, stalled, regressed):
    done = step(GateState(peak, turns), value, HarnessConfig(gate_gain=0.0625, gate_drop=0.125))
    assert done == (GateState(*after), stalled, regressed)


def test_a_window_below_one_is_one():
    assert step(GateState(0.2), 0.2, HarnessConfig(gate_window=0)).stalled


def test_every_stored_series_of_the_reference_ends_in_its_stored_state(shared):
    workspaces = shared / "reference/workspaces"
    checked = 0
    for path, window in [
        (workspaces / "mid" / FILE, 3),
        (workspaces / "small/closed_loop_self_heal/workspace" / FILE, 1),
        (workspaces / "small/offline_self_heal/workspace" / FILE, 1),
    ]:
        for key, entry in json.loads(path.read_text()).items():
            state = fold((item["value"] for item in entry["series"]), HarnessConfig(gate_window=window))
            assert state._asdict() == entry["gate"], key
            checked += 1
    assert checked == 624


def test_the_file_is_in_the_form_of_the_reference(tmp_path, shared):
    source = shared / "reference/workspaces/small/closed_loop_self_heal/workspace" / FILE
    stored = json.loads(source.read_text())
    kept = history(tmp_path, gate_window=1)
    for values in (0.2, 0.2, 0.9):
        kept.record("offline-closed-loop", [("task_completion", values), ("coherence", values)])
    written = json.loads((tmp_path / FILE).read_text())
    for entry, original in ((written[key], stored[key]) for key in stored):
        for item, theirs in zip(entry["series"], original["series"], strict=True):
            item["ts"] = theirs["ts"]
    assert json.dumps(written, indent=2, sort_keys=True) == source.read_text()


def test_an_unscored_value_never_freezes_the_gate(tmp_path):
    kept = history(tmp_path, gate_window=1)
    assert kept.record("s", [("coherence", None)])[0].state == GateState()
    assert not (tmp_path / FILE).exists()
    kept.record("s", [("coherence", 0.2)])
    assert kept.record("s", [("coherence", 0.2)])[0].stalled


def test_a_peak_of_nan_that_the_reference_wrote_opens_again(tmp_path):
    (tmp_path / "state").mkdir()
    entry = {"gate": {"peak": math.nan, "turns_since_gain": 0}, "series": [{"value": math.nan, "ts": "2026-06-01"}]}
    (tmp_path / FILE).write_text(json.dumps({"s::coherence": entry}))
    assert history(tmp_path).record("s", [("coherence", 0.3)])[0].state == GateState(0.3)
    assert json.loads((tmp_path / FILE).read_text())["s::coherence"]["gate"]["peak"] == 0.3


def test_a_series_without_gate_is_folded_again(tmp_path):
    (tmp_path / "state").mkdir()
    series = [{"value": value, "ts": "2026-06-01"} for value in (0.8, 0.7)]
    (tmp_path / FILE).write_text(json.dumps({"s::coherence": {"series": series}}))
    assert history(tmp_path).record("s", [("coherence", 0.6)])[0].regressed


def test_unknown_keys_stay_and_a_series_keeps_its_last_500(tmp_path):
    (tmp_path / "state").mkdir()
    series = [{"value": i / 1000, "ts": "2026-06-01", "note": i} for i in range(500)]
    stored = {"s::coherence": {"series": series, "ewma": {"fast": 1}}, "other": [1], "t::x": {"series": []}}
    (tmp_path / FILE).write_text(json.dumps(stored))
    history(tmp_path).record("s", [("coherence", 0.9)])
    now = json.loads((tmp_path / FILE).read_text())
    assert now["other"] == [1]
    assert now["t::x"] == {"series": []}
    assert now["s::coherence"]["ewma"] == {"fast": 1}
    kept = now["s::coherence"]["series"]
    assert (len(kept), kept[0]["note"], kept[-1]["value"]) == (500, 1, 0.9)


def test_a_damaged_file_is_refused_and_left_alone(tmp_path):
    (tmp_path / "state").mkdir()
    (tmp_path / FILE).write_text("{not json")
    with pytest.raises(WorkspaceError, match=r"score history .* cannot be used"):
        history(tmp_path).record("s", [("coherence", 0.9)])
    assert (tmp_path / FILE).read_text() == "{not json"


def write_many(root: str, session: str) -> None:
    kept = ScoreHistory(Path(root), HarnessConfig())
    for i in range(20):
        kept.record(session, [("coherence", i / 100)])


def test_two_processes_lose_nothing_to_each_other(tmp_path):
    spawn = multiprocessing.get_context("spawn")
    writers = [spawn.Process(target=write_many, args=(str(tmp_path), f"s-{i}")) for i in range(2)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
    assert [writer.exitcode for writer in writers] == [0, 0]
    stored = json.loads((tmp_path / FILE).read_text())
    assert {key: len(entry["series"]) for key, entry in stored.items()} == {"s-0::coherence": 20, "s-1::coherence": 20}


def test_another_writer_and_a_replaced_file_are_seen(tmp_path):
    kept, other = history(tmp_path, gate_window=1), history(tmp_path, gate_window=1)
    for _ in range(2):
        kept.record("s", [("coherence", 0.2)])
        other.record("t", [("coherence", 0.2)])
    assert kept.record("t", [("coherence", 0.2)])[0].stalled
    stored = json.loads((tmp_path / FILE).read_text())
    assert {key: len(entry["series"]) for key, entry in stored.items()} == {"s::coherence": 2, "t::coherence": 3}
    (tmp_path / FILE).unlink()
    assert kept.record("s", [("coherence", 0.1)])[0].state == GateState(0.1)
    assert list(json.loads((tmp_path / FILE).read_text())) == ["s::coherence"]


def test_a_value_that_could_not_be_written_is_not_remembered(tmp_path):
    kept = history(tmp_path)
    kept.record("s", [("coherence", 0.2)])
    with pytest.raises(ValueError):
        ScoreHistory.record(kept, "s", [("coherence", 0.9), ("task_completion", math.inf)])
    assert kept.record("s", [("coherence", 0.3)])[0].state == GateState(0.3)


@pytest.mark.parametrize("text", ['{"k::m": {"series": [{"a\\nb": "\\u00e4\\n"}]}, "z": [], "a": {}}', "{}"])
def test_the_file_has_the_bytes_of_any_json_file_of_a_workspace(tmp_path, text):
    (tmp_path / "state").mkdir()
    (tmp_path / FILE).write_text(text)
    history(tmp_path).record("sé::x", [("coherence", 0.5)])
    written = (tmp_path / FILE).read_bytes()
    assert written == json_file_bytes(json.loads(written))
