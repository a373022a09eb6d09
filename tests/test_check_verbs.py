"""A check in shadow in a workspace: online scores, labels, and whether it may stop sessions."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

import harnesskit as hk
from harnesskit.check_verbs import CheckVerbs
from harnesskit.model.errors import PolicyError, WorkspaceError
from harnesskit.workspace.online import write_online

START = datetime(2025, 3, 1, tzinfo=UTC)


def workspace(root: Path, n: int = 300, labelled: int = 300, graders: tuple[str, ...] = ("judge",)) -> CheckVerbs:
    """Sessions of which one in ten failed, each with a low score then, and the labels of the first of them."""
    (root / "evalset").mkdir(parents=True)
    rows = [
        {"sample_id": f"x{i}", "session_id": f"s{i}", "occurred_at": START + timedelta(hours=i), "status": "scored",
         "metric": "tone", "grader": graders[i % len(graders)], "value": 0.2 if i % 10 == 0 else 0.8,
         "score_status": "ok"}
        for i in range(n)
    ]  # fmt: skip
    write_online(root, "live", pa.Table.from_pylist(rows))
    (root / "harnesskit").mkdir(exist_ok=True)
    lines = [
        f'{{"session_id": "s{i}", "rater": "ann", "at": "{START.isoformat()}", "failed": {str(i % 10 == 0).lower()}}}\n'
        for i in range(labelled)
    ]
    (root / "harnesskit" / "labels.jsonl").write_text("".join(lines), encoding="utf-8")
    return CheckVerbs(root, metrics=[hk.Metric("tone", threshold=0.5)])


def test_a_check_that_finds_the_failures_may_enforce(tmp_path: Path):
    found = workspace(tmp_path).check("tone")
    assert (found.verdict, found.guard_kind, found.guard_id) == ("promote", "check", "tone")
    assert found.frozen["check"]["bar"] == 0.5


def test_without_labels_it_waits_for_them(tmp_path: Path):
    found = workspace(tmp_path, labelled=0).check("tone")
    assert (found.verdict, found.decision.reason) == ("pending", "labels_missing")
    assert found.decision.runs_needed


def test_what_cannot_be_asked_is_named(tmp_path: Path):
    made = workspace(tmp_path, graders=("a", "b"))
    with pytest.raises(WorkspaceError, match="several graders"):
        made.check("tone")
    assert made.check("tone", grader="a").guard_id == "tone@a"
    with pytest.raises(WorkspaceError, match="No online sample"):
        made.check("mood", bar=0.5)
    with pytest.raises(PolicyError, match="has no threshold"):
        made.check("mood")
