"""Capturing, attaching, removing: the rules of the seed, in files that the reference harness reads and writes."""

from __future__ import annotations

import json
import os
import warnings
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from harnesskit.model.config import HarnessConfig
from harnesskit.model.errors import EvalSetFullWarning, LockedError, WorkspaceError
from harnesskit.workspace import atomic, case_view
from harnesskit.workspace.evalset_store import LOCK, EvalSet
from harnesskit.workspace.locking import hold


class Ticking:
    """A clock that goes on by a second each time it is asked."""

    def __init__(self):
        self.now = datetime(2026, 6, 1, 12, 0, tzinfo=UTC)

    def __call__(self):
        self.now += timedelta(seconds=1)
        return self.now


@pytest.fixture
def open_set(tmp_path):
    clock = Ticking()

    def opened(cap=200, **settings):
        return EvalSet(tmp_path, HarnessConfig(eval_case_max=cap, **settings), clock=clock)

    return opened


def events(root):
    path = root / "journal.jsonl"
    return [json.loads(line) for line in path.read_bytes().splitlines()] if path.exists() else []


def content(root):
    return {path.name: path.read_bytes() for path in (root / "evalset").iterdir()}


def drop_in(root, name, **fields):
    """Write a case file as somebody else would."""
    record = {
        "id": name, "created_at": "2026-01-01T00:00:00+00:00", "session_id": f"s-{name}", "kind": "failure",
        "signature": ["a"], "baseline_scores": {}, "replay_input": None, "notes": "", **fields,
    }  # fmt: skip
    (root / "evalset").mkdir(exist_ok=True)
    path = root / "evalset" / f"{name}.json"
    path.write_bytes(json.dumps(record).encode())
    return path


def test_a_capture_is_a_file_of_the_reference_and_an_event(open_set, tmp_path):
    case = open_set().capture(
        session_id="s-1", kind="win", signature=("healthy",), baseline_scores={"m": 1}, replay_input={"b": "é", "a": 1}
    )
    assert case.id[:2] == "c-"
    assert len(case.id) == 12
    assert int(case.id[2:], 16) >= 0
    assert content(tmp_path) == {
        f"{case.id}.json": (
            '{\n  "baseline_scores": {\n    "m": 1.0\n  },\n  "created_at": "2026-06-01T12:00:01+00:00",\n'
            f'  "id": "{case.id}",\n  "kind": "win",\n  "notes": "",\n  "replay_input": {{\n    "a": 1,\n'
            '    "b": "\\u00e9"\n  },\n  "session_id": "s-1",\n  "signature": [\n    "healthy"\n  ]\n}'
        ).encode("ascii")
    }
    event = {
        "type": "evalset_capture", "ts": "2026-06-01T12:00:02+00:00", "case_id": case.id, "session_id": "s-1",
        "kind": "win", "signatures": ["healthy"], "replayable": True,
    }  # fmt: skip
    assert events(tmp_path) == [event]
    assert EvalSet(tmp_path, HarnessConfig()).cases() == [case]


@pytest.mark.parametrize(
    ("name", "folder"),
    [
        ("small", "small/closed_loop_self_heal/workspace"),
        ("small_0.6.3", "small_0.6.3/closed_loop_self_heal/harness"),
        ("mid", "mid"),
    ],
)
def test_files_of_the_reference_are_listed_and_rewritten_byte_for_byte(shared, workspace_copy, name, folder):
    root = workspace_copy(folder)
    before = content(root)
    cases = EvalSet(root, HarnessConfig())
    listed = cases.cases()
    expected = json.loads((shared / "reference" / "expected" / name / "cases.json").read_bytes())["cases"]["ok"]
    assert [case.summary() for case in listed] == [
        {key: value for key, value in record.items() if key != "replay_input"} for record in expected
    ]
    for case in listed:
        cases.attach_input(case.id, case.replay_input)
    assert content(root) == before


