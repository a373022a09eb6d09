"""Several processes on one workspace: notebooks that hold it open, the harness that writes, a command line."""

from __future__ import annotations

import json
import subprocess
import sys

from made_workspace import workspace

import harnesskit as hk

ROUNDS = 200

HOLDER = """
import json, select, sys
import harnesskit as hk
harness = hk.open(sys.argv[1])
print("open", flush=True)
looks, before = 0, 0
while not select.select([sys.stdin], [], [], 0)[0]:
    harness.refresh()
    n = int(harness.sql("SELECT count(*) AS n FROM cases JOIN events USING (case_id)")["n"][0])
    assert n >= before, (n, before)  # what was there stays there
    before = n
    assert harness.events(1).shape[0] == 1
    assert len(harness.scores(kind="win")) >= 3
    looks += 1
harness.refresh()
wrong = harness.problems()["kind"].tolist()
print(json.dumps([len(harness.table("cases")), len(harness.table("events")), wrong, looks]))
"""

WRITER = """
import json, os, sys
from pathlib import Path
root, rounds = Path(sys.argv[1]), int(sys.argv[2])
for n in range(rounds):
    name = f"w-{n:04}"
    case = {"id": name, "created_at": "2026-06-02T10:00:00+00:00", "session_id": "s", "kind": "failure",
            "signature": [], "baseline_scores": {"coherence": 0.1}, "notes": "", "replay_input": {"n": n}}
    draft = root / "evalset" / f"{name}.json.{os.getpid()}.{n:032x}.tmp"
    draft.write_text(json.dumps(case))
    draft.replace(root / "evalset" / f"{name}.json")
    event = {"type": "evalset_capture", "ts": "2026-06-02T10:00:00+00:00", "case_id": name, "session_id": "s",
             "kind": "failure", "signatures": [], "replayable": True}
    with (root / "journal.jsonl").open("a") as file:
        file.write(json.dumps(event) + "\\n")
"""


def start(code, *arguments):
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", code, *map(str, arguments)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def end(process, said=""):
    out, err = process.communicate(said, timeout=120)
    assert process.returncode == 0, err
    return out


def test_reading_writing_and_loading_at_once(tmp_path):
    root = workspace(tmp_path / "w")
    holders = [start(HOLDER, root) for _ in range(2)]
    try:
        for holder in holders:
            assert holder.stdout.readline() == "open\n"
        writer = start(WRITER, root, ROUNDS)
        loader = subprocess.run(
            [sys.executable, "-m", "harnesskit.cli", "load", "--root", str(root), "--json"],
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        end(writer)
        answers = [json.loads(end(holder, "stop\n").splitlines()[-1]) for holder in holders]
    finally:
        for holder in holders:
            holder.kill()
    assert loader.returncode == 0, loader.stderr
    json.loads(loader.stdout)
    for n_cases, n_events, wrong, looks in answers:
        assert (n_cases, n_events, wrong) == (3 + ROUNDS, 2 + ROUNDS, [])
        assert looks >= 1
    assert len(hk.open(root).scores(kind="failure")) == ROUNDS
