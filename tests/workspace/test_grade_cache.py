"""Kept verdicts: found again by everybody, whatever happened to the process that kept them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from harnesskit.workspace.grade_cache import GRADES, GradeCache


def test_is_a_mapping(tmp_path: Path):
    cache = GradeCache(tmp_path)
    assert "a" not in cache
    assert not (tmp_path / GRADES).exists(), "nothing is made before something is kept"
    cache["a"], cache["b"] = '{"v": "ü\\u2028"}', "2"
    cache["b"] = "3"
    del cache["a"]
    with pytest.raises(KeyError):
        cache["a"]
    again = GradeCache(tmp_path)
    assert dict(cache) == dict(again) == {"b": "3"}


def test_what_another_process_keeps_is_seen_and_the_first_answer_stands(tmp_path: Path):
    one, other = GradeCache(tmp_path), GradeCache(tmp_path)
    assert one.setdefault("a", "first") == "first"
    assert other.setdefault("a", "second") == "first"
    assert one["a"] == other["a"] == GradeCache(tmp_path)["a"] == "first"


def test_torn_and_damaged_lines_cost_themselves_only(tmp_path: Path):
    GradeCache(tmp_path)["a"] = "1"
    path = tmp_path / GRADES
    path.write_bytes(path.read_bytes() + b'not json\n{"key": 3, "kept": "x"}\n{"key": "torn", "ke')
    cache = GradeCache(tmp_path)
    cache["b"] = "2"
    assert dict(GradeCache(tmp_path)) == {"a": "1", "b": "2"}


def test_the_file_can_be_deleted_at_any_time(tmp_path: Path):
    cache = GradeCache(tmp_path)
    cache["a"] = "1"
    (tmp_path / GRADES).unlink()
    cache["b"] = "2"
    assert dict(GradeCache(tmp_path)) == {"b": "2"}


WRITER = """
import sys
from harnesskit.workspace.grade_cache import GradeCache
cache = GradeCache(sys.argv[1])
for n in range(60):
    cache[f"{sys.argv[2]}-{n}"] = "x" * 3000
    cache.setdefault(f"shared-{n}", sys.argv[2])
"""


def test_several_processes_keep_at_once(tmp_path: Path):
    running = [subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), name]) for name in "abc"]
    assert [one.wait(timeout=120) for one in running] == [0, 0, 0]
    cache = GradeCache(tmp_path)
    assert len(cache) == 4 * 60
    assert all(cache[f"{name}-{n}"] == "x" * 3000 for name in "abc" for n in range(60))