def test_matching_lists_what_the_reference_lists(shared, workspace_copy):
    cases = EvalSet(workspace_copy("mid"), HarnessConfig())
    for query in json.loads((shared / "reference" / "expected" / "mid" / "matching.json").read_bytes()):
        signature = query["signature"] if isinstance(query["signature"], list) else [query["signature"]]
        assert [case.id for case in cases.matching(signature, query["kind"])] == query["ok"]


def test_a_messy_folder_is_read_around_its_bad_files(workspace_copy):
    root = workspace_copy("messy")
    cases = EvalSet(root, HarnessConfig(eval_case_max=0))
    before = cases.cases()
    assert len(before) > 50
    assert all(isinstance(case.created_at, str) and case.kind in ("failure", "win") for case in before)
    assert all(np.isfinite(list(case.baseline_scores.values())).all() for case in before)
    new = cases.capture(session_id="new", kind="win")
    assert [case.id for case in cases.cases()].count(new.id) == 1
    assert len(cases) == len(before) + 1


def test_the_same_session_labels_and_kind_are_one_case(open_set, tmp_path):
    cases = open_set()
    first = cases.capture(session_id="s", kind="failure", signature=("b", "a"), notes="first", replay_input=1)
    again = cases.capture(
        session_id="s", kind="failure", signature=("a", "b"), notes="second", baseline_scores={"m": 0}
    )
    assert again == first
    others = [
        cases.capture(session_id="s", kind="failure", signature=("a", "b", "b")),
        cases.capture(session_id="s", kind="win", signature=("a", "b")),
        cases.capture(session_id="t", kind="failure", signature=("a", "b")),
    ]
    assert len({first.id, *(case.id for case in others)}) == 4
    assert len(content(tmp_path)) == len(events(tmp_path)) == 4


def test_the_oldest_failure_makes_room_by_time_and_on_record(open_set, tmp_path):
    drop_in(tmp_path, "text-first", created_at="2026-06-01T10:00:00+00:00")
    drop_in(tmp_path, "time-first", created_at="2026-06-01T12:30:00+05:30")
    drop_in(tmp_path, "undated", created_at="")
    drop_in(tmp_path, "older-win", created_at="2020-01-01T00:00:00+00:00", kind="win")
    cases = open_set(cap=4)
    new = cases.capture(session_id="x", kind="failure")
    assert set(content(tmp_path)) == {"text-first.json", "undated.json", "older-win.json", f"{new.id}.json"}
    evicted, captured = events(tmp_path)
    assert evicted["type"] == "evalset_evict"
    assert (evicted["case_id"], evicted["file"]) == ("time-first", "evalset/time-first.json")
    assert new.id in evicted["reason"]
    assert captured["case_id"] == new.id
    for number in range(3):
        cases.capture(session_id=f"win-{number}", kind="win")
    kept = {case.session_id for case in cases.cases()}
    assert {"s-older-win", "win-0", "win-1", "win-2"} == kept


def test_a_set_full_of_wins_refuses_loudly(open_set, tmp_path):
    cases = open_set(cap=1)
    cases.capture(session_id="w", kind="win")
    before = content(tmp_path)
    for kind in ("failure", "win"):
        with pytest.warns(EvalSetFullWarning, match=rf"at most 1 cases, and all are wins.*The {kind} of session 'x'"):
            assert cases.capture(session_id="x", kind=kind) is None
    assert content(tmp_path) == before
    refused = {"type": "evalset_capture", "session_id": "x", "skipped": "cap"}
    assert [{**event, "ts": None} for event in events(tmp_path)[1:]] == [{**refused, "ts": None}] * 2


@pytest.mark.parametrize("cap", [0, -1])
def test_a_cap_of_zero_is_none(open_set, cap):
    cases = open_set(cap=cap)
    for number in range(3):
        cases.capture(session_id=str(number), kind="win")
    assert len(cases) == 3


