"""Fixtures of the field reports: their inputs, loaded once, and processes under another environment."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import cases_adapter
import pytest

PROBE = Path(__file__).resolve().parent / "probe.py"


@pytest.fixture(scope="session")
def report_folder(shared: Path) -> Callable[[str], Path]:
    """A function that gives the folder of a field report by its number."""

    def find(number: str) -> Path:
        (found,) = (shared / "cases").glob(f"{number}-*")
        return found

    return find


@pytest.fixture(scope="session")
def evalset(report_folder: Callable[[str], Path]) -> Callable[..., cases_adapter.Loaded]:
    """A function that loads the case folder of a field report, once."""
    kept: dict[tuple[str, str], cases_adapter.Loaded] = {}

    def load(number: str, name: str = "evalset") -> cases_adapter.Loaded:
        if (number, name) not in kept:
            kept[number, name] = cases_adapter.load_evalset(report_folder(number) / name)
        return kept[number, name]

    return load


@pytest.fixture(scope="session")
def loaded_under(report_folder: Callable[[str], Path]) -> Callable[..., dict[str, Any]]:
    """A function that loads a field report in a process with another environment and returns what it saw."""

    def load(number: str, environment: Mapping[str, str]) -> dict[str, Any]:
        done = subprocess.run(
            [sys.executable, str(PROBE), str(report_folder(number))],
            env=cases_adapter.process_environment({**environment, "PYTHONIOENCODING": "utf-8"}),
            capture_output=True,
            encoding="utf-8",
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return load
