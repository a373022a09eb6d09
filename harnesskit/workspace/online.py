"""Production samples as Parquet: ``harnesskit/online/<source>/date=YYYY-MM-DD/part-*.parquet``, one flat row per score.

One row per sample and metric; a sample without scores has one row without metric. What is large (input, output, steps,
attributes) stands on one row of the sample only, the one with `head` true, so that counting samples is a filter.
"""

from __future__ import annotations

import hashlib
import io
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from harnesskit.model.errors import WorkspaceError, listed, nearest
from harnesskit.workspace.atomic import write_atomic
from harnesskit.workspace.layout import ONLINE
from harnesskit.workspace.safe_names import safe_name

_TEXT, _COUNT, _NUMBER, _FLAG = pa.string(), pa.int64(), pa.float64(), pa.bool_()
_TIME = pa.timestamp("us", tz="UTC")
ONLINE_SCHEMA = pa.schema(
    [
        pa.field("sample_id", _TEXT, nullable=False),
        *((name, _TEXT) for name in ("run_id", "case_id", "session_id", "trace_id")),
        ("turn_index", _COUNT),
        ("arm", _TEXT),
        ("trial", _COUNT),
        ("attempt", _COUNT),
        ("counts", _FLAG),
        ("pair", _TEXT),
        ("round", _COUNT),
        ("cluster", _TEXT),
        ("occurred_at", _TIME),
        *((name, _TEXT) for name in ("status", "reason", "input", "output", "steps", "error")),
        ("duration_s", _NUMBER),
        ("env_wait_s", _NUMBER),
        ("input_tokens", _COUNT),
        ("output_tokens", _COUNT),
        ("cost_usd", _NUMBER),
        ("candidate_surfaced", _FLAG),
        *((name, _TEXT) for name in ("attributes", "metric", "grader", "grader_version")),
        ("value", _NUMBER),
        ("score_status", _TEXT),
        ("score_reason", _TEXT),
        pa.field("head", _FLAG, nullable=False),
        ("source", _TEXT),
        ("version", _TEXT),
    ]
)
"""Columns of every part: those of SAMPLES (JSON as text), those of SCORES, then `head`, `source` and `version`."""

HEAVY = ("input", "output", "steps", "attributes")
"""Columns that only the row with `head` holds."""

NO_DATE = "unknown"
"""Folder of samples without a time."""


def write_online(root: Path, source: str, table: pa.Table) -> list[Path]:
    """Write flat rows, one file per day, and return the files, sorted by day.

    A file is named after what is in it, so that writing the same rows again changes nothing. Rows are ordered by
    time, sample, metric and grader.

    Parameters
    ----------
    root
        The workspace.
    source
        Where the samples came from; any text.
    table
        Columns of `ONLINE_SCHEMA`; missing ones are null. All rows of one sample must be in one call, with what is
        large on the first of them (or on the one whose `head` is true, when that column is given). `run_id` defaults
        to ``online:<source>``, `counts` to true, `attempt` to 1.

    Raises
    ------
    WorkspaceError
        A column is not known or cannot be cast, a sample has no id, or `head` is not true once per sample.
    """
    if not table.num_rows:
        return []
    flat = _heads(_to_schema(table, source))
    order = [(name, "ascending") for name in ("occurred_at", "sample_id", "metric", "grader")]
    flat = flat.take(pc.sort_indices(flat, sort_keys=order)).combine_chunks()
    days = pc.fill_null(flat["occurred_at"].cast(pa.date32()).cast(_TEXT), NO_DATE).to_numpy(zero_copy_only=False)
    starts = np.flatnonzero(np.r_[True, days[1:] != days[:-1]])
    written = []
    for start, end in zip(starts, [*starts[1:], len(days)], strict=True):
        part = flat.slice(start, end - start)
        folder = root / ONLINE / safe_name(source) / f"date={days[start]}"
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"part-{_digest(part)}.parquet"
        write_atomic(path, _parquet(part))
        written.append(path)
    return sorted(written)


