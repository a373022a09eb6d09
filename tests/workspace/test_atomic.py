"""Atomic files and appended lines."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest

from harnesskit.model.errors import WorkspaceError
from harnesskit.workspace import atomic


def test_a_file_is_replaced_and_nothing_else_is_left(tmp_path):
    path = tmp_path / "case.json"
    path.write_bytes(b"old")
    atomic.write_atomic(path, b"new")
    assert path.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["case.json"]


def test_the_draft_has_the_name_that_readers_ignore(tmp_path, monkeypatch):
    seen = []
    rename = Path.replace
    monkeypatch.setattr(Path, "replace", lambda draft, to: (seen.append(draft.name), rename(draft, to))[1])
    atomic.write_atomic(tmp_path / "case.json", b"{}")
    name, pid, code, end = seen[0].rsplit(".", 3)
    assert (name, pid, end) == ("case.json", str(os.getpid()), "tmp")
    assert len(code) == 32
    assert set(code) <= set("0123456789abcdef")


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failure_keeps_the_old_content_and_cleans_up(tmp_path, monkeypatch, step):
    path = tmp_path / "case.json"
    path.write_bytes(b"old")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os if step == "fsync" else Path, step, full)
    with pytest.raises(WorkspaceError, match=r"cannot write .*case\.json: No space left.*check"):
        atomic.write_atomic(path, b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["case.json"]


def test_an_interrupt_cleans_up_too(tmp_path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        atomic.write_atomic(tmp_path / "case.json", b"new")
    assert os.listdir(tmp_path) == []


def test_a_torn_last_line_loses_only_itself(tmp_path):
    path = tmp_path / "samples.jsonl"
    atomic.append_line(path, b'{"n": 1}')
    atomic.append_line(path, b'{"n": 2, "text": "cut off"}')
    whole = path.read_bytes()
    for cut in range(len(b'{"n": 1}\n') + 1, len(whole)):  # every byte at which a crash can cut the second line
        path.write_bytes(whole[:cut])
        atomic.append_line(path, b'{"n": 3}')
        lines = path.read_bytes().split(b"\n")
        assert json.loads(lines[0]) == {"n": 1}
        assert json.loads(lines[2]) == {"n": 3}
        assert lines[3:] == [b""]


def test_a_line_is_one_line(tmp_path):
    with pytest.raises(ValueError, match=r"log\.jsonl holds a newline"):
        atomic.append_line(tmp_path / "log.jsonl", b"a\nb")


def test_a_pipe_is_refused_without_waiting(tmp_path):
    os.mkfifo(tmp_path / "log.jsonl")
    with pytest.raises(WorkspaceError, match=r"log\.jsonl"):
        atomic.append_line(tmp_path / "log.jsonl", b"{}")


def test_lines_of_several_writers_stay_whole(tmp_path):
    path = tmp_path / "log.jsonl"

    def write(who):
        for n in range(40):
            atomic.append_line(path, atomic.json_line_bytes({"who": who, "n": n, "text": "x" * 500}))

    writers = [threading.Thread(target=write, args=(who,)) for who in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    records = [json.loads(line) for line in path.read_bytes().split(b"\n") if line]
    assert sorted((r["who"], r["n"]) for r in records) == [(who, n) for who in range(4) for n in range(40)]


def test_json_refuses_what_json_does_not_have():
    for write in (atomic.json_file_bytes, atomic.json_line_bytes):
        with pytest.raises(ValueError, match="JSON"):
            write({"x": float("nan")})


def test_json_files_have_the_bytes_of_the_reference(shared):
    for path in sorted((shared / "reference" / "workspaces" / "mid" / "evalset").glob("*.json"))[:20]:
        data = path.read_bytes()
        assert atomic.json_file_bytes(json.loads(data)) == data
