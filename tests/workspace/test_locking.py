"""The lock of a workspace."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from harnesskit.model.errors import LockedError, WorkspaceError
from harnesskit.workspace.locking import hold

PROJECT = Path(__file__).resolve().parents[2]
HOLDER = """
import sys
from pathlib import Path
from harnesskit.workspace.locking import hold
with hold(Path(sys.argv[1]), "hold on"):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def holder(tmp_path):
    """Another process that holds the lock until it is ended."""
    path = tmp_path / "harnesskit" / "x.lock"
    command = [sys.executable, "-c", HOLDER, str(path)]
    with subprocess.Popen(command, cwd=PROJECT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "held\n"
        yield path, process
        process.kill()


def test_the_message_says_who_holds_it_since_when_and_what_for(holder):
    path, process = holder
    with pytest.raises(LockedError) as raised, hold(path, "try", timeout_s=0.05):
        pass
    message = str(raised.value)
    assert str(path) in message
    assert f"process {process.pid} on {os.uname().nodename} since 2" in message
    assert "to hold on" in message
    assert "0.05 s" in message


def test_a_killed_holder_is_no_obstacle(holder):
    path, process = holder
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert path.stat().st_size > 0  # its name is still there
    with hold(path, "go on", timeout_s=0):
        assert b"go on" in path.read_bytes()


def test_threads_exclude_one_another(tmp_path):
    inside, most = [], []

    def work():
        for _ in range(20):
            with hold(tmp_path / "x.lock", "count"):
                inside.append(1)
                most.append(len(inside))
                inside.pop()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * 80


def test_this_process_is_told_about_itself(tmp_path):
    with (
        hold(tmp_path / "x.lock", "wait for itself"),
        pytest.raises(LockedError, match="this process, perhaps another thread"),
        hold(tmp_path / "x.lock", "again", timeout_s=0.01),
    ):
        pass


def test_a_damaged_name_in_the_file_does_not_hide_the_lock(tmp_path):
    path = tmp_path / "x.lock"
    with hold(path, "x"):
        path.write_bytes(b"\xff{")
        with pytest.raises(LockedError, match="has not said who it is"), hold(path, "y", timeout_s=0):
            pass


def test_an_error_inside_frees_it(tmp_path):
    with pytest.raises(KeyError), hold(tmp_path / "x.lock", "fail"):
        raise KeyError("x")
    with hold(tmp_path / "x.lock", "go on", timeout_s=0):
        pass


def test_a_place_that_takes_no_file_is_a_plain_error(tmp_path):
    (tmp_path / "harnesskit").write_text("a file")
    with pytest.raises(WorkspaceError, match="cannot lock"), hold(tmp_path / "harnesskit" / "x.lock", "x"):
        pass