def test_lowering_the_cap_never_shrinks_the_set(open_set):
    for number in range(4):
        open_set(cap=0).capture(session_id=str(number), kind="failure")
    open_set(cap=2).capture(session_id="x", kind="failure")
    assert len(open_set()) == 4


def deep(levels):
    value = 0
    for _ in range(levels):
        value = [value]
    return value


ITSELF: list = []
ITSELF.append(ITSELF)
UNWRITABLE = {
    "an object": object(),
    "NaN": {"x": float("nan")},
    "infinity": [float("inf")],
    "half a surrogate": {"x": "\ud800"},
    "a key that is half a surrogate": {"\udfff": 1},
    "two keys with one text": {1: "a", "1": "b"},
    "keys that cannot be sorted": {1: "a", "b": 2},
    "bytes": b"x",
    "too deep": deep(100),
    "far too deep": deep(5000),
    "itself": ITSELF,
}


@pytest.mark.parametrize("payload", UNWRITABLE.values(), ids=UNWRITABLE)
def test_what_cannot_be_written_changes_nothing(open_set, tmp_path, payload):
    cases = open_set(cap=1)
    case = cases.capture(session_id="s", kind="failure", replay_input=1)
    before, told = content(tmp_path), events(tmp_path)
    with pytest.raises(ValueError, match=r"cannot be written as JSON.*Nothing was changed"):
        cases.capture(session_id="t", kind="failure", replay_input=payload)
    with pytest.raises(ValueError, match=r"cannot be written as JSON.*Nothing was changed"):
        cases.attach_input(case.id, payload)
    assert (content(tmp_path), events(tmp_path)) == (before, told)


def test_the_deepest_payload_that_is_taken_can_be_read(open_set):
    case = open_set().capture(session_id="s", kind="win", replay_input=deep(99))
    assert open_set().get(case.id).replay_input == deep(99)


@pytest.mark.parametrize(
    ("argument", "value", "message"),
    [
        ("kind", "WIN", "'failure' .* or 'win' .*found 'WIN'.*did you mean 'win'"),
        ("kind", None, "found None"),
        ("signature", "healthy", "found the text 'healthy': give it in a tuple"),
        ("signature", (1,), "found 1"),
        ("signature", None, "found None"),
        ("baseline_scores", {"m": float("nan")}, "'m' is nan, not finite"),
        ("baseline_scores", {"m": 10**400}, "'m' is inf, not finite"),
        ("baseline_scores", {"m": "0.5"}, "'m' is '0.5', not a number"),
        ("baseline_scores", {"m": True}, "'m' is True, not a number"),
        ("baseline_scores", {"m": None}, "'m' is None, not a number"),
        ("baseline_scores", {"": 1}, "not empty"),
        ("baseline_scores", [1], "mapping of metric to number"),
        ("session_id", 7, "session_id is text; found 7"),
        ("session_id", "\ud800", "surrogate"),
        ("notes", None, "notes are text"),
    ],
)
def test_arguments_are_checked_before_anything_happens(open_set, tmp_path, argument, value, message):
    arguments = {"session_id": "s", "kind": "win", argument: value}
    with pytest.raises(ValueError, match=message):
        open_set().capture(**arguments)
    assert list(tmp_path.iterdir()) == []


def test_scores_of_other_number_types_are_plain_floats(open_set):
    scores = {"a": np.float32(0.5), "b": np.int64(1), "c": Fraction(1, 4), "d": -2}
    case = open_set().capture(session_id="s", kind="win", baseline_scores=scores)
    assert case.baseline_scores == {"a": 0.5, "b": 1.0, "c": 0.25, "d": -2.0}
    assert open_set().get(case.id) == case


def test_notes_are_put_on_one_line_and_cut(open_set):
    cases = open_set(sanitize_max_len=12)
    notes = " a\x00b\r\n\r\n c\u2028d\x1b[0m\ud800 and so on"
    assert cases.capture(session_id="s", kind="win", notes=notes).notes == "a b c d [0m\ufffd"


