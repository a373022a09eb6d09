"""The settings of a grader: a digest that is equal for equal settings in every process, and what its function says."""

from __future__ import annotations

import functools
import hashlib
import inspect
import json
from collections.abc import Mapping
from typing import Any


def settings_digest(settings: Mapping[str, Any]) -> str:
    """Return eight digits that change when a setting does; of a function its name and source count.

    Examples
    --------
    >>> settings_digest({"words": ["refund"]}) == settings_digest({"words": ["Refund"]})
    False
    """
    text = json.dumps(settings, sort_keys=True, default=_told)
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:8]


def plain_function(function: Any) -> Any:
    """Return the function inside a partial.

    Examples
    --------
    >>> plain_function(functools.partial(max, 1)) is max
    True
    """
    while isinstance(function, functools.partial):
        function = function.func
    return function


def words_of(function: Any) -> str | None:
    """Return what a function says of itself, or what the factory that made it says.

    Examples
    --------
    >>> words_of(plain_function).splitlines()[0]
    'Return the function inside a partial.'
    """
    words = inspect.getdoc(function) if inspect.isroutine(function) else inspect.getdoc(type(function))
    factory, inside, _ = getattr(function, "__qualname__", "").partition(".<locals>")
    return words or (inspect.getdoc(getattr(function, "__globals__", {}).get(factory)) if inside else None)


def _told(value: Any) -> Any:
    """Return a setting that JSON does not know as something equal for equal settings."""
    if isinstance(value, (set, frozenset)):
        return sorted(map(repr, value))
    if isinstance(value, Mapping):
        return dict(value)
    if hasattr(value, "version") and hasattr(value, "parameters"):  # a grader inside another one
        return [value.name, value.version]
    if not callable(value):
        return repr(value)
    inner = plain_function(value)
    name = getattr(inner, "__qualname__", type(inner).__qualname__)
    try:
        return [name, inspect.getsource(inner)]
    except (OSError, TypeError):  # written where no source is kept: its name has to do
        return [name]
