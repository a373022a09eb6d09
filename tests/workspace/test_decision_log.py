"""Reviews are written so that two writers lose nothing and a crash costs at most the line that nobody was told of."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import signal
import subprocess
import sys
from collections import Counter
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from harnesskit.model.errors import WorkspaceError
from harnesskit.workspace.decision_log import DecisionLog, statuses
from harnesskit.workspace.decisions import read_decisions

FILE = "harnesskit/decisions.jsonl"


def noon() -> datetime:
    return datetime(2026, 6, 1, 12, tzinfo=UTC)


def sign(root: Path, subject: str, **fields: object) -> str:
    with DecisionLog(root, noon).writing("sign") as reviews:
        return reviews.append({"action": "sign", "subject": subject, "verdict": "promote", **fields})


def sign_many(root: str, name: str, n: int) -> None:
    for i in range(n):
        sign(Path(root), f"{name}-{i}")


def test_processes_that_sign_at_once_lose_nothing_and_keep_one_chain(tmp_path: Path):
    spawn = multiprocessing.get_context("spawn")
    writers = [spawn.Process(target=sign_many, args=(str(tmp_path), f"w{k}", 20)) for k in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
        assert writer.exitcode == 0
    rows, problems = read_decisions(tmp_path)
    assert problems == []
    assert sorted(row.subject for row in rows) == sorted(f"w{k}-{i}" for k in range(3) for i in range(20))


@pytest.mark.parametrize("left", [1, 2, 40, -3, -1])
def test_a_line_cut_at_any_byte_costs_itself_alone(tmp_path: Path, left: int):
    first = sign(tmp_path, "r-1")
    whole = (tmp_path / FILE).read_bytes()
    sign(tmp_path, "r-2")
    second = (tmp_path / FILE).read_bytes()[len(whole) :]
    (tmp_path / FILE).write_bytes(whole + second[:left])
    third = sign(tmp_path, "r-3")
    rows, problems = read_decisions(tmp_path)
    kept = ["r-1", "r-2", "r-3"] if left == -1 else ["r-1", "r-3"]  # all but the line end is a whole record
    assert [row.subject for row in rows] == kept
    assert [(p.severity, p.kind) for p in problems] == ([] if left == -1 else [("note", "torn_earlier")])
    with DecisionLog(tmp_path, noon).writing("look") as reviews:
        assert reviews.is_whole(first)
        assert reviews.is_whole(third)


SIGNER = """
import sys
from pathlib import Path
from harnesskit.workspace.decision_log import DecisionLog
log = DecisionLog(Path(sys.argv[1]))
for i in range(100000):
    with log.writing("sign") as reviews:
        print(reviews.append({"action": "sign", "subject": f"{sys.argv[2]}-{i}", "note": "x" * 3000}), flush=True)
"""


def test_killed_at_any_time_what_was_acknowledged_is_there(tmp_path: Path):
    draw = random.Random(7)
    told: list[str] = []
    for turn in range(20):
        command = [sys.executable, "-c", SIGNER, str(tmp_path), f"t{turn}"]
        child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert child.stdout is not None
        told += [child.stdout.readline().strip() for _ in range(draw.randint(1, 4))]
        os.kill(child.pid, signal.SIGKILL)
        told += [line.strip() for line in child.stdout.read().splitlines() if len(line.strip()) == 22]
        child.stdout.close()
        child.wait(30)
    last = sign(tmp_path, "after")
    rows, problems = read_decisions(tmp_path)
    ids = Counter(row.decision_id for row in rows)
    assert set(told) <= set(ids)
    assert last in ids
    assert max(ids.values()) == 1
    assert [p for p in problems if p.severity == "problem"] == []


def test_what_cannot_be_written_leaves_the_file_as_it_was(tmp_path: Path):
    sign(tmp_path, "r-1")
    before = (tmp_path / FILE).read_bytes()
    for value in (float("nan"), object()):
        with pytest.raises((ValueError, TypeError)):
            sign(tmp_path, "r-2", note=value)
    (tmp_path / "other").write_text("")
    with pytest.raises(WorkspaceError):
        sign(tmp_path / "other", "r-2")
    assert (tmp_path / FILE).read_bytes() == before


def test_how_each_review_stands(tmp_path: Path):
    first = sign(tmp_path, "r-1")
    second = sign(tmp_path, "r-1", supersedes=first, review_by="2026-06-01T00:00:00+00:00")
    third = sign(tmp_path, "r-2")
    with DecisionLog(tmp_path, noon).writing("revoke") as reviews:
        gone = reviews.append({"action": "revoke", "subject": "r-2", "supersedes": third})
        assert reviews.standing("r-1", None).decision_id == second
        assert reviews.standing("r-2", None) is None
        assert reviews.standing("r-1", "rule") is None
    rows = DecisionLog(tmp_path).rows()
    expected = {first: "superseded", second: "signed", third: "revoked", gone: "done"}
    assert statuses(rows, date(2026, 6, 1)) == expected
    assert statuses(rows, date(2026, 6, 2)) == expected | {second: "overdue"}


def test_a_review_is_whole_while_nothing_before_or_after_it_was_touched(tmp_path: Path):
    ids = [sign(tmp_path, f"r-{i}") for i in range(4)]
    lines = (tmp_path / FILE).read_text().splitlines()
    edited = json.dumps({**json.loads(lines[1]), "verdict": "retire"}, sort_keys=True)
    (tmp_path / FILE).write_text("\n".join([lines[0], edited, *lines[2:]]) + "\n")
    with DecisionLog(tmp_path, noon).writing("look") as reviews:
        assert [reviews.is_whole(one) for one in ids] == [False, False, False, True]
        later = reviews.append({"action": "sign", "subject": "again"})
        assert reviews.is_whole(later)
        assert not reviews.is_whole("d-none")
