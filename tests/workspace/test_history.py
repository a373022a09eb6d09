"""The score history: every item is a sample; what is no number is unscored, never gone and never 0."""

from __future__ import annotations

import json

import pytest

from harnesskit.workspace.history import RUN_ID, Gate, read_history


@pytest.fixture
def read(tmp_path):
    def write_and_read(value):
        path = tmp_path / "score_history.json"
        path.write_text(value if isinstance(value, str) else json.dumps(value))
        return read_history(path)

    return write_and_read


def item(value):
    return {"value": value, "ts": "2026-06-01T00:00:00+00:00", "run_id": None}


def test_each_item_is_one_online_sample_with_one_score(read):
    found = read({"s::m": {"series": [item(0.5), item(1)], "gate": {"peak": 1, "turns_since_gain": 2}}})
    assert [(s.sample_id, s.run_id, s.session_id, s.status) for s in found.samples] == [
        ("history:s::m:0", RUN_ID, "s", "scored"),
        ("history:s::m:1", RUN_ID, "s", "scored"),
    ]
    assert [(s.metric, s.value, s.status) for s in found.scores] == [("m", 0.5, "ok"), ("m", 1.0, "ok")]
    assert [(run.run_id, run.role) for run in found.runs] == [(RUN_ID, "online")]
    assert found.gates == [Gate("s", "m", 1.0, 2)]
    assert found.held == {("s", "m")}
    assert found.samples[0].occurred_at.isoformat() == "2026-06-01T00:00:00+00:00"
    assert found.problems == []


def test_a_session_id_may_hold_the_separator(read):
    found = read({"a::b::m": {"series": [item(0.5)]}})
    assert (found.samples[0].session_id, found.scores[0].metric) == ("a::b", "m")


@pytest.mark.parametrize("value", ["NaN", "Infinity", "1e999", "true", '"0.7"', "null", "[0.5]", "1" + "0" * 400])
def test_a_value_that_is_no_number_is_unscored_with_a_reason_and_one_problem(read, value):
    found = read(json.dumps({"s::m": {"series": [item("VALUE")]}}).replace('"VALUE"', value))
    assert [(s.value, s.status) for s in found.scores] == [(None, "unscored")]
    assert found.scores[0].reason
    assert found.samples[0].status == "inconclusive"
    assert [(p.field, p.severity) for p in found.problems] == [("s::m.series[0].value", "problem")]
    assert found.held == frozenset()


@pytest.mark.parametrize("bare", [0.3, None, "x", [1]])
def test_an_item_that_is_no_object_is_unscored(read, bare):
    found = read({"s::m": {"series": [bare, item(0.5)]}})
    assert [s.value for s in found.scores] == [None, 0.5]
    assert [p.kind for p in found.problems] == ["not_an_object"]


@pytest.mark.parametrize(
    ("value", "kind", "severity"),
    [
        ({"no-separator": {"series": [item(0.5)]}}, "bad_key", "problem"),
        ({"::m": {"series": [item(0.5)]}}, "bad_key", "problem"),
        ({"s::": {"series": [item(0.5)]}}, "bad_key", "problem"),
        ({"s::m": [1, 2]}, "not_an_object", "problem"),
        ({"s::m": {}}, "not_a_list", "problem"),
        ({"s::m": {"series": [], "gate": 3}}, "wrong_type", "problem"),
        ({"s::m": {"series": [], "ewma": {"fast": 0.2}}}, "old_ewma", "note"),
        ({"s::m": {"series": [item(0.5)] * 500}}, "series_full", "note"),
    ],
)
def test_what_is_left_out_is_said(read, value, kind, severity):
    assert [(p.kind, p.severity) for p in read(value).problems] == [(kind, severity)]


def test_an_empty_series_is_nothing_and_no_problem(read):
    found = read({"s::m": {"series": []}})
    assert (found.runs, found.samples, found.problems) == ([], [], [])
