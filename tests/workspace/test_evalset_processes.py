"""The eval set with several writers, and with writers that are killed."""

from __future__ import annotations

import json
import os
import random
import select
import signal
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from harnesskit.model.config import HarnessConfig
from harnesskit.workspace.evalset_store import EvalSet

PROJECT = Path(__file__).resolve().parents[2]
WRITERS = [sys.executable, str(Path(__file__).with_name("evalset_writers.py"))]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(PROJECT)}


def events(root, kind):
    """Events of a type; a killed writer may have torn lines, the repaired rest must be whole."""
    found = []
    for line in (root / "journal.jsonl").read_bytes().split(b"\n"):
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if record["type"] == kind:
            found.append(record)
    return found


def files(root):
    """Every case file, which must be whole and named after its id."""
    found = {}
    for path in (root / "evalset").glob("*.json"):
        found[path.stem] = json.loads(path.read_bytes())
        assert found[path.stem]["id"] == path.stem
    return found


def raced(root, seconds, cap):
    """What four racers were told: session to the ids that they got for it."""
    commands = [[*WRITERS, "race", str(root), str(seconds), str(cap), f"racer{n}"] for n in range(4)]
    racers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT) for command in commands]
    told = defaultdict(list)
    for racer in racers:
        output, _ = racer.communicate(timeout=seconds + 60)
        assert racer.returncode == 0
        for line in output.splitlines():
            session, case_id = line.split()
            told[session].append(case_id)
    return told


@pytest.mark.parametrize("seconds", [1, pytest.param(10, marks=pytest.mark.long)])
def test_four_processes_lose_nothing_and_store_nothing_twice(tmp_path, seconds):
    told = raced(tmp_path, seconds, cap=0)
    stored = files(tmp_path)
    by_session = defaultdict(list)
    for case_id, case in stored.items():
        by_session[case["session_id"]].append(case_id)
    assert {session: ids for session, ids in by_session.items() if len(ids) > 1} == {}
    assert {session: sorted(set(ids)) for session, ids in told.items()} == by_session
    assert sum(session.startswith("shared-") for session in told) > 0
    assert len(events(tmp_path, "evalset_capture")) == len(stored)
    assert len(EvalSet(tmp_path, HarnessConfig())) == len(stored)


@pytest.mark.parametrize("seconds", [1, pytest.param(10, marks=pytest.mark.long)])
def test_four_processes_keep_to_the_cap(tmp_path, seconds):
    told = raced(tmp_path, seconds, cap=8)
    stored = files(tmp_path)
    evicted = [event["case_id"] for event in events(tmp_path, "evalset_evict")]
    captured = {case_id for ids in told.values() for case_id in ids}
    assert len(stored) <= 8
    assert len(evicted) == len(set(evicted))
    assert captured - set(evicted) == set(stored)


class Killer:
    """Starts writers and kills them at a random moment."""

    def __init__(self):
        pipe = subprocess.PIPE
        self.process = subprocess.Popen([*WRITERS, "crash"], stdin=pipe, stdout=pipe, env=ENVIRONMENT)
        self.held = b""

    def line(self):
        while b"\n" not in self.held:
            data = os.read(self.process.stdout.fileno(), 65536)
            assert data
            self.held += data
        line, _, self.held = self.held.partition(b"\n")
        return line.decode().split()

    def kill_one(self, root, seed):
        """Return what the writer promised before it died."""
        random_ = random.Random(seed)
        self.process.stdin.write(f"{root} {seed}\n".encode())
        self.process.stdin.flush()
        pid, promises = None, []
        acknowledged = random_.randint(0, 25)
        while pid is None or len(promises) < acknowledged:
            word = self.line()
            if word[0] == "pid":
                pid = int(word[1])
            else:
                promises.append(word)
        select.select([], [], [], random_.uniform(0, 0.006))  # the moment, anywhere within one operation
        os.kill(pid, signal.SIGKILL)
        while (word := self.line()) != ["end"]:
            promises.append(word)
        return promises


@pytest.fixture
def killer():
    killer = Killer()
    yield killer
    killer.process.stdin.close()
    killer.process.wait(timeout=30)
    killer.process.stdout.close()


@pytest.mark.parametrize("kills", [20, pytest.param(200, marks=pytest.mark.long)])
def test_a_killed_writer_breaks_nothing_and_loses_nothing_acknowledged(tmp_path, killer, kills):
    alive, attached, maybe = set(), {}, set()
    for seed in range(kills):
        for word, case_id, *rest in killer.kill_one(tmp_path, seed):
            if word == "captured":
                alive.add(case_id)
            elif word == "attached":
                attached[case_id] = int(rest[0])
            elif word == "removing":
                maybe.add(case_id)
            else:
                alive.discard(case_id)
                attached.pop(case_id, None)
        if not (tmp_path / "evalset").exists():
            continue
        stored = files(tmp_path)  # every file is whole
        gone = {event["case_id"] for kind in ("evict", "remove") for event in events(tmp_path, f"evalset_{kind}")}
        assert alive - set(stored) <= gone, f"after {seed + 1} kills"
        for case_id, number in attached.items():
            if case_id in stored and stored[case_id]["replay_input"] != {"attached": number}:
                assert stored[case_id]["replay_input"].keys() == {"attached"}  # a later one, not yet acknowledged
                assert stored[case_id]["replay_input"]["attached"] > number
        alive &= set(stored)
        cases = EvalSet(tmp_path, HarnessConfig(), lock_timeout_s=5)
        assert {case.id for case in cases.cases()} == set(stored)
    assert cases.capture(session_id="after", kind="win") is not None
    assert len(stored) >= 6
