"""Field reports about replaying: 05, 06, 30, 32, 33, 35, each scenario in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import cases_adapter
import nbformat
import pytest
from nbclient import NotebookClient

Folder = Callable[[str], Path]


@pytest.mark.parametrize("number", ["05", "30", "32", "33", "35"])
def test_the_scenario_passes_and_its_process_ends(report_folder: Folder, number: str) -> None:
    done = subprocess.run(
        [sys.executable, str(report_folder(number) / "scenario.py")],
        env=cases_adapter.process_environment(),
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "PASS" in done.stdout
    assert "never awaited" not in done.stderr


def test_05_rates_name_their_denominator(report_folder: Folder) -> None:
    cases = cases_adapter.load_evalset(report_folder("05") / "evalset").cases

    def agent(case: dict[str, object]) -> dict[str, float]:
        name = str(case["id"])
        if name.startswith(("err", "slow")):
            raise TimeoutError("gone")
        return {"task_completion": 0.95 if name.startswith("ok") else 0.2}

    _, summary = cases_adapter.compare(cases, cases_adapter.replay(cases, agent))
    (row,) = summary["means"]
    assert (row["n_cases"], row["n_paired"], row["n_regressed"], row["n_inconclusive"]) == (20, 16, 4, 4)
    assert row["n_regressed"] + row["n_improved"] + row["n_unchanged"] + row["n_inconclusive"] == row["n_cases"]


def test_06_retries_are_attempts_and_a_double_row_is_named(report_folder: Folder) -> None:
    folder = report_folder("06")
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    loaded = cases_adapter.load_samples(folder / "samples.jsonl")
    counting = [row for row in loaded.rows if row["counts"]]
    passed = sum(row["scores"]["ok"] for row in counting)
    doubles = [row for row in loaded.problems if row["kind"] == "duplicate_sample"]
    assert len({row["case_id"] for row in loaded.rows}) == expected["cases"]
    assert len(counting) == expected["trials"]
    assert len(loaded.rows) + len(doubles) == expected["attempts"]
    assert (passed, passed / len(counting)) == (expected["pass"], expected["rate"])
    assert sum(not row["counts"] for row in loaded.rows) == expected["retried"]
    assert len(doubles) == expected["duplicate_rows"]


def test_30_a_notebook_replays_again_and_again(report_folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in cases_adapter.process_environment().items():
        monkeypatch.setenv(name, value)
    notebook = nbformat.read(report_folder("30") / "in_jupyter.ipynb", as_version=4)
    resources = {"metadata": {"path": str(report_folder("30"))}}
    NotebookClient(notebook, timeout=120, kernel_name="python3", resources=resources).execute()
    ends = [cell.outputs[-1]["data"]["text/plain"] for cell in notebook.cells if cell.get("outputs")]
    assert ends[-2:] == ["4", "4"]
