"""Small workspaces, written by hand, whose whole content is known."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

CASE = {
    "created_at": "2026-06-01T10:00:00+00:00",
    "session_id": "s-1",
    "kind": "win",
    "signature": ["healthy"],
    "baseline_scores": {"task_completion": 0.9},
    "replay_input": {"task": "charge $42"},
    "notes": "",
}


def case(case_id: str, **more: Any) -> dict[str, Any]:
    return {**CASE, "id": case_id, **more}


def put(path: Path, value: Any) -> Path:
    """Write a file as another program would: a new file over the old one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(path.name + ".tmp")
    draft.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    draft.replace(path)
    return path


def put_case(root: Path, case_id: str, name: str | None = None, **more: Any) -> Path:
    return put(root / "evalset" / f"{name or case_id}.json", case(case_id, **more))


def event(kind: str, ts: str = "2026-06-01T10:00:00+00:00", **more: Any) -> str:
    return json.dumps({"type": kind, "ts": ts, **more}) + "\n"


def append(path: Path, text: str) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(text)


def notice(notice_id: str, status: str = "pending", **more: Any) -> dict[str, Any]:
    resolution = {"acked_at": "2026-06-03T00:00:00+00:00", "rule_id": "r-1", "note": "", "kind": "candidate"}
    return {
        "id": notice_id, "session_id": "s-1", "created_at": "2026-06-01T10:00:00+00:00", "turn_index": 1,
        "severity": "breach", "metrics": [], "signatures": ["breach:task_completion"], "summary": "",
        "status": status, "resolution": None if status == "pending" else resolution, **more,
    }  # fmt: skip


def run(root: Path, run_id: str = "run-1", samples: int = 2, **more: Any) -> Path:
    folder = root / "harnesskit" / "runs" / run_id
    at = "2026-06-02T10:00:00+00:00"
    put(folder / "run.json", {"format": 1, "run_id": run_id, "role": "replay", "started_at": at, **more})
    lines = [
        {
            "sample_id": f"{run_id}-{n}", "case_id": f"c-{n}", "trial": 1, "status": "scored", "occurred_at": at,
            "scores": [{"metric": "task_completion", "grader": "judge", "value": 0.5}],
        }
        for n in range(samples)
    ]  # fmt: skip
    put(folder / "samples.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    return folder


def workspace(root: Path, cases: int = 3) -> Path:
    """A workspace with a file of every kind and nothing wrong in it."""
    for n in range(cases):
        put_case(root, f"c-{n}")
    put(root / "journal.jsonl", event("health", ok=True, reason=None) + event("recovery", session_id="s-1"))
    return root


def tree(root: Path) -> dict[str, tuple[int, int, int]]:
    """Everything below a folder with size, time and mode, the folder itself included."""
    found = {}
    for folder, folders, files in os.walk(root):
        for name in [".", *folders, *files]:
            path = Path(folder, name)
            info = path.lstat()
            found[str(path.relative_to(root))] = (info.st_size, info.st_mtime_ns, info.st_mode)
    return found
