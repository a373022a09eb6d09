"""Graders of numbers: a number read by an explicit rule, and compared with a tolerance."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from decimal import Decimal
from typing import Any, Literal

from harnesskit.graders.grader import Grader, build
from harnesskit.graders.wordings import brief
from harnesskit.model.errors import GraderError
from harnesskit.model.grade import Grade
from harnesskit.model.metrics import Metric

MOST_DIGITS = 400
"""Characters of a number, and size of its exponent, up to which it is read."""


def numeric(
    *,
    absolute: float = 0.0,
    relative: float = 0.0,
    units: Iterable[str] = (),
    find: Literal["whole", "only", "last"] = "whole",
    thousands: str = "",
    decimal: str = ".",
    metric: str | Metric = "numeric",
    name: str = "numeric",
) -> Grader:
    """Return a grader: is the number in `output` that of `expected`? 1 or 0. Reads ``output, expected``.

    Equal when they differ by at most the larger of `absolute` and `relative` times the expected number. Both are read
    by one rule; output without a number is wrong, with a reason; several numbers where one is wanted are unscored.

    Parameters
    ----------
    absolute, relative
        Tolerances from 0; relative 0.01 is one percent of the expected number.
    units
        Texts that may stand before or after the number and are dropped, e.g. ``("USD", "$")``. Nothing is converted.
    find
        ``whole``: the text is the number; ``only``: it is the only number in the text; ``last``: the last one.
    thousands, decimal
        Separators inside a number; none between thousands unless it is given.

    Raises
    ------
    GraderError
        A tolerance is negative, or both separators are the same.

    Examples
    --------
    >>> grader = numeric(absolute=0.01, units=["USD"], find="last", thousands=",")
    >>> grader("The total is 1,024.50 USD.", 1024.5), grader("It is free.", 0).reason
    (True, "no number in 'It is free.'")
    """
    if min(absolute, relative) < 0 or not math.isfinite(absolute + relative):
        raise GraderError(f"numeric() needs tolerances from 0; found absolute={absolute!r}, relative={relative!r}.")
    if find not in ("whole", "only", "last") or decimal == thousands or not decimal:
        raise GraderError(
            f"numeric() needs find 'whole', 'only' or 'last' and two different separators; "
            f"found find={find!r}, thousands={thousands!r}, decimal={decimal!r}."
        )
    stripped = tuple(units)
    read = _reader(stripped, find, thousands, decimal)

    def close(output: Any, expected: Any) -> bool | Grade:
        wanted = read(expected)
        if not isinstance(wanted, Decimal):
            return Grade.unscored(f"expected: {wanted}")
        found = read(output)
        if not isinstance(found, Decimal):
            return Grade.unscored(found) if found.startswith("several") else Grade(False, found)
        allowed = max(Decimal(repr(absolute)), Decimal(repr(relative)) * abs(wanted))
        return abs(found - wanted) <= allowed or Grade(False, f"expected {wanted}, found {found}")

    settings = {"tolerance": [absolute, relative], "units": stripped, "read": [find, thousands, decimal]}
    return build(close, name=name, metric=metric, settings=settings)


def _reader(units: tuple[str, ...], find: str, thousands: str, decimal: str) -> Any:
    """Return what turns a cell into a number, or into words that say why it is none."""
    group = re.escape(thousands)
    digits = rf"(?:\d{{1,3}}(?:{group}\d{{3}})+|\d+)" if thousands else r"\d+"
    number = rf"[+-]?(?:{digits}(?:{re.escape(decimal)}\d+)?|{re.escape(decimal)}\d+)(?:[eE][+-]?\d{{1,3}})?"
    whole = re.compile(number)
    inside = re.compile(rf"(?<![\w{re.escape(decimal)}])(?:{number})(?!\w|{re.escape(decimal)}\d)")

    def read(cell: Any) -> Decimal | str:
        if isinstance(cell, bool) or not isinstance(cell, (int, float, str)):
            return f"no number: a value of type {type(cell).__name__}"
        if isinstance(cell, (int, float)):
            return Decimal(repr(cell)) if math.isfinite(cell) else f"{cell} is no finite number"
        text = cell
        for unit in units:
            text = text.replace(unit, " ")
        whole_text = [text.strip()] if whole.fullmatch(text.strip()) else []
        found = whole_text if find == "whole" else inside.findall(text)
        if not found:
            return f"no number in {brief(cell)}"
        if find == "only" and len(found) > 1:
            return f"several numbers in {brief(cell)}"
        if len(found[-1]) > MOST_DIGITS:
            return f"a number of {len(found[-1])} characters"
        plain = found[-1].replace(thousands, "") if thousands else found[-1]
        return Decimal(plain.replace(decimal, "."))

    return read
