"""Bytes and JSON: one strict reading, whichever of the two parsers does it."""

from __future__ import annotations

import json
import math
import os
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harnesskit.workspace import reading
from harnesskit.workspace.problems import UnreadableError
from harnesskit.workspace.reading import (
    MAX_DEPTH,
    UNSURE,
    clean_text,
    open_regular,
    parse_carefully,
    parse_fast,
    parse_json,
    read_file,
    to_json,
)

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from(
    ["a:b", ":", "\\u003a", '"', "{["]
)
NUMBERS = st.integers() | st.integers(2**53, 2**70) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)
SPELLINGS = st.fixed_dictionaries(
    {"ensure_ascii": st.booleans(), "indent": st.none() | st.just(2), "sort_keys": st.booleans()}
)


def same(one, other):
    """Equal, of one type all the way down, and signs of zero kept."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other and (not isinstance(one, float) or math.copysign(1, one) == math.copysign(1, other))


@settings(max_examples=300, deadline=None)
@given(VALUES, SPELLINGS)
def test_both_parsers_give_what_json_gives(value, spelling):
    data = json.dumps(value, **spelling).encode()
    wanted = json.loads(data)
    careful, findings = parse_carefully(data)
    assert findings == []
    assert same(careful, wanted)
    fast = parse_fast(data)
    assert fast is UNSURE or same(fast, wanted)
    assert same(json.loads(to_json(wanted)), wanted)


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=40) | st.text('{}[]":,\\u003a1e-.NaInfity \n', max_size=40).map(lambda text: text.encode()))
def test_no_bytes_raise_anything_else(data):
    fast = parse_fast(data)
    refused = None
    try:
        value, findings = parse_carefully(data)
    except UnreadableError as error:
        refused = error.finding
    if refused:
        assert fast is UNSURE
        assert refused.kind in {"empty", "encoding", "not_json", "duplicate_key", "too_deep"}
        assert refused.message.isascii()
    elif fast is not UNSURE:
        assert findings == []
        assert same(fast, value)


@pytest.mark.parametrize(("text", "wanted"), [
    ("123456789012345678901234567890", 123456789012345678901234567890), ("9007199254740993", 2**53 + 1),
    ("-9223372036854775809", -(2**63) - 1), ("18446744073709551616", 2**64), ("1.0", 1.0), ("1", 1), ("-0.0", -0.0),
    ("1e22", 1e22), ("5e-324", 5e-324), ("1e-999", 0.0), ("0.1", 0.1), ('"\\ud83d\\udc3c"', "\U0001f43c"),
    ('"a\\u003ab"', "a:b"), ('"\u2028\u0085"', "\u2028\u0085"), ('"\\u0000"', "\x00"), ("\ufeff[1]", [1]), (" 1 ", 1),
])  # fmt: skip
def test_values_are_exact(text, wanted):
    value, findings = parse_json(text.encode())
    assert same(value, wanted)
    assert findings == []


@pytest.mark.parametrize("text", [
    '{"a": 1, "a": 2}', '{"x": {"a": 1, "a": 1}}', '[[{"a": 1, "b": 2, "a": 3}]]', '{"a": ":", "a": "::"}',
    '{"a\\u003a": 1, "a:": 2}', '{"\\u0061": 1, "a": 2}', '{"a": "\\u003a", "a": 2}',
    '{"a": "\\u003A\\u003a", "b": 1, "b": 2}',
    '{"": 1, "": 1}', '{"a": {"a": 1}, "b": {"b": {"c": 1, "c": "x:y"}}}',
])  # fmt: skip
def test_a_key_given_twice_is_refused_at_any_depth(text):
    with pytest.raises(UnreadableError, match="is given twice; which one holds is not known") as caught:
        parse_json(text.encode())
    assert caught.value.finding.kind == "duplicate_key"


@pytest.mark.parametrize(
    "text", ['{"a": "b:c", "d": ":"}', '{"a:b": ":", "c": {"a:b": "\\u003a"}}', '{"a": 1, "A": 2}']
)
def test_colons_in_texts_are_no_keys(text):
    assert parse_json(text.encode()) == (json.loads(text), [])


@pytest.mark.parametrize(("text", "wanted", "kinds"), [
    ("NaN", None, ["not_a_number"]), ("[1, NaN]", [1, None], ["not_a_number"]),
    ('{"a": Infinity, "b": -Infinity}', {"a": None, "b": None}, ["infinite", "infinite"]),
    ("1e999", None, ["infinite"]), ('{"a": {"b": [-1e400]}}', {"a": {"b": [None]}}, ["infinite"]),
    ('"\\ud800"', "\ud800", ["lone_surrogate"]), ('["\\udc00x"]', ["\udc00x"], ["lone_surrogate"]),
])  # fmt: skip
def test_what_json_does_not_have_is_said(text, wanted, kinds):
    value, findings = parse_json(text.encode())
    assert value == wanted
    assert [finding.kind for finding in findings] == kinds
    assert {finding.severity for finding in findings} == {"problem"}


def test_a_finding_says_where():
    _, findings = parse_json(b'{"a": {"b": [1, NaN]}}')
    assert findings[0].field == "a.b[1]"


@pytest.mark.parametrize(("data", "kind"), [
    (b"", "empty"), (b" \n", "empty"), (b"\xef\xbb\xbf", "empty"), (b'{"a": "\xff"}', "encoding"),
    (b"\xff\xfe{\x00", "encoding"),
    (b'{"a": "\xed\xa0\x80"}', "encoding"), (b"{", "not_json"), (b"{} {}", "not_json"), (b"{'a': 1}", "not_json"),
    (b"[1,]", "not_json"), (b'{"a": 01}', "not_json"), (b'"\t"', "not_json"), (b"nan", "not_json"),
    (b"1" * 5_000, "not_json"),
    (b"[" * 50_000 + b"]" * 50_000, "too_deep"), (b'{"a":' * 50_000 + b"1" + b"}" * 50_000, "too_deep"),
    (b"[" * 50_000, "too_deep"),
])  # fmt: skip
def test_what_cannot_be_used_is_refused(data, kind):
    with pytest.raises(UnreadableError) as caught:
        parse_json(data)
    assert caught.value.finding.kind == kind
    assert parse_fast(data) is UNSURE


def nested(levels, inside="1"):
    return ("[" * levels + inside + "]" * levels).encode()


def test_the_deepest_that_is_read():
    assert parse_json(nested(MAX_DEPTH))[1] == []
    with pytest.raises(UnreadableError):
        parse_json(nested(MAX_DEPTH + 1))
    assert parse_fast(nested(MAX_DEPTH)) is not UNSURE
    assert parse_fast(nested(MAX_DEPTH + 1)) is UNSURE


@pytest.mark.parametrize("text", ["[[[" * 60, '\\"[{' * 60, "\\\\", '\\\\\\"[' * 99])
def test_brackets_in_a_text_open_nothing(text):
    data = f'["{text}", [NaN]]'.encode()
    value, findings = parse_json(data)
    assert value[0] == json.loads(f'"{text}"')
    assert len(findings) == 1


def test_many_short_levels_are_not_deep():
    value = {"rows": [{"a": [1]}] * 500}
    assert parse_json(json.dumps(value).encode()) == (value, [])


def test_depth_counts_levels_not_brackets():
    assert [reading.depth(value) for value in (1, [], [[1], {"a": []}], {"a": {"b": {}}})] == [0, 1, 3, 3]


def test_a_large_payload_is_exact():
    value = {"text": "\u2028é\U0001f43c" * 400_000, "n": 10**29 + 1}
    data = json.dumps(value, ensure_ascii=False).encode()
    assert len(data) > 3_500_000
    assert parse_json(data) == (value, [])
    assert json.loads(to_json(value)) == value


def test_text_with_half_a_pair_can_be_stored_and_shown():
    assert clean_text("a\ud800b") == "a\\ud800b"
    assert to_json({"a": "\ud800"}) == r'{"a":"\\ud800"}'  # DuckDB refuses the escape itself
    with pytest.raises(ValueError):
        to_json({"a": "\ud800", "b": math.nan})


def test_a_file_and_its_stamp(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(b"abc")
    data, stamp = read_file(str(path))
    assert data == b"abc"
    assert stamp == reading.stamp_of(path.stat())


def kinds_of(path):
    with pytest.raises(UnreadableError) as caught:
        read_file(str(path))
    return caught.value.finding.kind, caught.value.finding.message


def test_what_is_no_file_is_refused_and_never_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "nowhere").symlink_to(tmp_path / "nothing")
    answers = {}
    watch = threading.Thread(target=lambda: answers.update(pipe=kinds_of(tmp_path / "pipe")), daemon=True)
    watch.start()
    watch.join(10)
    assert answers["pipe"] == ("not_a_file", "This is a named pipe, not a file; it was left alone.")
    assert kinds_of(tmp_path) == ("not_a_file", "This is a folder, not a file; it was left alone.")
    assert kinds_of(tmp_path / "loop")[1] == "This is a symbolic link that leads to itself; it was left alone."
    assert "gone, or is a symbolic link to nothing" in kinds_of(tmp_path / "nowhere")[1]
    assert kinds_of("/dev/null")[0] == "not_a_file"


def test_a_file_that_is_too_large_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "MAX_FILE_BYTES", 10)
    (tmp_path / "f").write_bytes(b"x" * 11)
    assert kinds_of(tmp_path / "f")[0] == "too_large"
    (tmp_path / "f").write_bytes(b"x" * 10)
    assert len(read_file(str(tmp_path / "f"))[0]) == 10


def test_nothing_is_left_open(tmp_path):
    before = len(os.listdir("/proc/self/fd"))
    for name in ("nothing", "."):
        with pytest.raises(UnreadableError):
            open_regular(str(tmp_path / name))
    (tmp_path / "f").write_bytes(b"")
    read_file(str(tmp_path / "f"))
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_read_that_fails_is_a_finding(tmp_path, monkeypatch):
    (tmp_path / "f").write_bytes(b"abc")

    def fail(*_arguments):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "read", fail)
    assert kinds_of(tmp_path / "f") == (
        "unreadable", "The file cannot be read (Input/output error); check its permissions."
    )  # fmt: skip
