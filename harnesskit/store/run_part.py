"""The part of a load that reads our own run folders: a run is read again when one of its two files changed."""

from __future__ import annotations

from pathlib import Path

import duckdb

from harnesskit.store.database import delete, insert
from harnesskit.store.load import NOTHING, Touched, replace_problems
from harnesskit.store.stamps import Stamps, changes, stamps_of
from harnesskit.workspace.layout import RUNS
from harnesskit.workspace.runs import RUN_FILE, SAMPLES_FILE, SOURCE, read_run, run_folders


class RunPart:
    """Run folders."""

    source = SOURCE

    def __init__(self) -> None:
        self.stamps: dict[str, Stamps] = {}
        self.ids: dict[str, str] = {}
        self.next: tuple[dict[str, Stamps], dict[str, str]] = ({}, {})

    def refresh(self, root: Path, connection: duckdb.DuckDBPyConnection) -> Touched:
        """Read the new and changed runs."""
        stamps: dict[str, Stamps] = {}
        for folder in run_folders(root):
            name = f"{RUNS}/{folder.name}"
            stamps[name] = stamps_of(root, (f"{name}/{RUN_FILE}", f"{name}/{SAMPLES_FILE}"), suffix="/")
        again = [name for name in stamps if self.stamps.get(name) != stamps[name]]
        gone = [name for name in self.stamps if name not in stamps]
        if not again and not gone:
            return NOTHING
        ids = {name: run_id for name, run_id in self.ids.items() if name in stamps and name not in again}
        stale = [self.ids[name] for name in [*again, *gone] if name in self.ids]
        for table in ("runs", "samples", "scores"):
            delete(connection, table, "run_id", stale)
        for name in [*again, *gone]:
            connection.execute(
                "DELETE FROM raw.problems WHERE source = $source AND (file = $name OR starts_with(file, $name || '/'))",
                {"source": SOURCE, "name": name},
            )
        for name in again:
            run, samples, scores, problems = read_run(root / name)
            ids[name] = run.run_id
            insert(connection, "runs", [run])
            insert(connection, "samples", samples)
            insert(connection, "scores", [(run.run_id, *score) for score in scores])
            replace_problems(connection, SOURCE, [], problems)
        self.next = (stamps, ids)
        before = {file: stamp for group in self.stamps.values() for file, stamp in group.items()}
        after = {file: stamp for group in stamps.values() for file, stamp in group.items()}
        return changes(before, after)

    def keep(self) -> None:
        """Remember the stamps of what was read."""
        self.stamps, self.ids = self.next
