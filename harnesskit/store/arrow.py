"""Arrow tables to pandas frames that look the same under pandas 2 and 3 and change no value."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pandas as pd
import pyarrow as pa

_NULLABLE: dict[pa.DataType, Any] = {
    pa.int8(): pd.Int8Dtype(),
    pa.int16(): pd.Int16Dtype(),
    pa.int32(): pd.Int32Dtype(),
    pa.int64(): pd.Int64Dtype(),
    pa.uint8(): pd.UInt8Dtype(),
    pa.uint16(): pd.UInt16Dtype(),
    pa.uint32(): pd.UInt32Dtype(),
    pa.uint64(): pd.UInt64Dtype(),
    pa.bool_(): pd.BooleanDtype(),
}


class Labels(list[Any]):
    """A list that can be a key, so that ``drop_duplicates()`` and ``groupby`` work on a frame that holds it.

    It equals, prints and behaves as a list. Do not change one in place: copy it with ``list(labels)`` first.
    """

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self))


def to_frame(table: pa.Table, *, whole: Collection[int] = ()) -> pd.DataFrame:
    """Return an Arrow table as a frame on a plain index.

    Integers come as ``Int64`` and booleans as ``boolean``, so that a missing one turns nothing into a float; text as
    ``object`` with None for missing; times as ``datetime64[us, UTC]``; lists as lists. Columns at the places in `whole`
    hold whole numbers as text.
    """
    columns = [
        _whole(column.to_pylist()) if place in whole else _series(column) for place, column in enumerate(table.columns)
    ]
    frame = pd.DataFrame(dict(enumerate(columns)), index=pd.RangeIndex(table.num_rows))
    frame.columns = pd.Index(table.column_names, dtype=object)
    return frame


def _series(column: pa.ChunkedArray) -> Any:
    kind = column.type
    if pa.types.is_timestamp(kind):
        times = column.cast(pa.timestamp("us")).to_numpy()
        return pd.Series(times).dt.tz_localize("UTC")
    if kind in _NULLABLE:
        return column.to_pandas(types_mapper=_NULLABLE.get)
    if pa.types.is_decimal(kind) and kind.scale == 0:  # what DuckDB's sum() of integers gives
        return _whole(column.to_pylist())
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return column.cast(pa.float64()).to_pandas()
    values = column.to_pylist()
    if pa.types.is_list(kind):
        values = [None if value is None else Labels(value) for value in values]
    return pd.Series(values, dtype=object)


def _whole(values: list[Any]) -> Any:
    """Return whole numbers of any size: ``Int64`` when they all fit, else exact Python ints."""
    ints = [None if value is None else int(value) for value in values]
    fits = all(value is None or -(2**63) <= value < 2**63 for value in ints)
    return pd.Series(ints, dtype="Int64" if fits else object)
