"""The made workspaces of one run, each written when it is first asked for."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from tests.bench.made_files import write_cases, write_journal


class Places:
    """Workspaces below one temporary folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.cases = cache(self._cases)
        self.journal = cache(self._journal)

    def _cases(self, count: int) -> Path:
        return write_cases(self.folder / f"cases-{count}", count)

    def _journal(self, count: int) -> Path:
        return write_journal(self.folder / f"journal-{count}", count)
