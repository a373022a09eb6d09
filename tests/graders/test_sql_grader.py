"""SQL graders beside other processes."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

FORKED = """
import multiprocessing, os, sys
import pandas as pd
import harnesskit as hk
from harnesskit import graders

grader = graders.sql("length(output) < 4", metric="short")
samples = pd.DataFrame({"sample_id": ["a", "b"], "output": ["yes", "never"]})

def graded():
    return hk.grade(samples, [grader])["value"].tolist()

def child(pipe):
    pipe.send(graded())

before = graded()
ours, theirs = multiprocessing.Pipe()
process = multiprocessing.get_context("fork").Process(target=child, args=(theirs,))
process.start()
assert ours.poll(60), "the forked process said nothing"
assert ours.recv() == before == graded() == [1.0, 0.0]
process.join(60)
sys.exit(process.exitcode)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_process_that_graded_in_sql_can_fork_and_both_go_on():
    ended = subprocess.run([sys.executable, "-c", FORKED], capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 0, ended.stderr
