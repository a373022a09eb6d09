"""Label files as people write them: every sane one is read, every odd row is named, nothing is guessed."""

from __future__ import annotations

from pathlib import Path

import pytest

import harnesskit as hk

WANTED = [("s-1", True), ("s-2", False)]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", b"session_id,failed\ns-1,true\ns-2,false\n"),
        ("bom.csv", b"\xef\xbb\xbfsession_id,failed\r\ns-1,1\r\ns-2,0\r\n"),
        ("semicolon.csv", b"Session_ID;Failed\ns-1;F\ns-2;ok\n"),
        ("tab.TSV", b"SESSION\tFAILED\ns-1\tx\ns-2\tpassed\n"),
        ("words.csv", b'"session","label"\n"s-1"," Failed "\n"s-2","No"\n'),
        ("a.json", b'{"s-1": true, "s-2": false}'),
        ("list.json", b'\xef\xbb\xbf[{"session": "s-1", "failed": "yes"}, {"session": "s-2", "failed": 0}]'),
        ("a.jsonl", b'{"session_id": "s-1", "failed": true}\n\n{"session_id": "s-2", "failed": false}\n'),
        ("one_line.jsonl", b'{"session_id": "s-1", "failed": true}\n{"session_id": "s-2", "failed": "n"}'),
    ],
)
def test_any_sane_file_is_read(tmp_path: Path, name: str, content: bytes):
    (tmp_path / name).write_bytes(content)
    labels = hk.read_labels(tmp_path / name)
    assert list(zip(labels["session_id"], labels["failed"], strict=True)) == WANTED
    assert labels.attrs["problems"] == []


def test_one_object_of_one_label(tmp_path: Path):
    (tmp_path / "l.jsonl").write_text('{"session_id": "s-1", "failed": true}\n')
    assert hk.read_labels(tmp_path / "l.jsonl")["session_id"].tolist() == ["s-1"]


def test_bad_rows_are_problems_and_cost_no_good_one(tmp_path: Path):
    lines = ["session_id,failed,rater,at", "s-1,true,jo,2026-01-01", "s-2,perhaps,jo,", ",true,jo,", "s-4,nan,jo,"]
    (tmp_path / "l.csv").write_text("\n".join([*lines, "s-5,no,jo,yesterday", "007,no,jo,"]))
    labels = hk.read_labels(tmp_path / "l.csv")
    assert labels["session_id"].tolist() == ["s-1", "007"]
    found = [(one["line"], one["field"], one["kind"]) for one in labels.attrs["problems"]]
    assert found == [(3, "failed", "not_a_flag"), (4, "session_id", "no_id"), (5, "failed", "not_a_flag"),
                     (6, "at", "bad_time")]  # fmt: skip
    assert "perhaps" in labels.attrs["problems"][0]["message"]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("none.csv", b"session_id,failed\n", "no usable label"),
        ("empty.json", b"{}", "no usable label"),
        ("blank.csv", b"", "no column"),
        ("other.csv", b"run,verdict\na,b\n", "no column 'session_id'"),
        ("latin.csv", "session_id,failed\nMüller,true\n".encode("latin-1"), "not UTF-8"),
        ("words.csv", b"session_id,failed\ns-1,perhaps\n", "line 2"),
        ("broken.json", b'{"s-1": tr', "not JSON"),
    ],
)
def test_no_label_is_an_error_that_says_why(tmp_path: Path, name: str, content: bytes, said: str):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(hk.WorkspaceError, match=said):
        hk.read_labels(tmp_path / name)
    with pytest.raises(hk.WorkspaceError, match="cannot be read"):
        hk.read_labels(tmp_path / "absent.csv")
