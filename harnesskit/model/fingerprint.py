"""Fingerprints: what produced the samples of a run (agent, prompt, model, tools, judge, rules), field by field."""

from __future__ import annotations

import json
import math
from typing import Any

from harnesskit.model.text import shorten, visible

_LIMIT = 60
_MOST = 5


def fingerprint_fields(value: Any) -> dict[str, Any] | None:
    """Return a recorded fingerprint field by field; a text that is no JSON object is its only field; None for none.

    Examples
    --------
    >>> fingerprint_fields('{"model": "m"}'), fingerprint_fields("v2"), fingerprint_fields("{}")
    ({'model': 'm'}, {'fingerprint': 'v2'}, None)
    """
    if value is None or value in ("", "{}", {}) or (isinstance(value, float) and math.isnan(value)):
        return None
    try:
        found = json.loads(value) if isinstance(value, str) else value
    except ValueError:
        found = value
    if isinstance(found, dict):
        return {str(key): one for key, one in found.items()} or None
    return {"fingerprint": found} if isinstance(found, str | int | float | list) else None


def differences(before: dict[str, Any], after: dict[str, Any]) -> str:
    """Return the fields of two fingerprints that differ, at most five and a count; empty when they are equal.

    Examples
    --------
    >>> differences({"prompt": "14", "model": "m"}, {"prompt": "15", "model": "m"})
    'prompt: 14 → 15'
    """
    keys = [key for key in sorted({*before, *after}) if before.get(key) != after.get(key)]
    said = [f"{short(key)}: {_value(before.get(key))} → {_value(after.get(key))}" for key in keys]
    return "; ".join(said[:_MOST]) + (f" and {len(said) - _MOST} more" if len(said) > _MOST else "")


def field_text(value: Any) -> str:
    """Return a field of a fingerprint as text."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)


def short(text: str) -> str:
    """Return a text of a fingerprint as it can stand in a sentence."""
    return shorten(visible(text), _LIMIT)


def _value(value: Any) -> str:
    return "nothing" if value is None else short(field_text(value))
