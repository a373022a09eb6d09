"""The naive ways and the physical limits that the harness is measured against."""

from __future__ import annotations

import json
import os
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel


class Case(BaseModel):
    """A case as one would write it down first."""

    id: str
    created_at: datetime
    session_id: str
    kind: Literal["failure", "win"]
    signature: list[str]
    baseline_scores: dict[str, float]
    replay_input: Any = None
    notes: str = ""


def read_bytes(root: Path) -> int:
    """Read every case file and keep nothing: what any reader must do."""
    total = 0
    with os.scandir(root / "evalset") as entries:
        for entry in entries:
            with open(entry.path, "rb") as file:  # noqa: PTH123 - the quickest that Python has
                total += len(file.read())
    return total


def read_models(root: Path) -> list[Case]:
    """Read every case file with the standard parser into a model."""
    cases = []
    with os.scandir(root / "evalset") as entries:
        for entry in entries:
            with open(entry.path, encoding="utf-8") as file:  # noqa: PTH123
                cases.append(Case.model_validate(json.loads(file.read())))
    return cases


def look_at(root: Path) -> int:
    """Look at every case file without opening it: the least that can tell whether one changed."""
    total = 0
    with os.scandir(root / "evalset") as entries:
        for entry in entries:
            info = entry.stat()
            total += info.st_size + info.st_mtime_ns + info.st_ino + info.st_ctime_ns
    return total


def parse_journal(path: Path) -> list[Any]:
    """Parse every line of a journal."""
    with path.open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]
