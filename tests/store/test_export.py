"""One DuckDB file for other tools: all that is in the tables, whole or not at all, over nothing that is not ours."""

from __future__ import annotations

import os
import subprocess
import sys

import duckdb
import pandas as pd
import pytest
from made_workspace import event, notice, put, put_case, run, workspace

import harnesskit as hk
from harnesskit.store import export as export_module
from harnesskit.store.database import CONTRACTS
from harnesskit.store.parts import DeclarationPart

HOLD = "import duckdb, sys; held = duckdb.connect(sys.argv[1]); print('held', flush=True); sys.stdin.read()"


@pytest.fixture(scope="module")
def harness(tmp_path_factory):
    root = workspace(tmp_path_factory.mktemp("w"))
    put_case(root, "hostile", notes="a\"b'c\u2028\U0001f43c", replay_input={"n": 2**70, "x": "\\u0000"}, signature=[])
    put(root / "evalset" / "bad.json", "{")
    run(root)
    put(root / "mailbox/pending/n-1.json", notice("n-1"))
    put(root / "harnesskit/metrics.toml", '[metrics.x]\nhigh = "unbounded"\n')
    put(root / "rules.jsonl", '{"id": "r-1", "status": "active", "rule": "x", "tags": ["a"]}\n')
    put(root / "harnesskit/labels.jsonl", '{"session_id": "s", "rater": "a", "at": "2026-06-01", "failed": true}\n')
    put(root / "journal.jsonl", event("skip", reason="budget") * 3)
    return hk.open(root)


def left_over(folder):
    return sorted(path.name for path in folder.iterdir())


def test_what_is_read_back_is_what_was_there(harness, tmp_path):
    path = harness.export(tmp_path / "a.duckdb")
    assert path == tmp_path / "a.duckdb"
    assert left_over(tmp_path) == ["a.duckdb"]
    with duckdb.connect(str(path), read_only=True) as out:
        for name in CONTRACTS:
            types = dict(out.execute("SELECT column_name, data_type FROM duckdb_columns() WHERE table_name = ?", [name])
                         .fetchall())  # fmt: skip
            assert list(types) == list(CONTRACTS[name].columns)
            wanted = harness._connection.execute(f"SELECT * FROM {name}").fetchall()
            found = out.execute(f"SELECT * FROM {name}").fetchall()
            assert sorted(map(repr, found)) == sorted(map(repr, wanted)), name
        asked = "SELECT typeof(replay_input), typeof(signature), typeof(created_at) FROM cases"
        assert out.execute(asked).fetchone() == ("JSON", "VARCHAR[]", "TIMESTAMP")
        assert out.execute("SELECT replay_input ->> '$.x' FROM cases WHERE case_id = 'hostile'").fetchone() == (
            "\\u0000",
        )
        assert out.execute("SELECT count(*) FROM (SELECT 1 FROM labels UNION ALL SELECT 1 FROM rules)").fetchone() == (
            2,
        )


def test_a_path_may_be_text_and_have_a_tilde(harness, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert harness.export("~/a.duckdb") == tmp_path / "a.duckdb"
    monkeypatch.chdir(tmp_path)
    assert harness.export("b.duckdb") == tmp_path / "b.duckdb"


def test_an_earlier_export_is_replaced_with_its_log(harness, tmp_path):
    path = harness.export(tmp_path / "a.duckdb")
    code = (
        "import duckdb, os, sys; c = duckdb.connect(sys.argv[1]); c.execute('SET checkpoint_threshold = \\'1GB\\'');"
        "c.execute('DELETE FROM cases'); os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", code, str(path)], check=True, timeout=60)
    assert (tmp_path / "a.duckdb.wal").exists()
    harness.export(path)
    assert left_over(tmp_path) == ["a.duckdb"]
    with duckdb.connect(str(path), read_only=True) as out:
        assert out.execute("SELECT count(*) FROM cases").fetchone() == (4,)


