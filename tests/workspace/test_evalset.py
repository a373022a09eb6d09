"""The folder of cases: which files are read, which changed, and that one odd file costs only itself."""

from __future__ import annotations

import hashlib
import json
import os
import threading

import pytest

from harnesskit.workspace import evalset
from harnesskit.workspace.evalset import look, printable, read_cases
from harnesskit.workspace.reading import NOWHERE, UNREAD, stamp_of

CASE = {
    "id": "c", "created_at": "2026-06-01T10:00:00+00:00", "session_id": "s", "kind": "win", "signature": [],
    "baseline_scores": {}, "notes": "",
}  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "evalset").mkdir()
    return tmp_path / "evalset"


def put(folder, name, value=None, **more):
    data = value if isinstance(value, bytes) else json.dumps({**CASE, **more} if value is None else value).encode()
    path = os.fsencode(folder) + b"/" + (name if isinstance(name, bytes) else name.encode())
    with open(path, "wb") as file:  # noqa: PTH123 - names that are no text
        file.write(data)


def load(folder, known=None):
    """Look and read: rows, problems, names read."""
    known = {} if known is None else known
    names, gone, notes = look(folder.parent, known)
    for name in gone:
        del known[name]
    rows, problems = [], list(notes)
    for some, said in read_cases(folder.parent, names, known):
        rows += some
        problems += said
    return rows, problems, names


def kinds(problems):
    return sorted((problem.file, problem.kind) for problem in problems)


def test_the_files_that_are_read(folder):
    for name in ("a.json", ".hidden.json", ".json", "with space.json", "a.b.json", "-x.json", "é.json"):
        put(folder, name, id=name)
    for name in ("a.json.123.0123456789abcdef0123456789abcdef.tmp", "notes.txt", "json", "x.jsonl", "x.json~"):
        put(folder, name, b"not read")
    rows, problems, _ = load(folder)
    assert sorted(row.case_id for row in rows) == sorted(
        [".hidden.json", ".json", "-x.json", "a.b.json", "a.json", "with space.json", "é.json"]
    )
    assert problems == []
    assert {row.file for row in rows} == {f"evalset/{row.case_id}" for row in rows}


def test_what_looks_like_a_case_but_is_not_read_is_noted(folder):
    put(folder, "A.JSON")
    put(folder, "b.Json")
    (folder / "sub").mkdir()
    put(folder / "sub", "c.json")
    rows, problems, _ = load(folder)
    assert rows == []
    assert kinds(problems) == [
        ("evalset/A.JSON", "other_suffix"), ("evalset/b.Json", "other_suffix"), ("evalset/sub", "sub_folder"),
    ]  # fmt: skip
    assert {problem.severity for problem in problems} == {"note"}


def test_the_hash_is_that_of_the_bytes(folder):
    data = json.dumps(CASE, indent=4).encode() + b"\n \n"
    put(folder, "a.json", data)
    assert load(folder)[0][0].content_hash == hashlib.sha256(data).hexdigest()


