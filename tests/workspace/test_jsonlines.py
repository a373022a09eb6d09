"""One bad line costs itself: whatever stands in a file, its other lines come through."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harnesskit.workspace import jsonlines
from harnesskit.workspace.jsonlines import JsonLines


def read(path, **options):
    lines = JsonLines(path, "journal", "journal.jsonl", **options)
    return list(lines), lines


def read_bytes(tmp_path, data, **options):
    path = tmp_path / "lines.jsonl"
    path.write_bytes(data)
    return read(path, **options)


def values(records):
    return [record.value for record in records]


def kinds(lines):
    return [(problem.line, problem.kind) for problem in lines.problems]


GARBAGE = {
    "not_json": b"{oops",
    "not_an_object": b"[1, 2]",
    "encoding": b'{"a": "\xff"}',
    "duplicate_key": b'{"a": 1, "a": 2}',
    "too_deep": b'{"a":' + b"[" * 50_000 + b"]" * 50_000 + b"}",
}


@pytest.mark.parametrize("kind", GARBAGE)
def test_a_bad_line_costs_itself(tmp_path, kind):
    records, lines = read_bytes(tmp_path, b'{"n": 1}\n' + GARBAGE[kind] + b'\n{"n": 2}\n')
    assert values(records) == [{"n": 1}, {"n": 2}]
    assert [record.line for record in records] == [1, 3]
    assert kinds(lines) == [(2, kind)]


def test_two_objects_on_one_line_are_refused_together(tmp_path):
    records, lines = read_bytes(tmp_path, b'{"n": 1}{"n": 2}\n{"n": 3}\n')
    assert values(records) == [{"n": 3}]
    assert kinds(lines) == [(1, "not_json")]


def test_blank_lines_count_as_lines_and_are_no_problem(tmp_path):
    records, lines = read_bytes(tmp_path, b'\n  \t\r\n{"n": 1}\n\n')
    assert [(record.line, record.offset) for record in records] == [(3, 6)]
    assert lines.problems == []


@pytest.mark.parametrize("sign", ["\u2028", "\u2029", "\u0085", "\x7f", "\ufeff"])
def test_only_a_newline_ends_a_line(tmp_path, sign):
    text = json.dumps({"a": f"x{sign}y"}, ensure_ascii=False) + "\n"
    records, lines = read_bytes(tmp_path, text.encode() * 2)
    assert values(records) == [{"a": f"x{sign}y"}] * 2
    assert lines.problems == []


def test_carriage_returns_before_the_line_end_are_white_space(tmp_path):
    records, lines = read_bytes(tmp_path, b'{"n": 1}\r\n{"n": 2}\r\n')
    assert values(records) == [{"n": 1}, {"n": 2}]
    assert lines.problems == []


@pytest.mark.parametrize("rest", [b"", b"\n", b' \n{"n": 2}\n'])
def test_a_byte_order_mark_at_the_start_is_fine(tmp_path, rest):
    records, lines = read_bytes(tmp_path, b'\xef\xbb\xbf{"n": 1}\n' + rest)
    assert records[0] == (0, 1, {"n": 1})
    assert lines.problems == []
    assert read_bytes(tmp_path, b"\xef\xbb\xbf\n")[1].problems == []


def test_utf16_is_one_problem_for_the_file(tmp_path):
    records, lines = read_bytes(tmp_path, ('{"n": 1}\n' * 100).encode("utf-16"))
    assert records == []
    assert kinds(lines) == [(None, "encoding")]


def test_nan_is_null_and_said(tmp_path):
    records, lines = read_bytes(tmp_path, b'{"a": NaN, "b": -Infinity, "c": 1e999}\n')
    assert values(records) == [{"a": None, "b": None, "c": None}]
    assert [problem.field for problem in lines.problems] == ["a", "b", "c"]


def test_large_integers_are_exact_and_half_surrogates_are_said(tmp_path):
    big = 123456789012345678901234567890
    records, lines = read_bytes(tmp_path, b'{"n": %d}\n{"t": "\\ud800"}\n' % big)
    assert values(records)[0] == {"n": big}
    assert kinds(lines) == [(2, "lone_surrogate")]


def test_a_torn_last_line_is_said_and_met_again(tmp_path):
    path = tmp_path / "lines.jsonl"
    path.write_bytes(b'{"n": 1}\n{"n": ')
    records, lines = read(path)
    assert values(records) == [{"n": 1}]
    assert kinds(lines) == [(2, "torn")]
    assert (lines.end, lines.next_line) == (9, 2)
    path.write_bytes(b'{"n": 1}\n{"n": 2}\n')
    records, lines = read(path, start=lines.end, start_line=lines.next_line)
    assert records == [(9, 2, {"n": 2})]
    assert lines.problems == []


def test_a_whole_last_line_without_line_end_is_read_and_noted(tmp_path):
    records, lines = read_bytes(tmp_path, b'{"n": 1}\n{"n": 2}')
    assert values(records) == [{"n": 1}, {"n": 2}]
    assert [(p.kind, p.severity) for p in lines.problems] == [("no_line_end", "note")]
    assert lines.end == 9
    again, _ = read(tmp_path / "lines.jsonl", start=9, start_line=2)
    assert again == records[1:]


@pytest.mark.parametrize("start", [4, 100])
def test_a_start_that_is_no_line_start_means_from_the_beginning(tmp_path, start):
    records, lines = read_bytes(tmp_path, b'{"n": 1}\n', start=start, start_line=7)
    assert records == [(0, 1, {"n": 1})]
    assert (lines.start, lines.end, lines.next_line) == (0, 9, 2)


def test_lines_are_not_counted_when_the_number_is_not_known(tmp_path):
    records, lines = read_bytes(tmp_path, b'{"n": 1}\n{"n": 2}\n[]\n', start=9)
    assert records == [(9, None, {"n": 2})]
    assert kinds(lines) == [(None, "not_an_object")]


def test_a_line_may_be_longer_than_a_chunk(tmp_path, monkeypatch):
    text = "x" * 5_000_000
    data = b'{"n": 1}\n' + json.dumps({"t": text}).encode() + b'\n{"n": 2}\n'
    records, _ = read_bytes(tmp_path, data)
    assert values(records) == [{"n": 1}, {"t": text}, {"n": 2}]
    monkeypatch.setattr(jsonlines, "CHUNK", 3)
    data = b'{"n": 1}\n\n{"nnnnn": 22222}\n{"n": 3}'
    records, lines = read_bytes(tmp_path, data)
    assert [(r.offset, r.line, r.value) for r in records] == [
        (0, 1, {"n": 1}),
        (10, 3, {"nnnnn": 22222}),
        (27, 4, {"n": 3}),
    ]
    assert lines.end == 27


def test_a_line_over_the_limit_costs_itself(tmp_path, monkeypatch):
    monkeypatch.setattr(jsonlines, "CHUNK", 8)
    monkeypatch.setattr(jsonlines, "MAX_LINE_BYTES", 30)
    records, lines = read_bytes(tmp_path, b'{"n": 1}\n{"a": "' + b"x" * 200 + b'"}\n{"n": 2}\n')
    assert records == [(0, 1, {"n": 1}), (219, 3, {"n": 2})]
    assert kinds(lines) == [(2, "too_large")]


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), json_values, max_size=4)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(objects, st.sampled_from([None, *sorted(GARBAGE)[:4]]), st.booleans()), max_size=8))
def test_objects_come_back_equal_and_garbage_costs_only_itself(tmp_path_factory, parts):
    lines, wanted, bad = [], [], []
    for value, garbage, ascii_only in parts:
        if garbage:
            lines.append(GARBAGE[garbage])
            bad.append((len(lines), garbage))
        lines.append(json.dumps(value, ensure_ascii=ascii_only).encode())
        wanted.append((len(lines), value))
    path = tmp_path_factory.mktemp("lines") / "lines.jsonl"
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    records, reader = read(path)
    assert [(record.line, record.value) for record in records] == wanted
    assert kinds(reader) == bad
    assert reader.end == path.stat().st_size


def test_a_hundred_thousand_lines_take_seconds_not_minutes(tmp_path):
    path = tmp_path / "lines.jsonl"
    path.write_bytes(b'{"type": "recovery", "session_id": "s-1", "ts": "2026-06-01T00:00:00+00:00"}\n' * 100_000)
    began = time.process_time()
    records, _ = read(path)
    assert len(records) == 100_000
    assert time.process_time() - began < 5
