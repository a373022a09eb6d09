"""Field reports about files: 39 (two processes), 41 (mixed payloads), 59 (nesting), 61 (encodings)."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cases_adapter
import pytest

Load = Callable[..., cases_adapter.Loaded]
Folder = Callable[[str], Path]


def start(folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(folder / "scenario.py")],
        env=cases_adapter.process_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )


@pytest.fixture(scope="module", autouse=True)
def lock_scenario(report_folder: Folder) -> Iterator[subprocess.Popen[str]]:
    """The scenario of 39, which holds a file for 15 seconds: it runs beside the other tests of this module."""
    process = start(report_folder("39"))
    yield process
    process.kill()
    process.communicate()


def test_41_any_mix_of_payloads_comes_back_as_it_was(report_folder: Folder) -> None:
    output, errors = start(report_folder("41")).communicate(timeout=120)
    assert output.startswith("PASS"), errors


def test_41_text_that_looks_like_json_stays_text(evalset: Load) -> None:
    for name in ("evalset", "evalset_objects"):
        loaded = evalset("41", name)
        kinds = loaded.harness.sql(
            "SELECT replayable, count(*) AS n FROM cases GROUP BY replayable ORDER BY replayable"
        )
        payloads = [case["replay_input"] for case in loaded.cases]
        assert dict(zip(kinds["replayable"], kinds["n"], strict=True)).get(True) == sum(p is not None for p in payloads)
        assert not loaded.problems


def test_59_one_limit_on_nesting_and_the_rest_of_the_folder_is_untouched(evalset: Load, report_folder: Folder) -> None:
    loaded = evalset("59")
    assert [case["id"] for case in loaded.cases] == ["flat"]
    deep = {f"evalset/{path.name}" for path in (report_folder("59") / "evalset").glob("deep_*.json")}
    assert {row["file"] for row in loaded.problems if row["kind"] == "too_deep"} == deep
    assert len(loaded.problems) == len(deep) == 7


def test_59_what_is_just_under_the_limit_survives_storing_and_exporting(tmp_path: Path) -> None:
    folder = tmp_path / "evalset"
    folder.mkdir()
    payloads: dict[str, Any] = {}
    for name, levels in (("under", 99), ("over", 100)):
        payload: Any = 7
        for _ in range(levels):
            payload = {"a": payload} if levels % 2 else [payload]
        payloads[name] = payload
        case = {"id": name, "created_at": "2026-01-01T00:00:00Z", "session_id": "s", "kind": "win", "notes": ""}
        text = json.dumps({**case, "signature": [], "baseline_scores": {}, "replay_input": payload})
        (folder / f"{name}.json").write_text(text, encoding="utf-8")
    loaded = cases_adapter.load_evalset(folder, db=tmp_path / "w.duckdb")
    assert [(row["file"], row["kind"]) for row in loaded.problems] == [("evalset/over.json", "too_deep")]
    for cases in (loaded.cases, cases_adapter.stored_cases(tmp_path / "w.duckdb")):
        assert [case["replay_input"] for case in cases] == [payloads["under"]]
    path = "$" + ".a" * 99
    assert cases_adapter.query(tmp_path / "w.duckdb", f"SELECT replay_input ->> '{path}' FROM cases") == [("7",)]


@pytest.mark.parametrize("environment", [{}, {"PYTHONUTF8": "0", "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"}])
def test_61_utf8_loads_whatever_the_locale_and_the_rest_is_named(
    loaded_under: Callable[..., dict[str, Any]], environment: dict[str, str]
) -> None:
    seen = loaded_under("61", environment)
    assert seen["notes"] == {"bom": "Müller refund", "crlf": ""}
    said = {Path(file).stem: (severity, kind) for file, severity, kind in seen["problems"]}
    assert said == {
        "utf16": ("problem", "encoding"),
        "cp1252": ("problem", "encoding"),
        "empty": ("problem", "empty"),
        "comment": ("problem", "not_json"),
        "trailing": ("problem", "not_json"),
    }
    assert seen["samples"] == [["s0", "bom", {"task_completion": 0.5}]]
    assert seen["sample_problems"] == []


def test_39_the_command_line_works_beside_an_open_workspace(
    evalset: Load, report_folder: Folder, tmp_path: Path
) -> None:
    loaded = cases_adapter.load_evalset(report_folder("39") / "evalset", db=tmp_path / "held.duckdb")
    done = cases_adapter.cli("list", "--json", "--root", str(loaded.harness.root))
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["cases"]) == len(loaded.cases) == 2


def test_39_a_held_file_is_named_with_its_holder(lock_scenario: subprocess.Popen[str]) -> None:
    output, errors = lock_scenario.communicate(timeout=120)
    assert lock_scenario.returncode == 0, errors
    assert "file free after an ordinary call: True" in output
    assert "refused after" in output
    assert output.rstrip().endswith("PASS")
    assert "Traceback" not in errors
