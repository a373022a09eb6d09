"""Every reader: a missing file is empty; what is no file is one problem, and nothing raises or hangs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from harnesskit.workspace import layout
from harnesskit.workspace.dumps import read_dumps
from harnesskit.workspace.history import read_history
from harnesskit.workspace.journal import read_journal, read_tail
from harnesskit.workspace.mailbox import read_mailbox
from harnesskit.workspace.rules import read_rules
from harnesskit.workspace.scopes import read_scopes
from harnesskit.workspace.study import read_study

READERS = {
    "journal": (layout.JOURNAL, lambda root: read_journal(root / layout.JOURNAL)),
    "tail": (layout.JOURNAL, lambda root: read_tail(root / layout.JOURNAL, 5)),
    "rules": (layout.RULES, lambda root: read_rules(root / layout.RULES)),
    "history": (layout.HISTORY, lambda root: read_history(root / layout.HISTORY)),
    "scopes": (layout.SCOPES, lambda root: read_scopes(root / layout.SCOPES)),
    "status": (layout.MAILBOX_STATUS, lambda root: read_mailbox(root)),
    "notice": (f"{layout.PENDING}/n.json", lambda root: read_mailbox(root)),
    "dump": (f"{layout.DUMPS}/n.json", lambda root: read_dumps(root / layout.DUMPS)),
    "records": ("runs/r/records.jsonl", lambda root: read_study(root / "runs")),
    "manifest": ("runs/r/manifest.json", lambda root: read_study(root / "runs")),
}
FOLDERS = {
    "pending": (layout.PENDING, lambda root: read_mailbox(root)),
    "processed": (layout.PROCESSED, lambda root: read_mailbox(root)),
    "dumps": (layout.DUMPS, lambda root: read_dumps(root / layout.DUMPS)),
    "study": ("runs", lambda root: read_study(root / "runs")),
}


def make_fifo(path: Path) -> None:
    os.mkfifo(path)


def make_loop(path: Path) -> None:
    path.symlink_to(path.name)


def make_dangling(path: Path) -> None:
    path.symlink_to("nowhere")


def make_locked(path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may read everything")
    path.write_text("{}")
    path.chmod(0)


def make_binary(path: Path) -> None:
    path.write_bytes(b"\xff" * 10 + b"\n")


@pytest.mark.parametrize("name", READERS)
def test_nothing_there_is_empty_and_no_problem(tmp_path, name):
    assert READERS[name][1](tmp_path / "nowhere").problems == []


@pytest.mark.parametrize("make", [Path.mkdir, make_fifo, make_loop, make_dangling, make_locked, make_binary])
@pytest.mark.parametrize("name", READERS)
def test_what_cannot_be_read_is_one_problem(tmp_path, name, make):
    file, read = READERS[name]
    path = tmp_path / file
    path.parent.mkdir(parents=True, exist_ok=True)
    make(path)
    found = [problem for problem in read(tmp_path).problems if problem.kind != "no_manifest"]
    assert [(problem.file, problem.severity) for problem in found] == [(file, "problem")]


@pytest.mark.parametrize("make", [Path.touch, make_fifo, make_loop, make_dangling])
@pytest.mark.parametrize("name", FOLDERS)
def test_a_folder_that_is_none_is_one_problem(tmp_path, name, make):
    file, read = FOLDERS[name]
    path = tmp_path / file
    path.parent.mkdir(parents=True, exist_ok=True)
    make(path)
    assert [(problem.file, problem.severity) for problem in read(tmp_path).problems] == [(file, "problem")]


def test_the_folder_above_may_be_a_loop(tmp_path):
    (tmp_path / "state").symlink_to("state")
    assert len(read_history(tmp_path / layout.HISTORY).problems) == 1


@pytest.mark.parametrize("text", ["[]", "null", "3", '"x"', "", "{", '{"a": 1, "a": 2}', "[" * 50_000])
def test_a_document_that_is_no_object_is_one_problem(tmp_path, text):
    path = tmp_path / "document.json"
    path.write_text(text)
    assert len(read_history(path).problems) == 1
    assert len(read_scopes(path).problems) == 1


def test_another_spelling_of_json_is_noted_and_temporary_files_are_passed_over(tmp_path):
    folder = tmp_path / layout.PENDING
    folder.mkdir(parents=True)
    (folder / "n-1.JSON").write_text("{}")
    (folder / "n-2.json.42.abc.tmp").write_text("{")
    found = read_mailbox(tmp_path)
    assert found.notices == []
    assert [(problem.file, problem.severity) for problem in found.problems] == [(f"{layout.PENDING}/n-1.JSON", "note")]