def online_files(root: Path) -> list[Path]:
    """Return the Parquet files of all sources, sorted; drafts that a crash left behind are not among them."""
    return sorted(path for path in (root / ONLINE).glob("*/date=*/part-*.parquet") if path.is_file())


def _to_schema(table: pa.Table, source: str) -> pa.Table:
    unknown = [name for name in table.column_names if name not in ONLINE_SCHEMA.names]
    if unknown:
        named = listed([f"{name!r}{nearest(name, ONLINE_SCHEMA.names)}" for name in unknown])
        raise WorkspaceError(f"write_online() knows no column {named}; put what is extra into attributes.")
    filled = {"run_id": f"online:{source}", "counts": True, "attempt": 1, "source": source}
    columns = []
    for field in ONLINE_SCHEMA:
        if field.name in table.column_names:
            try:
                column = table[field.name].cast(field.type)
            except pa.ArrowInvalid as error:
                found = table[field.name].type
                raise WorkspaceError(
                    f"write_online() needs {field.name} as {field.type}, found {found}: {error}"
                ) from None
        else:
            column = pa.repeat(pa.scalar(filled.get(field.name), field.type), table.num_rows)
        columns.append(column)
    loose = pa.schema([field.with_nullable(True) for field in ONLINE_SCHEMA])  # head is settled after this
    flat = pa.Table.from_arrays(columns, schema=loose)
    if flat["sample_id"].null_count:
        raise WorkspaceError(
            f"write_online() needs a sample_id on every row; {flat['sample_id'].null_count} have none."
        )
    return flat


def _heads(flat: pa.Table) -> pa.Table:
    """Return the rows with one head per sample, and with what is large on the head only."""
    codes = flat["sample_id"].combine_chunks().dictionary_encode().indices.to_numpy()
    samples, first = np.unique(codes, return_index=True)
    if flat["head"].null_count == flat.num_rows:
        heads = np.zeros(flat.num_rows, dtype=bool)
        heads[first] = True
    else:
        heads = pc.fill_null(flat["head"], False).to_numpy().astype(bool)
        per_sample = np.bincount(codes[heads], minlength=len(samples))
        if (per_sample != 1).any():
            wrong = flat["sample_id"][int(first[np.flatnonzero(per_sample != 1)[0]])].as_py()
            raise WorkspaceError(f"write_online() needs head to be true on one row per sample; not so for {wrong!r}.")
    is_head = pa.array(heads)
    for name in HEAVY:
        at = ONLINE_SCHEMA.get_field_index(name)
        flat = flat.set_column(at, name, pc.if_else(is_head, flat[name], pa.scalar(None, _TEXT)))
    flat = flat.set_column(ONLINE_SCHEMA.get_field_index("head"), "head", is_head)
    return pa.Table.from_arrays(flat.columns, schema=ONLINE_SCHEMA)


def _digest(part: pa.Table) -> str:
    """Return a name for the rows that depends on their values only, not on the version of the Parquet writer."""
    digest = hashlib.sha256()
    for name in part.column_names:
        column = part[name].combine_chunks()
        digest.update(column.is_valid().to_numpy(zero_copy_only=False).tobytes())
        if column.type == _TEXT:
            digest.update(pc.binary_length(pc.fill_null(column, "")).to_numpy(zero_copy_only=False).tobytes())
            digest.update("".join(pc.fill_null(column, "").to_pylist()).encode("utf-8"))
        else:
            numbers = column.cast(_COUNT) if column.type in (_TIME, _FLAG) else column
            digest.update(pc.fill_null(numbers, 0).to_numpy(zero_copy_only=False).tobytes())
    return digest.hexdigest()[:16]


def _parquet(part: pa.Table) -> bytes:
    sink = io.BytesIO()
    # statistics only where queries filter: on narrow files they weigh more than the data
    pq.write_table(part, sink, compression="zstd", compression_level=9, write_statistics=["occurred_at", "metric"])
    return sink.getvalue()
