"""The one place where a value becomes a cell: what is missing, how many digits, which words."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, Literal

import numpy as np
import pandas as pd

from harnesskit.model.text import shorten

Kind = Literal[
    "text", "number", "change", "count", "percent", "interval", "range", "of", "pair", "arrow", "mark", "flag",
    "status", "state", "time", "auto",
]  # fmt: skip
DASH = "–"
TEXT_LIMIT = 400
NUMERIC: tuple[Kind, ...] = ("number", "change", "count", "percent", "interval", "range", "of", "pair", "arrow")
SYMBOLS = {
    "regressed": "▼", "improved": "▲", "unchanged": "●", "inconclusive": "○", "skipped": "×",
    "met": "✓", "unmet": "✗", "unknown": "?", "pass": "✓", "fail": "✗", "promote": "✓", "retire": "✗", "pending": "○",
}  # fmt: skip


@dataclass(frozen=True)
class Column:
    """How one column of a table is shown.

    Attributes
    ----------
    name
        Column of the frame.
    label
        Heading in words.
    kind
        What its values are; ``auto`` decides by the values, ``mark`` is a flag that shows only when it is set.
    other
        The column with the upper end of an interval (of a change) or range (of a share), the whole that a count is of,
        the second of a pair, or the flag that makes a status suspect.
    rare
        Whether it is seldom needed: folded under the table where the format can fold.
    """

    name: str
    label: str
    kind: Kind = "auto"
    other: str | None = None
    rare: bool = False


@dataclass(frozen=True)
class Cell:
    """One cell: its text, and its kind for alignment and colour."""

    text: str
    kind: Kind
    tone: str = ""


def cell(value: Any, kind: Kind = "auto", high: Any = None) -> Cell:
    """Return the cell for `value`.

    Missing text is blank, a missing number is a dash, booleans are words, lists and objects are JSON text, times are
    ISO in UTC, whole numbers are exact, other numbers have three digits after the point (fewer when large).

    Examples
    --------
    >>> [cell(v, "number").text for v in (0.5, 0, 123.456, 9007199254740993, float("nan"), 1e-7)]
    ['0.500', '0', '123.5', '9007199254740993', '–', '1e-07']
    >>> cell(datetime(2026, 6, 1, 10, 0, 0, 123, tzinfo=UTC), "time").text
    '2026-06-01T10:00:00Z'
    >>> cell(None, "text").text, cell("nan", "text").text, cell(True).text, cell([1, "a"]).text
    ('', 'nan', 'yes', '[1, "a"]')
    >>> cell(-0.2, "interval", high=0.05).text
    '-0.200 to +0.050'
    >>> cell(0.61, "range", high=0.81).text
    '0.610 to 0.810'
    >>> cell("inconclusive", "status", high=True).text, cell(0.9, "arrow", high=0.62).text
    ('○ suspect', '0.900 → 0.620')
    """
    if kind in ("interval", "range"):
        return Cell(_interval(value, high, signed=kind == "interval"), kind)
    if kind == "arrow":
        return Cell(f"{cell(value, 'number').text} → {cell(high, 'number').text}", kind)
    if kind in ("of", "pair"):
        between = " of " if kind == "of" else " / "
        return Cell(cell(value, "count").text + between + cell(high, "count").text, kind)
    if missing(value):
        return Cell(DASH if kind in NUMERIC else "", "text" if kind == "auto" else kind)
    if kind in ("status", "state"):
        word = str(value)
        said = "suspect" if not missing(high) and bool(high) and word == "inconclusive" else word
        return Cell(f"{SYMBOLS[word]} {said}" if word in SYMBOLS else said, kind, word if word in SYMBOLS else "")
    if kind == "time":
        return Cell(re.sub(r"\.\d+(?=Z$)", "", as_text(value)), "text")
    if isinstance(value, bool | np.bool_):
        return Cell("yes" if value else "" if kind == "mark" else "no", "flag")
    if isinstance(value, int | float | Decimal | np.number):
        return Cell(_digits(value, kind), kind if kind in NUMERIC else "number")
    return Cell(shorten(as_text(value), TEXT_LIMIT), "text")


def missing(value: Any) -> bool:
    """Whether `value` is None, NaN, NA or NaT (the words "nan" and "None" are text and are not)."""
    if value is None or value is pd.NA or value is pd.NaT:
        return True
    return isinstance(value, float | np.floating | Decimal) and math.isnan(value)


def as_text(value: Any) -> str:
    """Return a value that is not a number as text: lists and objects as JSON, times as ISO in UTC."""
    if isinstance(value, str):
        return value
    if isinstance(value, datetime | date | np.datetime64):
        return utc(value)
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple | dict):
        try:
            return json.dumps(finite(value), ensure_ascii=False, default=str)
        except (ValueError, RecursionError):
            return f"[{type(value).__name__} nested too deep to show]"
    return str(value)


def finite(value: Any) -> Any:
    """Return plain data in which every number that is not finite is None."""
    if isinstance(value, dict):
        return {str(k): finite(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [finite(v) for v in value]
    if isinstance(value, np.generic):
        return finite(value.item())
    return None if isinstance(value, float) and not math.isfinite(value) else value


def utc(value: Any) -> str:
    """Return a time as ISO text in UTC (a time without zone is read as UTC), a plain date as it is."""
    if isinstance(value, date) and not isinstance(value, datetime):
        return value.isoformat()
    stamp = pd.Timestamp(value)
    stamp = stamp.tz_localize(UTC) if stamp.tzinfo is None else stamp.tz_convert(UTC)
    return stamp.to_pydatetime(warn=False).isoformat().replace("+00:00", "Z")


def number(value: float, *, signed: bool = False) -> str:
    """Return a number with the digits that a reader can use.

    Examples
    --------
    >>> number(-0.31), number(0.05, signed=True), number(1234567.8), number(float("inf"))
    ('-0.310', '+0.050', '1,234,568', '∞')
    """
    size = abs(value)
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if size < 1e-12:
        return "0"
    if size >= 1e12 or size < 5e-4:
        text = f"{value:.2g}"
    elif size >= 1000:
        text = f"{value:,.0f}"
    else:
        text = f"{value:.{1 if size >= 100 else 2 if size >= 10 else 3}f}"
    return f"+{text}" if signed and value > 0 else text


def _digits(value: Any, kind: Kind) -> str:
    if isinstance(value, int | np.integer):
        return f"{value:+d}" if kind == "change" and value else str(value)
    if kind == "count" and float(value).is_integer():
        return str(int(value))
    if kind == "percent":
        return f"{value:+.1f} %" if math.isfinite(value) else DASH
    return number(float(value), signed=kind == "change")


def _interval(low: Any, high: Any, *, signed: bool) -> str:
    ends = [None if missing(end) or math.isinf(end) else float(end) for end in (low, high)]
    if ends[0] is None and ends[1] is None:
        return DASH
    if ends[0] is None or ends[1] is None:
        only, word = (ends[1], "below") if ends[0] is None else (ends[0], "above")
        return f"{word} {number(only or 0.0, signed=signed)}"
    return f"{number(ends[0], signed=signed)} to {number(ends[1], signed=signed)}"
