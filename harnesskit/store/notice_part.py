"""The part of a load that reads the mailbox: a notice file is read again only when it changed."""

from __future__ import annotations

from pathlib import Path

import duckdb

from harnesskit.store.database import delete, insert
from harnesskit.store.load import NOTHING, Touched, replace_problems
from harnesskit.store.stamps import Stamps, changes, stamps_of
from harnesskit.workspace.documents import list_documents
from harnesskit.workspace.layout import MAILBOX_STATUS, PENDING, PROCESSED
from harnesskit.workspace.mailbox import SOURCE, check_status, read_notice_file
from harnesskit.workspace.problems import Problem


class NoticePart:
    """Notice files of both folders, and the mailbox's summary."""

    source = SOURCE

    def __init__(self) -> None:
        self.stamps: Stamps = {}
        self.next: Stamps = {}

    def refresh(self, root: Path, connection: duckdb.DuckDBPyConnection) -> Touched:
        """Read the new and changed notices."""
        self.next = stamps_of(root, (PENDING, PROCESSED, MAILBOX_STATUS))
        touched = changes(self.stamps, self.next)
        if touched == NOTHING:
            return NOTHING
        stale = [*touched.added, *touched.changed, *touched.gone]
        delete(connection, "notices", "file", stale)
        replace_problems(connection, SOURCE, [*stale, PENDING, PROCESSED, MAILBOX_STATUS], [])
        problems: list[Problem] = []
        for folder in (PROCESSED, PENDING):
            names, said = list_documents(root / folder, SOURCE, folder)
            problems += said
            rows = []
            for name in names:
                path = f"{folder}/{name}"
                if path not in self.next or self.stamps.get(path) == self.next[path]:
                    continue  # read before, or come since the look and left to the next
                notice, said = read_notice_file(root / path, folder, name)
                problems += said
                rows += [tuple(value for _, value in notice)] if notice else []
            insert(connection, "notices", rows)
        pending = connection.execute(
            "SELECT count(*) FROM raw.notices WHERE starts_with(file, $folder || '/')", {"folder": PENDING}
        ).fetchall()
        insert(connection, "problems", [*problems, *check_status(root, pending[0][0])])
        return touched

    def keep(self) -> None:
        """Remember the stamps of what was read."""
        self.stamps = self.next
