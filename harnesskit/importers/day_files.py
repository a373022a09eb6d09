"""Rows as they come, written to one Parquet file per day."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

OPEN_FILES = 256
"""Most files written at the same time; with more days than that, a day has several files."""

REPEATED = ["run_id", "case_id", "arm", "cluster", "status", "metric", "grader", "score_status", "source", "version"]
"""Columns whose values repeat; a dictionary of any other costs time and saves nothing."""


def write_days(batches: Iterable[pa.RecordBatch], folder: Path) -> None:
    """Write the rows of each day to ``day=<day>/<n>.parquet``, in their order; the column ``day`` is not written."""
    writers: dict[str, pq.ParquetWriter] = {}
    with ExitStack() as files:
        for number, batch in enumerate(batches):
            for day, rows in _by_day(pa.Table.from_batches([batch])):
                if day not in writers:
                    if len(writers) >= OPEN_FILES:
                        files.pop_all().close()
                        writers.clear()
                    path = folder / f"day={day}" / f"{number:06d}.parquet"
                    path.parent.mkdir(exist_ok=True)
                    writer = pq.ParquetWriter(
                        path,
                        rows.schema,
                        compression="zstd",
                        compression_level=1,
                        write_statistics=["occurred_at"],
                        use_dictionary=REPEATED,
                    )
                    writers[day] = files.enter_context(writer)
                writers[day].write_table(rows)


def _by_day(table: pa.Table) -> Iterable[tuple[str, pa.Table]]:
    coded = table["day"].combine_chunks().dictionary_encode()
    rows = table.drop_columns(["day"])
    days = coded.dictionary.to_pylist()
    if len(days) == 1:
        return [(days[0], rows)]
    codes = coded.indices.to_numpy()
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes, minlength=len(days)))
    rows = rows.take(pa.array(order)) if (np.diff(codes) < 0).any() else rows
    starts = np.concatenate([[0], ends[:-1]])
    return [(day, rows.slice(s, e - s)) for day, s, e in zip(days, starts.tolist(), ends.tolist(), strict=True)]
