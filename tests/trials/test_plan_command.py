"""The plan on the command line: said before anything is replayed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harnesskit.cli import main
from tests.trials.test_adaptive_run import banked


def test_plan_and_budget(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    banked(tmp_path)
    (tmp_path / "agent.py").write_text("def replay(case, context):\n    raise SystemExit('never called')\n")
    common = ["regression", "--root", str(tmp_path), "--replay", str(tmp_path / "agent.py"), "--scorer", "none"]
    capsys.readouterr()
    assert main([*common, "--plan"]) == 0
    assert "12 wins, 24 replays at most" in capsys.readouterr().out
    assert main([*common, "--plan", "--budget", "4", "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)["plan"]
    assert {row["budget"] for row in plan} == {48}
    assert main([*common, "--policy", "floor:0.5", "--plan"]) == 2
    assert main([*common, "--budget", "0.5"]) == 2
