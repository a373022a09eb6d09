"""How the cells of a samples frame reach the parameters of a grader: one rule per column, never per frame.

The columns of `SAMPLES` and `CASES` that hold JSON are read: a JSON text becomes its characters, an object or a list
becomes a dict or a list. Text that is not JSON, and numbers, stay what they are, so a hand-made frame with plain
answers works like a stored one. A parameter annotated ``str`` gets text in any case, objects as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Literal, NoReturn

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from harnesskit.model.frames import CASES, SAMPLES
from harnesskit.workspace.reading import to_json

Reading = Literal["text", "json", "raw"]

JSON_COLUMNS = frozenset(
    name for table in (SAMPLES, CASES) for name, meaning in table.columns.items() if meaning.startswith("JSON ")
) - {"signature_key"}

NAN = float("nan")


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


_DECODER = json.JSONDecoder(parse_constant=_no_constant)


def decoded(value: Any) -> Any:
    """Return what a text stands for when it is a JSON object, list or string; anything else as it is.

    Examples
    --------
    >>> decoded('{"a": 1}'), decoded('"Paris"'), decoded("Paris"), decoded("42"), decoded('"Paris" it is')
    ({'a': 1}, 'Paris', 'Paris', '42', '"Paris" it is')
    """
    if type(value) is str and value[:1] in ("{", "[", '"'):
        try:
            return _DECODER.decode(value)
        except (ValueError, RecursionError):  # plain text that only begins like JSON
            return value
    return value


def unquoted(value: Any) -> Any:
    """Return a JSON string as its characters, anything else as it is.

    Examples
    --------
    >>> unquoted('"Paris"'), unquoted('{"a": 1}')
    ('Paris', '{"a": 1}')
    """
    return decoded(value) if type(value) is str and value[:1] == '"' else value


def as_text(value: Any) -> str:
    """Return text as it is, and any other value as compact JSON.

    Examples
    --------
    >>> as_text("a"), as_text({"b": [1, True]}), as_text(3.5)
    ('a', '{"b":[1,true]}', '3.5')
    """
    if isinstance(value, str):
        return value
    try:
        return to_json(value)
    except (TypeError, ValueError, RecursionError):
        return str(value)


def cell_reader(column: str, reading: Reading) -> Callable[[Any], Any] | None:
    """Return what turns a cell of `column` into what a parameter gets; None when the cell is taken as it is."""
    stored = column in JSON_COLUMNS
    if reading == "text":
        return (lambda value: as_text(unquoted(value))) if stored else as_text
    if stored or reading == "json":
        return decoded
    return None


def is_missing(value: Any) -> bool:
    """Whether a cell holds nothing: None, NaN, NaT or NA.

    Examples
    --------
    >>> is_missing(None), is_missing(NAN), is_missing([]), is_missing("")
    (True, True, False, False)
    """
    if value is None or value is pd.NA or value is pd.NaT:
        return True
    return isinstance(value, (float, np.floating)) and bool(value != value)


class Cells:
    """The columns of a samples frame as lists of Python values, each read once however many graders use it."""

    def __init__(self, samples: pd.DataFrame) -> None:
        self._samples = samples
        self._read: dict[tuple[str, Reading], list[Any]] = {}
        self._missing: dict[str, NDArray[np.bool_]] = {}

    def __len__(self) -> int:
        """Return the number of samples."""
        return len(self._samples)

    def missing(self, column: str) -> NDArray[np.bool_]:
        """Return which cells of `column` hold nothing."""
        if column not in self._missing:
            self._missing[column] = self._samples[column].isna().to_numpy(dtype=bool)
        return self._missing[column]

    def values(self, column: str, reading: Reading = "raw") -> list[Any]:
        """Return the cells of `column` as a parameter gets them; a missing cell is None."""
        key = (column, reading)
        if key not in self._read:
            read = cell_reader(column, reading)
            cells = self._samples[column].tolist()
            if read is not None:
                plain = reading == "text"  # most cells are text already
                cells = [cell if plain and type(cell) is str and cell[:1] != '"' else read(cell) for cell in cells]
            missing = self.missing(column)
            for place in np.flatnonzero(missing).tolist():
                cells[place] = None
            self._read[key] = cells
        return self._read[key]

    def rows(self, reading: Reading) -> list[Any]:
        """Return every sample as a mapping, a missing cell None; ``json`` reads the columns that hold JSON."""
        names = list(self._samples.columns)
        lists = [self.values(name, reading if name in JSON_COLUMNS else "raw") for name in names]
        return [dict(zip(names, row, strict=True)) for row in zip(*lists, strict=True)]