def test_attaching_changes_the_input_and_nothing_else(open_set, tmp_path):
    path = drop_in(tmp_path, "c-1", owner={"team": "a"}, replay_inputs="typo", baseline_scores={"m": float("nan")})
    cases = open_set()
    assert cases.attach_input("c-1", {"task": "x"}).replay_input == {"task": "x"}
    record = json.loads(path.read_bytes())
    assert (record["owner"], record["replay_inputs"], record["replay_input"]) == ({"team": "a"}, "typo", {"task": "x"})
    assert str(record["baseline_scores"]["m"]) == "nan"
    assert cases.get("c-1").baseline_scores == {}
    assert not cases.attach_input("c-1", None).replayable
    assert [(e["type"], e["case_id"], e["file"], e["replayable"]) for e in events(tmp_path)] == [
        ("evalset_attach", "c-1", "evalset/c-1.json", True),
        ("evalset_attach", "c-1", "evalset/c-1.json", False),
    ]


@pytest.mark.parametrize("value", [False, 0, "", [], {}])
def test_anything_but_null_can_be_replayed(open_set, value):
    case = open_set().capture(session_id="s", kind="win", replay_input=value)
    assert open_set().get(case.id).replayable


def test_removing_says_whether_there_was_one(open_set, tmp_path):
    cases = open_set()
    case = cases.capture(session_id="s", kind="win")
    assert cases.remove(case.id, reason="obsolete") is True
    assert cases.remove(case.id) is False
    assert cases.get(case.id) is None
    assert len(cases) == 0
    assert events(tmp_path)[-1]["type"] == "evalset_remove"
    assert events(tmp_path)[-1]["reason"] == "obsolete"


@pytest.mark.parametrize("case_id", ["../x", "..", ".", "", "a/b", "x" * 129, "\x00", None, 7, "c-unknown"])
def test_ids_that_are_no_ids_find_nothing_and_touch_nothing(open_set, tmp_path, case_id):
    drop_in(tmp_path, "c-1")
    cases = open_set()
    (tmp_path / "x.json").write_text("{}")
    assert cases.get(case_id) is None
    assert cases.remove(case_id) is False
    with pytest.raises(KeyError):
        cases.attach_input(case_id, 1)
    assert set(content(tmp_path)) == {"c-1.json"}
    assert (tmp_path / "x.json").read_text() == "{}"


def test_an_id_inside_a_file_is_never_a_path(open_set, tmp_path):
    target = tmp_path / "state" / "score_history.json"
    target.parent.mkdir()
    target.write_text("{}")
    drop_in(tmp_path, "trap", id="../state/score_history", created_at="2020-01-01T00:00:00+00:00")
    drop_in(tmp_path, "renamed", id="c-other", created_at="2020-01-02T00:00:00+00:00")
    drop_in(tmp_path, "c-other2", created_at="2020-01-03T00:00:00+00:00")
    cases = open_set(cap=3)
    cases.capture(session_id="x", kind="failure")
    assert not (tmp_path / "evalset" / "trap.json").exists()
    assert target.read_text() == "{}"
    cases.attach_input("c-other", {"a": 1})
    assert json.loads((tmp_path / "evalset" / "renamed.json").read_bytes())["replay_input"] == {"a": 1}
    assert not (tmp_path / "evalset" / "c-other.json").exists()
    cases.capture(session_id="y", kind="failure")
    assert not (tmp_path / "evalset" / "renamed.json").exists()
    assert [event["file"] for event in events(tmp_path) if event["type"] == "evalset_evict"] == [
        "evalset/trap.json",
        "evalset/renamed.json",
    ]


def test_an_id_in_two_files_is_never_guessed(open_set, tmp_path):
    for name in ("a", "b"):
        drop_in(tmp_path, name, id="dup")
    cases = open_set()
    assert len(cases.cases()) == 2
    for ask in (cases.get, cases.remove, lambda case_id: cases.attach_input(case_id, 1)):
        with pytest.raises(WorkspaceError, match=r"'dup' stands in two files.*a\.json, b\.json"):
            ask("dup")
    drop_in(tmp_path, "dup", notes="the one")
    assert cases.get("dup").notes == "the one"


