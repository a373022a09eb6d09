"""Events that are appended to the journal."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone

import pytest

from harnesskit.workspace.journal_writer import Event, append_event, append_events

NOON = datetime(2026, 6, 1, 12, 0, tzinfo=UTC)


def lines(root):
    return (root / "journal.jsonl").read_bytes().split(b"\n")


def test_an_event_is_one_ascii_line_with_sorted_keys(tmp_path):
    append_event(tmp_path, "skip", clock=lambda: NOON, session_id="sé", reason="budget")
    assert lines(tmp_path) == [
        b'{"reason": "budget", "session_id": "s\\u00e9", "ts": "2026-06-01T12:00:00+00:00", "type": "skip"}',
        b"",
    ]


def test_the_time_is_utc_and_needs_a_zone(tmp_path):
    append_event(tmp_path, "recovery", clock=lambda: NOON.astimezone(timezone(timedelta(hours=5, minutes=30))))
    assert json.loads(lines(tmp_path)[0])["ts"] == "2026-06-01T12:00:00+00:00"
    with pytest.raises(ValueError, match="without a time zone"):
        append_event(tmp_path, "recovery", clock=lambda: NOON.replace(tzinfo=None))


def test_a_torn_last_line_costs_only_itself(tmp_path):
    (tmp_path / "journal.jsonl").write_bytes(b'{"type": "a"}\n{"type": "to')
    append_events(tmp_path, [Event("b", {}), Event("c", {"n": 1})], clock=lambda: NOON)
    whole = lines(tmp_path)
    assert whole[1] == b'{"type": "to'
    assert [json.loads(line)["type"] for line in (whole[0], *whole[2:4])] == ["a", "b", "c"]


@pytest.mark.parametrize("value", [float("nan"), {1, 2}])
def test_what_is_no_json_appends_nothing(tmp_path, value):
    with pytest.raises((ValueError, TypeError)):
        append_events(tmp_path, [Event("fine", {}), Event("odd", {"value": value})])
    assert not (tmp_path / "journal.jsonl").exists()
