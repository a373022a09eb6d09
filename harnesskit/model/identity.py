"""What a function is, as a text that changes when the function does: a run may only be resumed with the same one."""

from __future__ import annotations

import dis
import functools
import hashlib
import inspect
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, MethodType
from typing import Any

_SIMPLE = (str, bytes, int, float, bool, type(None))


def identity_of(function: Callable[..., Any] | None) -> str | None:
    """Return the name of a function and a digest of what it does; None for None.

    What counts: the compiled code and the default values of the function, of the functions of the same module that it
    names, and of those that it closes over; the arguments of a partial; the class of a callable object. What does not
    count, because it may differ from process to process: values of globals, the state of objects, other modules.
    An object may say what it is in ``replay_identity``, a text.

    Examples
    --------
    >>> identity_of(functools.partial(max, 1)) == identity_of(functools.partial(max, 2))
    False
    """
    if function is None:
        return None
    digest = hashlib.sha256("\n".join(_parts(function, set())).encode("utf-8", "backslashreplace")).hexdigest()
    return f"{_name(function)}@{digest[:16]}"


def _name(function: Any) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    return str(getattr(function, "__qualname__", None) or type(function).__qualname__)


def _parts(value: Any, seen: set[int]) -> Iterator[str]:
    """Yield texts that say what `value` is; a function met before is not told twice."""
    said = getattr(value, "replay_identity", None)
    if isinstance(said, str):
        yield f"{_name(value)}: {said}"
    elif isinstance(value, functools.partial):
        yield "partial"
        for part in (value.func, *value.args, *(one for pair in sorted(value.keywords.items()) for one in pair)):
            yield from _parts(part, seen)
    elif isinstance(value, MethodType):
        yield f"method of {type(value.__self__).__qualname__}"
        yield from _parts(value.__func__, seen)
    elif isinstance(value, FunctionType):
        if id(value) not in seen:
            seen.add(id(value))
            yield from _function(value, seen)
    elif isinstance(value, _SIMPLE):
        yield repr(value)
    elif isinstance(value, (list, tuple)):
        yield type(value).__name__
        for one in value:
            yield from _parts(one, seen)
    elif inspect.isbuiltin(value) or isinstance(value, type):
        yield f"{value.__module__}.{value.__qualname__}"
    else:
        yield from _object(value, seen)


def _object(value: Any, seen: set[int]) -> Iterator[str]:
    kind = type(value)
    yield f"{kind.__module__}.{kind.__qualname__}"
    if callable(value):
        for name, member in sorted(vars(kind).items()):
            if isinstance(member, FunctionType):
                yield name
                yield from _parts(member, seen)


def _function(function: FunctionType, seen: set[int]) -> Iterator[str]:
    yield function.__qualname__
    yield from _code(function.__code__)
    for default in (*(function.__defaults__ or ()), *sorted((function.__kwdefaults__ or {}).items())):
        yield from _parts(default, seen)
    written = {one.argval for one in dis.get_instructions(function.__code__) if one.opname == "STORE_DEREF"}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        if name not in written:  # a counter that the function itself moves on is state
            yield name
            yield from _parts(_content(cell), seen)
    for name in sorted(set(_names(function.__code__))):
        other = function.__globals__.get(name)
        if isinstance(other, FunctionType) and other.__module__ == function.__module__:
            yield from _parts(other, seen)


def _content(cell: Any) -> Any:
    try:
        value = cell.cell_contents
    except ValueError:  # not filled yet
        return None
    return value if callable(value) or isinstance(value, _SIMPLE) else type(value)


def _code(code: CodeType) -> Iterator[str]:
    """Yield what the code does, without where it stands in its file."""
    yield code.co_code.hex()
    yield repr((code.co_names, code.co_varnames, code.co_freevars))
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _code(constant)
        elif isinstance(constant, frozenset):
            yield repr(sorted(map(repr, constant)))
        else:
            yield repr(constant)


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