def test_what_is_handed_out_is_the_callers_own(open_set):
    cases = open_set()
    cases.capture(session_id="s", kind="failure", signature=("a",), baseline_scores={"m": 1}, replay_input={"x": [1]})
    for ask in (cases.cases, lambda: cases.matching(("a",)), lambda: [cases.get(cases.cases()[0].id)]):
        ask()[0].replay_input["x"].append(2)
        ask()[0].baseline_scores["m"] = 9.0
        assert (ask()[0].replay_input, ask()[0].baseline_scores) == ({"x": [1]}, {"m": 1.0})


def test_a_case_is_an_ordinary_model(open_set):
    cases = open_set()
    case = cases.capture(session_id="s", kind="win", signature=("a", "a"), replay_input={"x": 1})
    assert type(case).model_validate(case.record()) == case
    assert case.model_copy(update={"notes": "n"}).notes == "n"
    assert json.loads(case.model_dump_json())["replay_input"] == {"x": 1}


def test_matching_is_exact_newest_first_and_empty_for_no_label(open_set):
    cases = open_set()
    first = cases.capture(session_id="1", kind="failure", signature=("a", "b"))
    second = cases.capture(session_id="2", kind="failure", signature=("b", "c"))
    win = cases.capture(session_id="3", kind="win", signature=("b",))
    assert cases.matching(["b", "c"]) == [second, first]
    assert cases.matching(["b"], kind=None) == [win, second, first]
    assert cases.matching({"b"}, kind="win") == [win]
    assert cases.matching(["B"]) == cases.matching([]) == []
    with pytest.raises(ValueError, match="give it in a tuple"):
        cases.matching("b")
    with pytest.raises(ValueError, match="found 'wins'"):
        cases.matching(["b"], kind="wins")
    with pytest.raises(ValueError, match="found 'wins'"):
        cases.cases("wins")


def test_reading_makes_nothing(open_set, tmp_path):
    cases = open_set()
    assert (cases.cases(), cases.matching(["a"]), cases.get("c-1"), cases.remove("c-1"), len(cases)) == (
        [], [], None, False, 0,
    )  # fmt: skip
    with pytest.raises(KeyError):
        cases.attach_input("c-1", 1)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_read_is_not_an_empty_set(open_set, tmp_path):
    (tmp_path / "evalset").write_text("a file")
    with pytest.raises(WorkspaceError, match="cannot be read"):
        open_set().cases()


@pytest.mark.parametrize("small", [256, 0], ids=["looks", "glances"])
def test_what_others_do_to_the_folder_is_seen(open_set, tmp_path, monkeypatch, small):
    monkeypatch.setattr(case_view, "SMALL", small)
    cases = open_set()
    mine = cases.capture(session_id="mine", kind="failure", signature=("a",))
    folder = tmp_path / "evalset"

    def settle():  # two changes within one tick of the system's clock have one time
        os.utime(folder, ns=(0, folder.stat().st_mtime_ns + 10**7))

    drop_in(tmp_path, "c-dropped")
    settle()
    assert [case.id for case in cases.matching(["a"])] == [mine.id, "c-dropped"]
    assert cases.capture(session_id="s-c-dropped", kind="failure", signature=("a",)).id == "c-dropped"
    edited = drop_in(tmp_path, "edited", id="c-dropped", signature=["b"])
    edited.replace(folder / "c-dropped.json")
    settle()
    assert [case.id for case in cases.matching(["b"])] == ["c-dropped"]
    assert cases.matching(["a"]) == [mine]
    (folder / "c-dropped.json").unlink()
    settle()
    assert cases.matching(["b"]) == []
    assert cases.get("c-dropped") is None


