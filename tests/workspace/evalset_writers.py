"""Processes that write to an eval set while tests kill them or let them race; every line they print is a promise.

``race ROOT SECONDS CAP NAME`` captures for a while. ``crash`` reads lines ``ROOT SEED`` and forks one writer for each,
which goes on until it is killed.
"""

from __future__ import annotations

import os
import random
import sys
import time
from pathlib import Path

from harnesskit.model.config import HarnessConfig
from harnesskit.workspace.evalset_store import EvalSet


def say(*words: object) -> None:
    """One write, so that no line is ever torn."""
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def race(root: Path, seconds: float, cap: int, name: str) -> None:
    """Capture sessions that every racer captures, and sessions of its own, in turn."""
    cases = EvalSet(root, HarnessConfig(eval_case_max=cap), lock_timeout_s=60)
    until, number = time.monotonic() + seconds, 0
    while time.monotonic() < until:
        session = f"shared-{number // 2}" if number % 2 else f"{name}-{number}"
        case = cases.capture(session_id=session, kind="failure", signature=("b", "a"), replay_input={"n": number})
        say(session, case.id if case else "-")
        number += 1


def write_for_ever(root: Path, seed: int) -> None:
    """Capture, attach and remove at random in a small set that is always full."""
    random_ = random.Random(seed)
    cases = EvalSet(root, HarnessConfig(eval_case_max=6))
    mine: list[str] = []
    wins = len(cases.cases("win"))
    for number in range(10**9):
        what = random_.random()
        if what < 0.7 or not mine:
            kind = "win" if random_.random() < 0.02 and wins < 3 else "failure"  # some room must stay
            wins += kind == "win"
            case = cases.capture(session_id=f"{seed}-{number}", kind=kind, replay_input={"text": "x" * 3000})
            if case:
                mine.append(case.id)
                say("captured", case.id)
            continue
        case_id = random_.choice(mine)
        if what < 0.85:
            try:
                cases.attach_input(case_id, {"attached": number})
                say("attached", case_id, number)
            except KeyError:
                mine.remove(case_id)
        else:
            say("removing", case_id)
            if cases.remove(case_id):
                say("removed", case_id)
            mine.remove(case_id)


def fork_writers() -> None:
    for line in sys.stdin:
        root, seed = line.split()
        child = os.fork()
        if child == 0:
            try:
                write_for_ever(Path(root), int(seed))
            finally:
                os._exit(1)
        say("pid", child)
        os.waitpid(child, 0)
        say("end")


if __name__ == "__main__":
    if sys.argv[1] == "race":
        race(Path(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4]), sys.argv[5])
    else:
        fork_writers()
