"""Reports of the hand-made run, and the checkers that lie beside the project."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from harnesskit.reports.model import Report
from harnesskit.reports.regression import regression_report
from tests.made_regression import made_comparison, made_decision, made_deltas


@pytest.fixture
def made_problems() -> pd.DataFrame:
    """One problem per line, by the contract."""
    columns = ["source", "file", "line", "field", "severity", "kind", "message"]
    row = ["evalset", "evalset/x.json", None, "baseline_scores.q", "problem", "not_a_number", "'high' is no number"]
    return pd.DataFrame([row], columns=columns)


@pytest.fixture
def hostile_report(made_problems: pd.DataFrame) -> Report:
    """The report of twelve cases with hostile names on four metrics."""
    deltas = made_deltas()
    return regression_report(
        deltas, made_comparison(deltas), made_decision(), problems=made_problems, reproduce="harnesskit regression"
    )


@pytest.fixture
def check(shared: Path) -> Callable[..., str]:
    """Run one of the checkers on files and return what it printed; fail the test when it is not content."""

    def run(tool: str, *arguments: object) -> str:
        script = shared / "cases" / "_tools" / tool
        done = subprocess.run([sys.executable, str(script), *map(str, arguments)], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run