def test_an_edit_in_place_is_seen(open_set, tmp_path):
    path = drop_in(tmp_path, "c-1")
    cases = open_set()
    assert len(cases.matching(["a"])) == 1
    path.write_bytes(path.read_bytes().replace(b'"a"', b'"b"'))
    assert cases.matching(["a"]) == []
    assert cases.matching(["b"]) == cases.cases()


def test_a_failure_that_became_a_win_is_not_evicted(open_set, tmp_path, monkeypatch):
    monkeypatch.setattr(case_view, "SMALL", 0)
    path = drop_in(tmp_path, "c-1")
    cases = open_set(cap=2)
    second = cases.capture(session_id="2", kind="failure")
    path.write_bytes(path.read_bytes().replace(b"failure", b"win"))  # in place: nothing in the folder tells of it
    third = cases.capture(session_id="3", kind="failure")
    assert set(content(tmp_path)) == {"c-1.json", f"{third.id}.json"}
    assert cases.get(second.id) is None


def test_two_open_sets_follow_each_other_without_a_look(open_set, tmp_path, monkeypatch):
    monkeypatch.setattr(case_view, "SMALL", 0)
    one, two = open_set(cap=3), open_set(cap=3)
    for cases in (one, two):
        cases.capture(session_id="first", kind="failure", signature=("a",))
    monkeypatch.setattr(case_view, "look", None)  # from here on, a look at the folder fails
    for number in range(12):
        writer, reader = (one, two) if number % 2 else (two, one)
        case = writer.capture(session_id=str(number), kind="failure", signature=("a",))
        if number == 5:
            writer.attach_input(case.id, {"n": 5})
        assert reader.matching(["a"])[0] == reader.get(case.id) == writer.get(case.id)
    assert [case.session_id for case in one.matching(["a"])] == ["11", "10", "9"]


def test_a_holder_of_the_lock_is_named(open_set, tmp_path):
    cases = open_set()
    case = cases.capture(session_id="s", kind="win")
    cases.lock_timeout_s = 0.02
    with hold(tmp_path / LOCK, "take its time"):
        for change in (
            lambda: cases.capture(session_id="t", kind="win"),
            lambda: cases.attach_input(case.id, 1),
            lambda: cases.remove(case.id),
        ):
            with pytest.raises(LockedError, match=rf"process {os.getpid()} on .* to take its time"):
                change()
        assert cases.cases() == [case]  # reading does not wait
    assert cases.remove(case.id)


@pytest.mark.parametrize("call", ["write", "fsync", "fdatasync"])
@pytest.mark.parametrize("change", ["capture", "evict", "attach", "remove"])
def test_a_full_disk_leaves_the_set_as_it_was(open_set, tmp_path, monkeypatch, call, change):
    cases = open_set(cap=2)
    case = cases.capture(session_id="s", kind="failure")
    if change == "evict":
        cases.capture(session_id="t", kind="failure")
    before = content(tmp_path)

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(*((atomic, "_sync_data") if call == "fdatasync" else (os, call)), full)
        if (change, call) == ("remove", "fsync"):  # nothing but the name of the removed file is at stake
            assert cases.remove(case.id)
            return
        changes = {
            "attach": lambda: cases.attach_input(case.id, {"x": 1}),
            "remove": lambda: cases.remove(case.id),
        }
        with pytest.raises(WorkspaceError, match="No space left"):
            changes.get(change, lambda: cases.capture(session_id="new", kind="failure"))()
    assert content(tmp_path) == before
    assert {f"{case.id}.json" for case in cases.cases()} == set(before)
    assert cases.capture(session_id="new", kind="failure") is not None


def test_no_warning_is_given_without_need(open_set):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cases = open_set(cap=1)
        for number in range(3):
            cases.capture(session_id=str(number), kind="failure")


def test_a_root_may_be_a_link(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    case = EvalSet(tmp_path / "link", HarnessConfig()).capture(session_id="s", kind="win")
    assert EvalSet(Path(tmp_path / "real"), HarnessConfig()).cases() == [case]
