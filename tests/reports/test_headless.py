"""Reports need no display and no backend: any setting of the user's, any thread (field report 73)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CODE = """
import sys, threading, warnings
import harnesskit.model.text, matplotlib.figure  # loaded before warnings are errors: its own are not ours
warnings.simplefilter("error", UserWarning)
sys.path.insert(0, sys.argv[1])
from tests.made_regression import made_comparison, made_decision, made_deltas
from harnesskit.reports.regression import regression_report
deltas, sizes = made_deltas(), []
def work():
    sizes.append(len(regression_report(deltas, made_comparison(deltas), made_decision()).render(".html")))
thread = threading.Thread(target=work)
thread.start()
thread.join(60)
print(sizes[0] > 1000, "matplotlib.pyplot" in sys.modules, matplotlib.rcParams._get("backend"))
"""


@pytest.mark.parametrize("backend", ["", "TkAgg", "module://does_not_exist"])
def test_a_report_is_drawn_under_any_backend_without_loading_it(backend):
    environment = {key: value for key, value in os.environ.items() if key not in ("DISPLAY", "WAYLAND_DISPLAY")}
    environment["MPLBACKEND"] = backend
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run([sys.executable, "-c", CODE, str(root)], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    drawn, pyplot, kept = done.stdout.split(maxsplit=2)
    assert (drawn, pyplot) == ("True", "False")
    if backend:
        assert kept.strip().lower() == backend.lower()
