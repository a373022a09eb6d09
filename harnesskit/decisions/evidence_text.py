"""Columns of evidence as JSON, character for character what `json.dumps` makes of their lists.

A hash of the evidence must stay the same from one release to the next, and spelling some 100,000 numbers one by one
would take longer than everything else in a decision.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa

from harnesskit.model.decision import Encoded

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray


_encode = json.JSONEncoder(allow_nan=False, default=str).encode


def encoded_columns(frame: pd.DataFrame, columns: Iterable[str]) -> Encoded:
    """Return the columns of a frame as a JSON object of lists, missing values as null.

    Examples
    --------
    >>> encoded_columns(pd.DataFrame({"n": [1, 2], "mean": [0.5, None]}), ["n", "mean"]).text
    '{"mean": [0.5, null], "n": [1, 2]}'
    """
    texts = [f"{json.dumps(name)}: [{', '.join(_spelled(frame[name]))}]" for name in sorted(columns)]
    return Encoded(f"{{{', '.join(texts)}}}")


def _spelled(column: pd.Series[Any]) -> list[str]:
    if column.dtype == np.float64 and not np.isinf(column).any():
        return _numbers(column.to_numpy())
    if column.dtype == object or pd.api.types.is_float_dtype(column.dtype):  # equal values may be spelt differently
        known = column.astype(object)
        return [_encode(value) for value in known.where(known.notna(), None)]
    codes, values = pd.factorize(column)
    known = np.asarray(values, dtype=object).tolist()
    labels = [*(_encode(value) for value in known), "null"]
    spelled: list[str] = np.array(labels, dtype=object)[codes].tolist()
    return spelled


def _numbers(values: NDArray[np.float64]) -> list[str]:
    """Return the shortest text of each number that reads back as the same, as `repr` gives it.

    Arrow finds the same digits ten times as fast, but writes whole numbers without a point and puts the exponent of
    small and large ones elsewhere; those are left to `repr`.
    """
    texts = pa.array(values).cast(pa.string()).to_numpy(zero_copy_only=False)
    size = np.abs(values)
    other = np.flatnonzero((size < 1e-3) | (size > 1e6) | (values == np.rint(values)))
    texts[other] = [repr(value) for value in values[other].tolist()]
    texts[np.isnan(values)] = "null"
    spelled: list[str] = texts.tolist()
    return spelled
