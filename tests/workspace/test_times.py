"""Times: what a text or a number stands for, in UTC, by rules that do not depend on the machine."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harnesskit.workspace.times import read_time

NOON = datetime(2026, 6, 20, 12, tzinfo=UTC)


def kind(value):
    finding = read_time(value, "ts").finding
    return finding and (finding.severity, finding.kind)


@pytest.mark.parametrize("text", [
    "2026-06-20T12:00:00+00:00", "2026-06-20T12:00:00Z", "2026-06-20T14:00:00+02:00", "2026-06-20 07:00:00-05:00",
    "2026-06-20T17:30:00+05:30", " 2026-06-20T12:00:00Z\n", "20260620T120000Z", "2026-06-20T12Z", "2026-W25-6T12:00Z",
])  # fmt: skip
def test_a_time_with_a_zone_needs_no_rule(text):
    assert read_time(text, "ts") == (NOON, None)


@pytest.mark.parametrize(("text", "wanted"), [
    ("2026-06-20T12:00:00", NOON), ("2026-06-20 12:00", NOON), ("2026-06-20", NOON.replace(hour=0)),
])  # fmt: skip
def test_a_time_without_a_zone_is_utc_and_said(text, wanted):
    assert read_time(text, "ts").at == wanted
    assert kind(text) == ("note", "time_without_zone")


@pytest.mark.parametrize(("number", "wanted"), [
    (0, datetime(1970, 1, 1, tzinfo=UTC)), (1_781_956_800, NOON), (1_781_956_800.25, NOON + timedelta(seconds=0.25)),
    (-1, datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC)),
])  # fmt: skip
def test_a_number_is_seconds_and_said(number, wanted):
    assert read_time(number, "ts").at == wanted
    assert kind(number) == ("note", "time_as_number")


@pytest.mark.parametrize("value", [
    None, "", " ", "yesterday", "20260620", "1781956800", "2026-13-01", "2026-02-30", "2026-06-20T25:00Z", "12:00",
    True, [], {}, math.nan, math.inf, 1e18, 10**400, -(10**30), "2026-06-20T12:00:00+99:00", "\u0662\u0660-06",
    "0001-01-01T00:00:00+23:00", "9999-12-31T23:59:59-23:00", "\ud800",
], ids=ascii)  # fmt: skip
def test_what_is_no_time_is_a_problem_and_no_time(value):
    moment = read_time(value, "ts")
    assert moment.at is None
    assert kind(value) == ("problem", "bad_time")
    assert moment.finding.message.isascii()
    assert moment.finding.message.isprintable()


def test_the_finding_names_the_field_and_what_was_found():
    assert read_time("yesterday", "created_at").finding == (
        "created_at", "problem", "bad_time",
        "created_at is 'yesterday', which is not an ISO 8601 time; the row is kept without a time.",
    )  # fmt: skip
    assert "ts missing" in read_time(None, "ts").finding.message


@settings(max_examples=100, deadline=None)
@given(st.datetimes(datetime(2, 1, 1), datetime(9998, 1, 1)), st.integers(-1439, 1439))  # noqa: DTZ001
def test_every_zone_is_the_same_moment(at, minutes):
    aware = at.replace(tzinfo=timezone(timedelta(minutes=minutes)))
    assert read_time(aware.isoformat(), "ts") == (aware, None)
    assert read_time(aware.isoformat(), "ts").at.utcoffset() == timedelta(0)