@pytest.mark.parametrize("kind", ["text", "empty", "database", "folder"])
def test_what_is_not_ours_is_left_alone(harness, tmp_path, kind):
    path = tmp_path / "a.duckdb"
    if kind == "text":
        put(path, "notes")
    elif kind == "empty":
        put(path, "")
    elif kind == "folder":
        path.mkdir()
    else:
        with duckdb.connect(str(path)) as other:
            other.execute("CREATE TABLE cases AS SELECT 1 AS x")
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(hk.WorkspaceError, match=r"a\.duckdb exists and is not an export of harnesskit"):
        harness.export(path)
    assert before == (path.read_bytes() if path.is_file() else None)
    assert left_over(tmp_path) == ["a.duckdb"]


def test_a_file_that_another_process_holds(harness, tmp_path):
    path = harness.export(tmp_path / "a.duckdb")
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(hk.LockedError) as caught:
            harness.export(path)
        holder.communicate("")
    assert str(path) in str(caught.value)
    assert f"process {holder.pid}" in str(caught.value)
    assert "close it there or export to another file" in str(caught.value)
    assert left_over(tmp_path) == ["a.duckdb"]
    harness.export(path)


def test_a_file_that_this_process_holds(harness, tmp_path):
    path = harness.export(tmp_path / "a.duckdb")
    with (
        duckdb.connect(str(path)),
        pytest.raises(hk.LockedError, match="is open in this process; close that connection or export to another file"),
    ):
        harness.export(path)
    # who only reads does not stand in the way, and keeps what was opened
    with duckdb.connect(str(path), read_only=True) as reader:
        harness.export(path)
        assert reader.execute("SELECT count(*) FROM cases").fetchone() == (4,)


@pytest.mark.parametrize("stop", [KeyboardInterrupt, RuntimeError])
def test_a_failure_leaves_nothing_and_the_old_file(harness, tmp_path, monkeypatch, stop):
    path = harness.export(tmp_path / "a.duckdb")
    before = path.read_bytes()

    def fail(*_arguments):
        raise stop

    monkeypatch.setattr(export_module, "comments", fail)
    with pytest.raises(stop):
        harness.export(path)
    assert left_over(tmp_path) == ["a.duckdb"]
    assert path.read_bytes() == before
    with pytest.raises(stop):
        harness.export(tmp_path / "b.duckdb")
    assert left_over(tmp_path) == ["a.duckdb"]


def test_a_folder_that_is_missing_or_cannot_be_used(harness, tmp_path):
    with pytest.raises(hk.WorkspaceError, match="nowhere does not exist; create it, then export again"):
        harness.export(tmp_path / "nowhere" / "a.duckdb")
    put(tmp_path / "file", "")
    with pytest.raises(hk.WorkspaceError, match="create it"):
        harness.export(tmp_path / "file" / "a.duckdb")
    with pytest.raises(hk.WorkspaceError, match=r"cannot be written \(.+\); check the folder"):
        harness.export(tmp_path / ("x" * 240 + ".duckdb"))
    if os.geteuid() != 0:  # root may write anywhere
        (tmp_path / "closed").mkdir(mode=0o555)
        with pytest.raises(hk.WorkspaceError, match="cannot be written"):
            harness.export(tmp_path / "closed" / "a.duckdb")


def test_the_harness_goes_on_after_an_export(harness, tmp_path):
    harness.export(tmp_path / "a.duckdb")
    assert harness.refresh().added.empty
    assert len(harness.table("cases")) == 4


def test_an_empty_workspace_has_an_export_too(tmp_path):
    (tmp_path / "w" / "evalset").mkdir(parents=True)
    path = hk.open(tmp_path / "w").export(tmp_path / "a.duckdb")
    with duckdb.connect(str(path), read_only=True) as out:
        assert out.execute("SELECT count(*) FROM case_scores").fetchone() == (0,)


def test_the_declared_metrics_are_in_it(harness, tmp_path):
    assert isinstance(harness._declared, DeclarationPart)
    with duckdb.connect(str(harness.export(tmp_path / "a.duckdb")), read_only=True) as out:
        row = out.execute("SELECT low, high, declared FROM metrics WHERE metric = 'x'").fetchone()
    assert row is not None
    assert row[0] == 0.0
    assert pd.isna(row[1])
    assert row[2] is True
