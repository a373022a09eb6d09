"""The part of a load that reads our own run folders: a run is read again when one of its two files changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import duckdb

from harnesskit.model.errors import listed
from harnesskit.store.database import delete, insert
from harnesskit.store.load import NOTHING, Touched
from harnesskit.store.stamps import Stamps, changes, stamps_of
from harnesskit.workspace.evalset import printable
from harnesskit.workspace.layout import RUNS
from harnesskit.workspace.problems import Problem
from harnesskit.workspace.runs import RUN_FILE, SAMPLES_FILE, SOURCE, read_run, run_folders

RESERVED = ("captured", "journal:", "online:")
"""Run ids that this package gives itself: no folder may claim one."""


class Held(NamedTuple):
    """What is known of the run folders: their stamps and their run ids, by path relative to the workspace."""

    stamps: dict[str, Stamps]
    ids: dict[str, str]


class RunPart:
    """Run folders."""

    source = SOURCE

    def __init__(self) -> None:
        self.held = self.next = Held({}, {})

    def refresh(self, root: Path, connection: duckdb.DuckDBPyConnection) -> Touched:
        """Read the new and changed runs, and those that share an id with one that came, changed or went."""
        stamps: dict[str, Stamps] = {}
        for folder in run_folders(root):
            name = f"{RUNS}/{folder.name}"
            stamps[name] = stamps_of(root, (f"{name}/{RUN_FILE}", f"{name}/{SAMPLES_FILE}"), suffix="/")
        again = [name for name in stamps if self.held.stamps.get(name) != stamps[name]]
        gone = [name for name in self.held.stamps if name not in stamps]
        if not again and not gone:
            return NOTHING
        read = {name: read_run(root / name) for name in again}
        ids = {name: read[name][0].run_id if name in read else self.held.ids[name] for name in stamps}
        concerned = {ids[name] for name in again} | {
            self.held.ids[name] for name in [*again, *gone] if name in self.held.ids
        }
        folders = [name for name in stamps if ids[name] in concerned]
        self._clear(connection, concerned, [*folders, *gone])
        for name in folders:
            same = [other for other in folders if ids[other] == ids[name]]
            _put(connection, name, read.get(name) or read_run(root / name), same)
        self.next = Held(stamps, ids)
        before = {file: stamp for group in self.held.stamps.values() for file, stamp in group.items()}
        after = {file: stamp for group in stamps.values() for file, stamp in group.items()}
        return changes(before, after)

    def _clear(self, connection: duckdb.DuckDBPyConnection, run_ids: set[str], folders: list[str]) -> None:
        own = [run_id for run_id in run_ids if not run_id.startswith(RESERVED)]
        for table in ("runs", "samples", "scores"):
            delete(connection, table, "run_id", own)
        for name in folders:
            connection.execute(
                "DELETE FROM raw.problems WHERE source = $source AND (file = $name OR starts_with(file, $name || '/'))",
                {"source": SOURCE, "name": printable(name)},
            )

    def keep(self) -> None:
        """Remember what was read."""
        self.held = self.next


def _put(connection: duckdb.DuckDBPyConnection, name: str, found: tuple[Any, ...], same: list[str]) -> None:
    """Insert one run, or the problem that keeps it out."""
    run, samples, scores, problems = found
    refusal = None
    if run.run_id.startswith(RESERVED):
        refusal = (
            f"The run id {run.run_id!r} is one that harnesskit gives itself; the run was left out. Give it another."
        )
    elif len(same) > 1:
        refusal = (
            f"The run id {run.run_id!r} stands in {listed([printable(other) for other in same])}; none of them was "
            "loaded. Delete the copy, or give it its own id."
        )
    if refusal is None:
        insert(connection, "runs", [run])
        insert(connection, "samples", samples)
        insert(connection, "scores", [(run.run_id, *score) for score in scores])
    else:
        kind = "duplicate_id" if len(same) > 1 else "reserved_id"
        problems = [
            *problems,
            Problem(SOURCE, f"{printable(name)}/{RUN_FILE}", None, "run_id", "problem", kind, refusal),
        ]
    insert(connection, "problems", problems)
