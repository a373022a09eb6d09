"""The part of a load that keeps the table of cases up to date with the folder of case files."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from harnesskit.store.database import delete, insert
from harnesskit.store.load import NOTHING, Touched, replace_problems
from harnesskit.workspace.evalset import SOURCE, Known, look, printable, read_cases
from harnesskit.workspace.layout import EVALSET
from harnesskit.workspace.problems import Problem


class CasePart:
    """Case files: only those whose size, time or inode changed are read again."""

    source = SOURCE

    def __init__(self) -> None:
        self.known: Known = {}
        self.notes: list[Problem] = []
        self.next: tuple[Known, list[Problem]] = (self.known, self.notes)

    def refresh(self, root: Path, connection: duckdb.DuckDBPyConnection) -> Touched:
        """Read the new and changed case files."""
        names, gone, notes = look(root, self.known)
        if not names and not gone and notes == self.notes:
            return NOTHING
        known = dict(self.known)
        for name in gone:
            del known[name]
        old = [name for name in names if name in self.known]
        if _holds_any(connection):  # not at the first load, when every name is new
            # new ones too: their rows are there when the last refresh was stopped before it could remember them
            stale = [f"{EVALSET}/{printable(name)}" for name in [*gone, *names]]
            delete(connection, "cases", "file", stale)
            replace_problems(connection, SOURCE, stale, [])
        if notes != self.notes:
            replace_problems(connection, SOURCE, [note.file for note in self.notes], notes)
        with _no_collections():
            for rows, problems in read_cases(root, names, known):
                insert(connection, "cases", rows)
                insert(connection, "problems", problems)
        self.next = (known, notes)
        added = [name for name in names if name not in self.known]
        return Touched(*([f"{EVALSET}/{printable(name)}" for name in sorted(group)] for group in (added, old, gone)))

    def keep(self) -> None:
        """Remember the stamps of what was read."""
        self.known, self.notes = self.next


def _holds_any(connection: duckdb.DuckDBPyConnection) -> bool:
    query = "SELECT 1 FROM raw.cases UNION ALL SELECT 1 FROM raw.problems WHERE source = $source LIMIT 1"
    return connection.execute(query, {"source": SOURCE}).fetchone() is not None


@contextmanager
def _no_collections() -> Iterator[None]:
    """Keep Python from looking for cycles among thousands of rows that have none: a tenth of the time of a load."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()
