"""A file of lines as Arrow batches: a few megabytes at a time, each line numbered and never copied."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from harnesskit.model.errors import WorkspaceError

BLOCK = 8 * 1024 * 1024
LONGEST = 64 * 1024 * 1024
"""Longest line that is read, in bytes."""

LINES = pa.schema([("line", pa.int64()), ("raw", pa.string())])
_BOM = b"\xef\xbb\xbf"


def line_batches(path: Path) -> Iterator[pa.RecordBatch]:
    """Yield the lines of a file with their numbers, from 1; an empty line keeps its number.

    Bytes that are not UTF-8 are replaced, so that the line is refused as what it is and nothing else is lost.

    Raises
    ------
    WorkspaceError
        A line is longer than `LONGEST`.
    """
    number, rest = 1, b""
    with path.open("rb") as file:
        if file.read(len(_BOM)) != _BOM:
            file.seek(0)
        while block := file.read(BLOCK):
            end = block.rfind(b"\n") + 1
            if not end:
                rest += block
                if len(rest) > LONGEST:
                    raise WorkspaceError(
                        f"cannot import {path}: line {number:,} is longer than {LONGEST / 1e6:,.0f} MB, so this is no "
                        "file of one sample per line. Nothing was imported."
                    )
                continue
            batch = _batch(rest + block[:end], number)
            rest = block[end:]
            number += batch.num_rows
            yield batch
    if rest:
        yield _batch(rest, number)


def _batch(data: bytes, first: int) -> pa.RecordBatch:
    ends = np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == 10) + 1
    if not len(ends) or ends[-1] != len(data):
        ends = np.append(ends, len(data))
    offsets = np.concatenate([[0], ends]).astype(np.int32)
    if not data.isascii():
        try:
            data.decode("utf-8")
        except UnicodeDecodeError:
            return _mended(data, offsets, first)
    raw = pa.StringArray.from_buffers(len(ends), pa.py_buffer(offsets), pa.py_buffer(data))
    return _numbered(raw, first)


def _mended(data: bytes, offsets: np.ndarray, first: int) -> pa.RecordBatch:
    """Return lines of which one is not UTF-8: that one is cut off at the first such byte, so it is no JSON any more."""
    whole = []
    for begin, end in itertools.pairwise(offsets.tolist()):
        line = data[begin:end]
        try:
            whole.append(line.decode("utf-8"))
        except UnicodeDecodeError as error:
            whole.append(f"not UTF-8 at byte {error.start}")
    return _numbered(pa.array(whole, pa.string()), first)


def _numbered(raw: pa.StringArray, first: int) -> pa.RecordBatch:
    number = pa.array(np.arange(first, first + len(raw), dtype=np.int64))
    return pa.RecordBatch.from_arrays([number, raw], schema=LINES)
