"""One case file: the usual one the quick way, every other one by stated rules, and both ways say the same."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harnesskit.model.frames import CASES
from harnesskit.model.text import visible
from harnesskit.workspace.cases import CaseRow, interpret, plain_row, signature_key
from harnesskit.workspace.problems import UnreadableError
from harnesskit.workspace.reading import parse_json

USUAL = {
    "baseline_scores": {"task_completion": 0.9, "coherence": 1},
    "created_at": "2026-06-01T10:00:00.123456+00:00",
    "id": "c-0123456789",
    "kind": "win",
    "notes": "a: b",
    "replay_input": {"task": "charge $42: é"},
    "session_id": "s-1",
    "signature": ["breach:b", "breach:a", "breach:b"],
}


def read(value):
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return interpret(parse_json(data)[0], "evalset/x.json", "digest")


def said(value):
    return sorted((finding.field, finding.kind) for finding in read(value)[1])


def without(name):
    return {key: value for key, value in USUAL.items() if key != name}


def test_the_usual_case():
    row, findings = read(USUAL)
    assert findings == []
    assert row == CaseRow(
        case_id="c-0123456789",
        kind="win",
        session_id="s-1",
        created_at=datetime(2026, 6, 1, 10, 0, 0, 123456),  # noqa: DTZ001 - UTC by contract
        signature=["breach:b", "breach:a", "breach:b"],
        signature_key='["breach:a","breach:b","breach:b"]',
        baseline_scores='{"task_completion":0.9,"coherence":1}',
        replay_input='{"task":"charge $42: é"}',
        replayable=True,
        notes="a: b",
        file="evalset/x.json",
        content_hash="digest",
    )
    assert list(CaseRow._fields) == list(CASES.columns)


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("value", [USUAL, without("replay_input"), {**USUAL, "replay_input": None},
                                   {**USUAL, "signature": []},
                                   {**USUAL, "baseline_scores": {}}, {**USUAL, "replay_input": False},
                                   {**USUAL, "created_at": "2026-06-01T10:00:00+00:00"}])  # fmt: skip
def test_what_the_reference_writes_takes_the_quick_way(value, indent):
    data = json.dumps(value, indent=indent, sort_keys=True).encode()
    row = plain_row(data, "evalset/x.json", "digest")
    assert row is not None
    assert row == read(data)[0]
    assert said(data) == []


TEXT = st.text(max_size=6) | st.sampled_from(["a:b", "\ud800", "\\u003a", "", "\x00", "2026", "é\u2028"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.integers(2**60, 2**80) | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
TIMES = st.one_of(
    st.datetimes().map(lambda at: at.replace(tzinfo=UTC).isoformat()),
    st.datetimes().map(lambda at: at.isoformat()),
    st.sampled_from([
        "2026-06-01T10:00:00Z", "2026-06-01 10:00:00+00:00", "2026-06-01T10:00:00+05:30", "2026-06-01T10:00:00-00:00",
        "2026-W23-1T10:00:00+00:00", "20260601T100000+00:00", " 2026-06-01T10:00:00+00:00",
        "2026-06-01T10:00:00,123456+00:00", "2026-06-01T10:00:00.123+00:00", "2026-06-01T25:00:00+00:00",
        "2026-06-01T24:00:00+00:00", "2026-06-01T10:00+00:00:00",
        "0001-01-01T00:00:00+00:00", "9999-12-31T23:59:59.999999+00:00", "2026-06-01T10:00:00.123456789+00:00", "",
        "2026-06-01T10:00:0\uff10+00:00", "2026-06-01T10:00:00+01:00+00:00", "2026-06-01T10:00:00Z+00:00",
    ]),
)  # fmt: skip
SCORES = st.dictionaries(
    TEXT,
    st.floats() | st.integers() | st.sampled_from([10**30, 10**308, -(10**309), 10**400, True, None, "0.5", 1e308]),
    max_size=4,
)  # fmt: skip
FIELDS = {
    "id": TEXT | JSON, "session_id": TEXT | JSON, "created_at": TIMES | JSON, "notes": TEXT | JSON,
    "kind": st.sampled_from(["win", "failure", "WIN", None, 1]) | JSON,
    "signature": st.lists(TEXT, max_size=4) | JSON, "baseline_scores": SCORES | JSON,
}  # fmt: skip


def cases_like(strength):
    """Case objects in which few fields are odd, so that the quick way is taken often enough to be tested."""
    plain = {name: st.just(USUAL[name]) for name in FIELDS}
    odd = st.sets(st.sampled_from(sorted(FIELDS)), max_size=strength)
    return odd.flatmap(
        lambda names: st.fixed_dictionaries(
            {name: FIELDS[name] if name in names else plain[name] for name in FIELDS},
            optional={"replay_input": JSON, "other": JSON, "Kind": TEXT},
        )
    )


@settings(max_examples=400, deadline=None)
@given(cases_like(2), st.booleans(), st.randoms(use_true_random=False))
def test_both_ways_agree_on_any_object(value, ascii_only, random):
    items = list(value.items())
    random.shuffle(items)
    data = json.dumps(dict(items), ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    quick = plain_row(data, "evalset/x.json", "digest")
    if quick is None:
        return
    parsed, findings = parse_json(data)
    row, more = interpret(parsed, "evalset/x.json", "digest")
    assert findings == more == []
    assert quick == row
    assert [type(item) for item in quick] == [type(item) for item in row]


@settings(max_examples=200, deadline=None)
@given(cases_like(4))
def test_no_object_raises_anything_but_a_missing_id(value):
    parsed, _ = parse_json(json.dumps(value).encode())
    if (
        value["id"] in ("", None)
        or isinstance(value["id"], bool | list | dict)
        or value["id"] != value["id"]
        or (isinstance(value["id"], float) and math.isinf(value["id"]))
    ):
        with pytest.raises(UnreadableError, match="A case needs an id"):
            interpret(parsed, "f", "d")
        return
    row, findings = interpret(parsed, "f", "d")
    assert row.case_id
    for text in (
        row.case_id,
        row.session_id or "",
        row.notes or "",
        *row.signature,
        row.signature_key,
        row.baseline_scores,
    ):
        text.encode("utf-8")
    assert json.loads(row.signature_key) == sorted(row.signature)
    assert all(isinstance(score, float | int | None) for score in json.loads(row.baseline_scores).values())
    assert all(visible(finding.message) == finding.message for finding in findings)


@pytest.mark.parametrize("text", [
    '"id": "a", "id": "a"', '"replay_input": {"x": 1, "x": 1}', '"baseline_scores": {"m": 1, "m": 0}',
    '"notes": "::", "notes": ":"', '"replay_input": {"x": "\\u003a", "x": ":"}',
    '"replay_input": {"x:": 1, "x\\u003a": 1}',
    '"kind": "win", "kind": "failure"', '"signature": [":"], "signature": ["::"]',
])  # fmt: skip
def test_the_quick_way_never_lets_one_of_two_keys_win(text):
    names = {part.split('"')[1] for part in text.split(", ") if part.startswith('"')}
    rest = json.dumps({key: value for key, value in USUAL.items() if key not in names})[1:]
    data = f"{{{text}, {rest}".encode()
    assert plain_row(data, "f", "d") is None
    with pytest.raises(UnreadableError, match="given twice"):
        parse_json(data)


@pytest.mark.parametrize(
    "number", ["123456789012345678901234567890", "9007199254740993", "18446744073709551616", "-0.0", "1"]
)
def test_numbers_of_a_payload_and_scores_are_exact_both_ways(number):
    text = json.dumps({**USUAL, "baseline_scores": {"m": 7777}, "replay_input": {"n": 7777}}).replace("7777", number)
    row, _ = read(text.encode())
    assert row.replay_input == f'{{"n":{number}}}'
    quick = plain_row(text.encode(), "evalset/x.json", "digest")
    assert quick is None or quick == row


@pytest.mark.parametrize(("change", "wanted", "findings"), [
    ({"id": 12345}, {"case_id": "12345"}, [("id", "not_text")]),
    ({"id": 1.5}, {"case_id": "1.5"}, [("id", "not_text")]),
    ({"id": "a\ud800"}, {"case_id": "a\\ud800"}, [("id", "lone_surrogate")]),
    ({"kind": "WIN"}, {"kind": "failure"}, [("kind", "bad_kind")]),
    ({"kind": None}, {"kind": "failure"}, [("kind", "bad_kind")]),
    ({"kind": ["win"]}, {"kind": "failure"}, [("kind", "bad_kind")]),
    ({"session_id": None}, {"session_id": None}, [("session_id", "no_text")]),
    ({"session_id": 5}, {"session_id": "5"}, [("session_id", "not_text")]),
    ({"notes": None}, {"notes": None}, [("notes", "no_text")]),
    ({"notes": True}, {"notes": "True"}, [("notes", "not_text")]),
    ({"signature": "healthy"}, {"signature": [], "signature_key": "[]"}, [("signature", "bad_signature")]),
    ({"signature": ["a", None, 1]}, {"signature": ["a", "None", "1"]}, [("signature", "label_not_text")]),
    ({"baseline_scores": None}, {"baseline_scores": "{}"}, [("baseline_scores", "no_baseline")]),
    ({"baseline_scores": {"m": True}}, {"baseline_scores": '{"m":null}'}, [("baseline_scores.m", "not_a_number")]),
    ({"baseline_scores": {"m": "0.5"}}, {"baseline_scores": '{"m":null}'}, [("baseline_scores.m", "not_a_number")]),
    ({"baseline_scores": {"m": None}}, {"baseline_scores": '{"m":null}'}, []),
    ({"baseline_scores": {"m": -3, "n": 2.5}}, {"baseline_scores": '{"m":-3,"n":2.5}'}, []),
    ({"baseline_scores": {"m": 10**400}}, {"baseline_scores": '{"m":null}'}, [("baseline_scores.m", "too_large")]),
    ({"baseline_scores": {"m": 10**309, "n": -(10**309)}}, {"baseline_scores": '{"m":null,"n":null}'},
     [("baseline_scores.m", "too_large"), ("baseline_scores.n", "too_large")]),
    ({"baseline_scores": {"": 1}}, {"baseline_scores": "{}"}, [("baseline_scores", "empty_metric")]),
    ({"replay_input": 0}, {"replay_input": "0", "replayable": True}, []),
    ({"replay_input": ""}, {"replay_input": '""', "replayable": True}, []),
    ({"replay_input": None}, {"replay_input": None, "replayable": False}, []),
    ({"created_at": None}, {"created_at": None}, [("created_at", "bad_time")]),
    ({"created_at": "yesterday"}, {"created_at": None}, [("created_at", "bad_time")]),
    ({"created_at": "2026-06-01"}, {"created_at": datetime(2026, 6, 1)}, [("created_at", "time_without_zone")]),  # noqa: DTZ001
    ({"signatures": []}, {}, [("signatures", "misspelt_field")]),
    ({"zzz": 1}, {}, [("zzz", "unknown_field")]),
], ids=str)  # fmt: skip
def test_odd_fields_are_read_by_a_rule_that_is_said(change, wanted, findings):
    row, _ = read({**USUAL, **change})
    assert {name: getattr(row, name) for name in wanted} == wanted
    assert said({**USUAL, **change}) == findings
    usual = read(USUAL)[0]
    for name in set(CaseRow._fields) - set(change) - {"case_id", "signature_key", "replayable"}:
        assert getattr(row, name) == getattr(usual, name)


@pytest.mark.parametrize("name", ["created_at", "kind", "session_id", "signature", "baseline_scores"])
def test_a_field_that_is_missing_is_said(name):
    assert [field for field, _ in said(without(name))] == [name]


@pytest.mark.parametrize("name", ["notes", "replay_input"])
def test_a_field_that_may_be_missing(name):
    assert said(without(name)) == []


@pytest.mark.parametrize("value", [{}, without("id"), {**USUAL, "id": ""}, {**USUAL, "id": None}, {**USUAL, "id": True},
                                   {**USUAL, "id": []}])  # fmt: skip
def test_without_an_id_there_is_no_case(value):
    with pytest.raises(UnreadableError, match="A case needs an id that is text and not empty") as caught:
        read(value)
    assert (caught.value.finding.field, caught.value.finding.kind) == ("id", "no_id")


@pytest.mark.parametrize(("value", "name"), [(b"[]", "list"), (b"null", "null"), (b'"x"', "text"), (b"3", "number"),
                                             (b"true", "true")])  # fmt: skip
def test_what_is_no_object_is_no_case(value, name):
    with pytest.raises(UnreadableError, match="A case is a JSON object") as caught:
        read(value)
    assert name in caught.value.finding.message


def test_equal_signatures_have_equal_keys():
    assert signature_key(["b", "a"]) == signature_key(["a", "b"]) == '["a","b"]'
    assert signature_key(["a", "a"]) != signature_key(["a"])
    assert signature_key(["A"]) != signature_key(["a"])
    assert signature_key(['a","b']) != signature_key(["a", "b"])
    assert signature_key([]) == "[]"
