"""Captured scores are those of the cases that count: `baselines`, `scores` and `case_scores` agree with `cases`."""

from __future__ import annotations

import json
from pathlib import Path

import harnesskit as hk


def write_case(root: Path, file: str, case_id: str, created_at: str) -> None:
    case = {"id": case_id, "created_at": created_at, "session_id": "s", "kind": "win", "notes": "", "signature": []}
    folder = root / "evalset"
    folder.mkdir(exist_ok=True)
    (folder / file).write_text(json.dumps({**case, "baseline_scores": {"q": 0.9}, "replay_input": 1}), encoding="utf-8")


def test_a_doubled_id_has_no_baseline(tmp_path: Path) -> None:
    for file, case_id in (("a.json", "twice"), ("b.json", "twice"), ("c.json", "once")):
        write_case(tmp_path, file, case_id, "2026-01-01T00:00:00Z")
    harness = hk.open(tmp_path)
    for table in ("cases", "baselines", "samples", "case_scores"):
        assert harness.table(table)["case_id"].tolist() == ["once"]
    assert len(harness.table("scores")) == 1


def test_looking_back_leaves_later_baselines_out(tmp_path: Path) -> None:
    write_case(tmp_path, "a.json", "early", "2026-01-01T00:00:00Z")
    write_case(tmp_path, "b.json", "late", "2026-03-01T00:00:00Z")
    harness = hk.open(tmp_path, as_of="2026-02-01")
    for table in ("cases", "baselines", "case_scores"):
        assert harness.table(table)["case_id"].tolist() == ["early"]
    assert len(harness.table("scores")) == 1
