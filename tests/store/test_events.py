"""The tail of the journal is the end of the table, whatever the journal holds, and costs what it shows."""

from __future__ import annotations

import json
import os

import pandas as pd
import pytest
from made_workspace import append, event, put, workspace

import harnesskit as hk
from harnesskit.workspace.journal import BLOCK


@pytest.fixture
def root(tmp_path):
    return workspace(tmp_path)


def same(tail, table):
    """Whether both say the same, but for the line numbers that a tail does not know."""
    assert tail["line"].isna().all()
    pd.testing.assert_frame_equal(
        tail.drop(columns="line"), table.drop(columns="line").reset_index(drop=True), check_column_type=False
    )


MIXED = [
    event("recovery", session_id="s-1"),
    event("skip", "2026-06-02T10:00:00", reason="budget", session_id="é\u2028\u0085"),
    "\n",
    "not json\n",
    "[1, 2]\n",
    '{"type": 7}\n',
    event("rule_add", id="r-1"),
    '{"n": 123456789012345678901234567890, "type": "own"}\n',
    event("health", ok=True),
    "{\n",
]


@pytest.mark.parametrize("end", ["", '{"type": "torn', '{"type": "whole"}', " ", "\r\n"], ids=repr)
def test_the_tail_is_the_end_of_the_table(root, end):
    append(root / "journal.jsonl", "".join(MIXED) + end)
    harness = hk.open(root)
    table = harness.table("events")
    for last in (1, 2, 3, 5, 7, 8, 9, 1_000):
        same(harness.events(last), table.tail(last))


@pytest.mark.parametrize("types", ["recovery", ["recovery", "health"], ("nothing",), [], {"skip"}])
def test_only_some_types(root, types):
    append(root / "journal.jsonl", "".join(MIXED) * 3)
    harness = hk.open(root)
    table = harness.table("events")
    same(harness.events(2, types), table[table["type"].isin([types] if isinstance(types, str) else types)].tail(2))


@pytest.mark.parametrize("last", [0, -1])
def test_none_asked_for(root, last):
    found = hk.open(root).events(last)
    assert len(found) == 0
    assert list(found.columns) == list(hk.open(root).table("events").columns)


def test_a_record_that_was_just_written_is_there_without_a_refresh(root):
    harness = hk.open(root)
    append(root / "journal.jsonl", event("skip", session_id="new"))
    assert harness.events(1)["session_id"].tolist() == ["new"]


def test_no_journal_and_an_odd_one(root):
    harness = hk.open(root)
    (root / "journal.jsonl").unlink()
    assert len(harness.events()) == 0
    (root / "journal.jsonl").mkdir()
    assert len(harness.events()) == 0
    assert len(hk.open(root).table("events")) == 0


def test_lines_at_the_edges_of_blocks(root):
    """Records of every length around the size in which the file is read backwards."""
    lines = [json.dumps({"type": "x", "ts": "2026-06-01T10:00:00Z", "pad": "é" * n}) + "\n" for n in
             (BLOCK // 6 - 40, BLOCK // 6, 1, BLOCK, 3, BLOCK - 50, BLOCK - 51, BLOCK - 52, 0)]  # fmt: skip
    put(root / "journal.jsonl", "".join(lines))
    harness = hk.open(root)
    table = harness.table("events")
    assert len(table) == len(lines)
    for last in range(1, len(lines) + 1):
        same(harness.events(last), table.tail(last))


def test_a_huge_line_and_little_reading(root, monkeypatch):
    huge = json.dumps({"type": "big", "ts": "2026-06-01T10:00:00Z", "pad": "x" * 5_000_000}) + "\n"
    append(root / "journal.jsonl", huge + "".join(event("recovery", session_id=f"s-{n}") for n in range(2_000)))
    harness = hk.open(root)
    assert harness.events(2_001)["type"].iloc[0] == "big"
    assert len(harness.events(2_001)["payload"].iloc[0]) > 5_000_000
    seen = []
    monkeypatch.setattr(os, "read", lambda fd, n, read=os.read: seen.append(data := read(fd, n)) or data)
    assert harness.events(10)["session_id"].tolist() == [f"s-{n}" for n in range(1_990, 2_000)]
    assert sum(len(data) for data in seen) <= 2 * BLOCK


def test_looking_back_shows_the_past_only(root):
    append(root / "journal.jsonl", event("skip", "2026-06-10T00:00:00Z", session_id="later"))
    harness = hk.open(root, as_of="2026-06-05")
    for last in (0, 1, 2, 50):
        assert harness.events(last)["type"].tolist() == ["health", "recovery"][2 - min(last, 2) :]
    assert harness.events(types=["recovery", "skip"])["session_id"].tolist() == ["s-1"]
    pd.testing.assert_frame_equal(harness.events(), harness.table("events"))
