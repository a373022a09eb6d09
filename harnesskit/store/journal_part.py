"""The part of a load that follows the journal: events, the regression runs and the notices found in it."""

from __future__ import annotations

from pathlib import Path

import duckdb

from harnesskit.store.database import insert
from harnesskit.store.load import NOTHING, Touched
from harnesskit.store.stamps import Stamps, bytes_before, changes, stamps_of
from harnesskit.workspace.journal import SOURCE, Journal, read_journal
from harnesskit.workspace.journaled import journaled_runs
from harnesskit.workspace.layout import JOURNAL
from harnesskit.workspace.mailbox import merge_journal_notices


class JournalPart:
    """The journal: when it grew, only what was appended is read."""

    source = SOURCE

    def __init__(self) -> None:
        self.stamps: Stamps = {}
        self.end, self.line, self.tail = 0, 1, b""
        self.next: tuple[Stamps, int, int, bytes] = ({}, 0, 1, b"")

    def refresh(self, root: Path, connection: duckdb.DuckDBPyConnection) -> Touched:
        """Read the appended records, or everything when the file was replaced."""
        stamps = stamps_of(root, (JOURNAL,))
        touched = changes(self.stamps, stamps)
        if touched == NOTHING:
            return NOTHING
        start, line = (self.end, self.line) if self._grew(root, stamps) else (0, 1)
        found = read_journal(root / JOURNAL, start=start, start_line=line)
        self._put(connection, found, line if found.start else 1)
        self.next = (stamps, found.end, found.next_line or 1, bytes_before(root / JOURNAL, found.end))
        return touched

    def _grew(self, root: Path, stamps: Stamps) -> bool:
        """Whether the file is the one that was read, only longer: what stands before the new part tells."""
        old, new = self.stamps.get(JOURNAL), stamps.get(JOURNAL)
        if old is None or new is None or new[2] != old[2] or new[0] <= old[0]:
            return False
        return bytes_before(root / JOURNAL, self.end) == self.tail

    def _put(self, connection: duckdb.DuckDBPyConnection, found: Journal, line: int) -> None:
        connection.execute(
            "DELETE FROM raw.problems WHERE source = 'journal' AND (line >= $line OR line IS NULL)", {"line": line}
        )
        connection.execute(
            "DELETE FROM raw.notices WHERE file IS NULL AND notice_id IN "
            "(SELECT payload ->> '$.id' FROM raw.events WHERE \"offset\" >= $start AND type = 'notice')",
            {"start": found.start},
        )
        connection.execute('DELETE FROM raw.events WHERE "offset" >= $start', {"start": found.start})
        for table in ("runs", "samples", "scores"):
            connection.execute(
                f"DELETE FROM raw.{table} WHERE run_id LIKE 'journal:%' "  # noqa: S608 - a name of this package
                "AND TRY_CAST(substr(run_id, 9) AS BIGINT) >= $start",
                {"start": found.start},
            )
        runs = journaled_runs(found.events)
        run_of = {sample.sample_id: sample.run_id for sample in runs.samples}
        notices = merge_journal_notices([], found.events)
        insert(connection, "events", found.events)
        insert(connection, "runs", runs.runs)
        insert(connection, "samples", runs.samples)
        insert(connection, "scores", [(run_of[score.sample_id], *score) for score in runs.scores])
        insert(connection, "notices", [tuple(value for _, value in notice) for notice in notices.notices])
        insert(connection, "problems", [*found.problems, *runs.problems])

    def keep(self) -> None:
        """Remember how far the journal was read."""
        self.stamps, self.end, self.line, self.tail = self.next
