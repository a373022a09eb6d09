"""Values of other people's code as plain JSON data."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Set
from numbers import Integral, Real
from typing import Any

from pydantic import BaseModel

from harnesskit.workspace.reading import MAX_DEPTH, clean_text, to_json

LARGEST = 2**63


def plain(value: Any, levels: int = MAX_DEPTH - 2) -> Any:
    """Return `value` as JSON data: objects of pydantic and dataclasses by their fields, anything unknown as its text.

    NaN and infinities, which JSON does not have, and what is nested too deep, are kept as text too.

    Examples
    --------
    >>> plain({"scores": (1, float("nan")), 7: {"a"}})
    {'scores': [1, 'nan'], '7': ['a']}
    """
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, Real):
        return _number(value)
    if isinstance(value, BaseModel):
        value = value.model_dump()
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {one.name: getattr(value, one.name) for one in dataclasses.fields(value)}
    if levels > 0 and isinstance(value, Mapping):
        return {str(name): plain(inner, levels - 1) for name, inner in value.items()}
    if levels > 0 and isinstance(value, (list, tuple)):
        return [plain(inner, levels - 1) for inner in value]
    if levels > 0 and isinstance(value, Set):
        return [plain(inner, levels - 1) for inner in sorted(value, key=repr)]
    try:
        return str(value)
    except Exception:  # an object whose text cannot be had still ended its replay
        return f"<{type(value).__name__}>"


def _number(value: Real) -> Any:
    if isinstance(value, Integral):
        return int(value)
    number = float(value)
    return number if math.isfinite(number) else str(number)


def plain_json(value: Any) -> str | None:
    """Return `value` as JSON text; None stays None.

    Examples
    --------
    >>> plain_json({"answer": 42})
    '{"answer":42}'
    """
    return None if value is None else clean_text(to_json(plain(value)))


def count_or_none(value: Any) -> int | None:
    """Return a whole number from 0 up as it is, anything else as None."""
    if isinstance(value, Integral) and not isinstance(value, bool) and 0 <= int(value) < LARGEST:
        return int(value)
    return None


def amount_or_none(value: Any) -> float | None:
    """Return a finite number from 0 up as a float, anything else as None."""
    if isinstance(value, Real) and not isinstance(value, bool) and 0 <= float(value) < math.inf:
        return float(value)
    return None
