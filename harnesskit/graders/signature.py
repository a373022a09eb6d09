"""What a grader reads, told by the signature of its function: parameter names are the columns it needs."""

from __future__ import annotations

import functools
import inspect
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from harnesskit.graders.reading import Reading
from harnesskit.model.errors import GraderError, listed, nearest

WHOLE = "sample"
"""A parameter of this name gets the whole sample as a mapping, unless the frame has a column of this name."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a grader: which column it reads and how.

    Parameters
    ----------
    name
        Of the parameter.
    column
        Column of the samples frame.
    reading
        ``text``, ``json`` or ``raw``: see `harnesskit.graders.reading`.
    required
        False when it has a default: the column may be absent, and a missing cell takes the default.
    nullable
        True when the function wants to see a missing cell, as None.
    default
        Of the function, when not required.
    """

    name: str
    column: str
    reading: Reading
    required: bool = True
    nullable: bool = False
    default: Any = None


def parameters_of(function: Callable[..., Any], name: str) -> tuple[tuple[Parameter, ...], dict[str, bool]]:
    """Return the columns that `function` reads, and its settings: keyword-only parameters, true where one is needed.

    Raises
    ------
    GraderError
        The signature cannot be read, or takes any number of arguments.

    Examples
    --------
    >>> def cites(output: str, expected: list, *, least: int = 1): ...
    >>> read, settings = parameters_of(cites, "cites")
    >>> [(one.column, one.reading) for one in read], settings
    ([('output', 'text'), ('expected', 'json')], {'least': False})
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError) as error:
        raise GraderError(
            f"grader {name!r} needs a function whose parameters name sample columns; the parameters of "
            f"{function!r} cannot be read. Wrap it: lambda output: ..."
        ) from error
    hints = _hints(function)
    columns: list[Parameter] = []
    settings: dict[str, bool] = {}
    for one in signature.parameters.values():
        if one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD):
            raise GraderError(
                f"grader {name!r} must name the sample columns it reads; found {one}. "
                f"Write them as parameters, or take {WHOLE!r} for the whole sample."
            )
        has_default = one.default is not one.empty
        if one.kind is one.KEYWORD_ONLY:
            settings[one.name] = not has_default
            continue
        reading, nullable = _reading(hints.get(one.name, one.annotation))
        default = one.default if has_default else None
        columns.append(Parameter(one.name, one.name, reading, not has_default, nullable, default))
    return tuple(columns), settings


def moved(parameters: tuple[Parameter, ...], columns: Mapping[str, str], name: str) -> tuple[Parameter, ...]:
    """Return `parameters` reading other columns: parameter or column name to the column wanted.

    Raises
    ------
    GraderError
        The grader reads no such column.
    """
    known = [one.name for one in parameters]
    unknown = [column for column in columns if column not in known]
    if unknown:
        hint = nearest(unknown[0], known)
        raise GraderError(f"grader {name!r} reads {listed(known) or 'no column'}; found {unknown[0]!r}{hint}.")
    return tuple(replace(one, column=columns.get(one.name, one.column)) for one in parameters)


def awaits(function: Callable[..., Any]) -> bool:
    """Return whether calling `function` gives something to await.

    Examples
    --------
    >>> async def later(output): ...
    >>> awaits(later), awaits(functools.partial(later)), awaits(len)
    (True, True, False)
    """
    while isinstance(function, functools.partial):
        function = function.func
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004


def _hints(function: Any) -> dict[str, Any]:
    while isinstance(function, functools.partial):
        function = function.func
    if not inspect.isroutine(function):
        function = getattr(type(function), "__call__", function)  # noqa: B004
    try:
        return typing.get_type_hints(function)
    except Exception:  # a name that only type checkers see: the texts of the annotations have to do
        return {}


def _reading(annotation: Any) -> tuple[Reading, bool]:
    """Return how a parameter of this annotation is read, and whether it takes None."""
    names = set(_names(annotation))
    nullable = "None" in names
    names.discard("None")
    if names == {"str"}:
        return "text", nullable
    return ("json" if names & {"dict", "list", "Mapping", "Sequence"} else "raw"), nullable


def _names(annotation: Any) -> list[str]:
    if annotation is inspect.Parameter.empty:
        return []
    if isinstance(annotation, str):
        text = annotation.replace("Optional[", "None | ").replace("typing.", "")
        return [part.strip(" ]").partition("[")[0].rpartition(".")[2] for part in text.split("|")]
    if annotation is None or annotation is type(None):
        return ["None"]
    origin = typing.get_origin(annotation)
    if origin in (typing.Union, types.UnionType):
        return [name for part in typing.get_args(annotation) for name in _names(part)]
    if origin is typing.Annotated:
        return _names(typing.get_args(annotation)[0])
    return [getattr(origin or annotation, "__name__", str(annotation))]
