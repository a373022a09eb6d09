"""The journal: every record is an event, from any place on, and from the tail."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harnesskit.workspace import journal
from harnesskit.workspace.journal import read_journal, read_tail

NOW = "2026-06-01T00:00:00+00:00"


def write(path, *records):
    path.write_bytes(b"".join(json.dumps(record).encode() + b"\n" for record in records))
    return path


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal.jsonl"


def test_an_event_has_the_ids_it_speaks_of(path):
    write(
        path,
        {"type": "rule_retire", "id": "r-1", "ts": NOW},
        {"type": "validation_replay_case", "rule_id": "r-2", "case_id": "c-1", "session_id": "s-1", "ts": NOW},
        {"type": "repair_started", "task_session_id": "s-2", "ts": NOW},
        {"type": "notice", "id": "n-1", "session_id": "s-3", "ts": NOW},
    )
    found = read_journal(path)
    assert [(e.type, e.rule_id, e.case_id, e.session_id) for e in found.events] == [
        ("rule_retire", "r-1", None, None),
        ("validation_replay_case", "r-2", "c-1", "s-1"),
        ("repair_started", None, None, "s-2"),
        ("notice", None, None, "s-3"),
    ]
    assert found.problems == []
    assert {event.ts for event in found.events} == {datetime(2026, 6, 1, tzinfo=UTC)}
    assert [json.loads(event.payload)["ts"] for event in found.events] == [NOW] * 4


@pytest.mark.parametrize(
    ("record", "kind", "problem"),
    [
        ({"ts": NOW}, "unknown", "no_type"),
        ({"type": None, "ts": NOW}, "unknown", "no_type"),
        ({"type": 5, "ts": NOW}, "5", "not_text"),
        ({"type": ["a"], "ts": NOW}, '["a"]', "not_text"),
        ({"type": "health"}, "health", "bad_time"),
        ({"type": "regression", "results": "none", "ts": NOW}, "regression", "wrong_type"),
        ({"type": "regression", "total": True, "ts": NOW}, "regression", "wrong_type"),
        ({"type": "validation_verdict", "outcome": "maybe", "ts": NOW}, "validation_verdict", "unknown_value"),
        ({"type": "notice", "session_id": None, "ts": NOW}, "notice", "wrong_type"),
    ],
)
def test_an_odd_record_is_kept_with_a_problem(path, record, kind, problem):
    found = read_journal(write(path, record))
    assert [event.type for event in found.events] == [kind]
    assert [p.kind for p in found.problems] == [problem]
    assert found.problems[0].severity == "problem"
    assert found.problems[0].line == 1


def test_a_type_of_another_version_is_noted_once(path):
    found = read_journal(write(path, *[{"type": "brand_new", "ts": NOW}] * 3))
    assert len(found.events) == 3
    assert [(p.kind, p.severity) for p in found.problems] == [("unknown_type", "note")]


def test_reading_goes_on_where_it_stopped(path):
    write(path, *[{"type": "health", "ok": True, "ts": NOW, "n": n} for n in range(3)])
    first = read_journal(path)
    with path.open("ab") as stream:
        stream.write(b'{"type": "skip", "ts": "%s"}\n' % NOW.encode())
    second = read_journal(path, start=first.end, start_line=first.next_line)
    assert [(event.line, event.type) for event in second.events] == [(4, "skip")]
    assert first.events + second.events == read_journal(path).events


def test_the_tail_is_the_end_of_the_whole(path):
    write(path, *[{"type": "health" if n % 3 else "skip", "ts": NOW, "n": n} for n in range(40)])
    whole = [event._replace(line=None) for event in read_journal(path).events]
    assert read_tail(path, 5).events == whole[-5:]
    assert read_tail(path, 4, types={"skip"}).events == [e for e in whole if e.type == "skip"][-4:]
    assert read_tail(path, 4, types={"none"}).events == []
    assert read_tail(path, 0).events == []
    assert read_tail(path, 1_000).events == whole


def test_the_tail_says_that_the_last_line_is_torn(path):
    write(path, {"type": "health", "ts": NOW})
    with path.open("ab") as stream:
        stream.write(b'{"type": "he')
    found = read_tail(path, 3)
    assert [event.type for event in found.events] == ["health"]
    assert [problem.kind for problem in found.problems] == ["torn"]
    assert found.end == read_journal(path).end


def test_the_tail_does_not_read_what_lies_before(path, monkeypatch):
    write(path, *[{"type": "health", "ts": NOW, "pad": "x" * 1000}] * 2000)
    asked = []
    read = journal.os.read
    monkeypatch.setattr(journal.os, "read", lambda fd, n: asked.append(n) or read(fd, n))
    assert len(read_tail(path, 50).events) == 50
    assert sum(asked) <= 2 * journal.BLOCK < path.stat().st_size


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from([b"", b"  ", b'{"type":"a"}', b'{"type":"bb","x":[1]}', b"{oops", b"\xff"]), max_size=12),
    st.booleans(),
    st.integers(1, 7),
)
def test_backwards_meets_the_same_lines_as_forwards(tmp_path_factory, lines, ended, block):
    path = tmp_path_factory.mktemp("tail") / "journal.jsonl"
    path.write_bytes(b"\n".join(lines) + (b"\n" if ended and lines else b""))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(journal, "BLOCK", block)
        tail = read_tail(path, 100)
    whole = read_journal(path)
    assert tail.events == [event._replace(line=None) for event in whole.events]
    assert tail.end == whole.end
    assert [p.kind for p in tail.problems] == [p.kind for p in whole.problems if p.kind != "unknown_type"]