HOSTILE = {
    "bad_byte": (json.dumps({**CASE, "notes": "x"}).encode().replace(b'"x"', b'"\xff"'), "encoding"),
    "utf16": (json.dumps(CASE).encode("utf-16"), "encoding"),
    "empty": (b"", "empty"),
    "cut": (json.dumps(CASE).encode()[:-5], "not_json"),
    "two": (json.dumps(CASE).encode() * 2, "not_json"),
    "list": (b"[1]", "not_an_object"),
    "no_id": (json.dumps({**CASE, "id": ""}).encode(), "no_id"),
    "deep": (b'{"id": "d", "replay_input": ' + b"[" * 50_000 + b"]" * 50_000 + b"}", "too_deep"),
    "twice": (b'{"id": "d", "id": "e"}', "duplicate_key"),
    "twice_inside": (json.dumps(CASE).encode()[:-1] + b', "replay_input": {"a": {"b": 1, "b": ":"}}}', "duplicate_key"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_file_that_cannot_be_used_costs_only_itself(folder, name):
    data, kind = HOSTILE[name]
    put(folder, "a.json", id="a")
    put(folder, "bad.json", data)
    put(folder, "z.json", id="z")
    rows, problems, _ = load(folder)
    assert [row.case_id for row in rows] == ["a", "z"]
    assert kinds(problems) == [("evalset/bad.json", kind)]
    assert problems[0].severity == "problem"
    assert problems[0].message.isprintable()


def test_a_mark_at_the_beginning_is_no_harm(folder):
    put(folder, "a.json", b"\xef\xbb\xbf" + json.dumps(CASE).encode())
    rows, problems, _ = load(folder)
    assert (len(rows), problems) == (1, [])


def test_odd_values_are_kept_and_said_once(folder):
    text = json.dumps({**CASE, "baseline_scores": {"a": 1111, "b": 2222, "c": 3333}, "notes": "\ud800"})
    put(folder, "a.json", text.replace("1111", "NaN").replace("2222", "1e999").replace("3333", "-Infinity").encode())
    rows, problems, _ = load(folder)
    assert rows[0].baseline_scores == '{"a":null,"b":null,"c":null}'
    assert rows[0].notes == "\\ud800"
    assert sorted((problem.field, problem.kind) for problem in problems) == [
        ("baseline_scores.a", "not_a_number"), ("baseline_scores.b", "infinite"), ("baseline_scores.c", "infinite"),
        ("notes", "lone_surrogate"),
    ]  # fmt: skip


def test_payloads_are_exact(folder):
    payload = {"n": 123456789012345678901234567890, "text": "\u2028\u2029\u0085\x00é\U0001f43c", "x": 1.0, "": [None]}
    for name, ascii_only in (("a.json", True), ("b.json", False)):
        put(folder, name, json.dumps({**CASE, "replay_input": payload}, ensure_ascii=ascii_only).encode())
    put(folder, "large.json", replay_input={"text": "x:é" * 1_700_000})
    rows, problems, _ = load(folder)
    assert problems == []
    assert [json.loads(row.replay_input) for row in rows[:2]] == [payload, payload]
    assert rows[0].replay_input == rows[1].replay_input
    assert '"x":1.0' in rows[0].replay_input
    assert len(rows[2].replay_input) > 5_000_000
    assert json.loads(rows[2].replay_input)["text"] == "x:é" * 1_700_000


def test_what_is_no_file_is_one_problem_each_and_nothing_hangs(folder):
    put(folder, "a.json")
    (folder / "dir.json").mkdir()
    os.mkfifo(folder / "pipe.json")
    (folder / "loop.json").symlink_to("loop.json")
    (folder / "nowhere.json").symlink_to("nothing")
    put(folder.parent, "outside", id="linked")
    (folder / "link.json").symlink_to(folder.parent / "outside")
    known, found = {}, []
    watch = threading.Thread(target=lambda: found.extend(load(folder, known)), daemon=True)
    watch.start()
    watch.join(20)
    assert found, "reading a pipe must not wait for a writer"
    rows, problems, _ = found
    assert sorted(row.case_id for row in rows) == ["c", "linked"]
    assert kinds(problems) == [
        ("evalset/dir.json", "not_a_file"), ("evalset/loop.json", "unreadable"),
        ("evalset/nowhere.json", "unreadable"), ("evalset/pipe.json", "not_a_file"),
    ]  # fmt: skip
    assert known["nowhere.json"] == known["loop.json"] == NOWHERE
    assert load(folder, known) == ([], [], [])


def test_a_name_that_is_no_text(folder):
    put(folder, b"\xff\xfe.json", id="odd")
    put(folder, b"bad\xff.json", b"{")
    rows, problems, names = load(folder)
    assert [row.file for row in rows] == ["evalset/\\xff\\xfe.json"]
    assert kinds(problems) == [("evalset/bad\\xff.json", "not_json")]
    assert len(names) == 2
    assert printable("a\udcffé") == "a\\xffé"


def test_only_what_changed_is_read_again(folder):
    known = {}
    for name in ("a.json", "b.json", "c.json"):
        put(folder, name, id=name)
    load(folder, known)
    assert load(folder, known) == ([], [], [])
    put(folder, "b.json", id="b.json", notes="longer")
    put(folder, "d.json", id="d.json")
    (folder / "a.json").unlink()
    assert look(folder.parent, known).gone == ["a.json"]
    assert sorted(load(folder, known)[2]) == ["b.json", "d.json"]
    assert sorted(known) == ["b.json", "c.json", "d.json"]
    assert known["c.json"] == stamp_of((folder / "c.json").stat())


def test_a_look_opens_no_file(folder, monkeypatch):
    known = {}
    put(folder, "a.json")
    load(folder, known)
    monkeypatch.setattr(os, "open", None)
    assert look(folder.parent, known) == ([], [], [])


def test_a_file_that_could_not_be_read_is_tried_again(folder, monkeypatch):
    known = {}
    put(folder, "a.json")

    def fail(*_arguments):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "read", fail)
    rows, problems, _ = load(folder, known)
    assert rows == []
    assert kinds(problems) == [("evalset/a.json", "unreadable")]
    assert known == {"a.json": UNREAD}
    monkeypatch.undo()
    assert [row.case_id for row in load(folder, known)[0]] == ["c"]


def test_many_files_come_in_parts(folder, monkeypatch):
    monkeypatch.setattr(evalset, "CHUNK", 3)
    for n in range(8):
        put(folder, f"{n}.json", id=str(n))
    names = look(folder.parent, {}).names
    parts = [len(rows) for rows, _ in read_cases(folder.parent, names, {})]
    assert parts == [3, 3, 2]


def test_a_folder_that_goes_away_after_the_look(folder):
    put(folder, "a.json")
    names = look(folder.parent, {}).names
    (folder / "a.json").unlink()
    folder.rmdir()
    assert list(read_cases(folder.parent, names, {})) == []


def test_no_folder_and_a_file_in_its_place(tmp_path):
    assert look(tmp_path, {}) == ([], [], [])
    assert look(tmp_path, {"a.json": UNREAD}).gone == ["a.json"]
    (tmp_path / "evalset").write_text("x")
    names, gone, notes = look(tmp_path, {"a.json": UNREAD})
    assert (names, gone) == ([], ["a.json"])
    assert kinds(notes) == [("evalset", "unreadable")]
