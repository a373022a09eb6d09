"""Functions named on a command line: ``path.py[:attr]`` or ``module:attr``."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from harnesskit.model.errors import nearest
from harnesskit.model.replay import ReplayError


def load_function(spec: str, *, default: str = "replay") -> Callable[..., Any]:
    """Return the function that `spec` names.

    Parameters
    ----------
    spec
        ``path/to/file.py``, ``path/to/file.py:attr``, ``package.module`` or ``package.module:attr``; the attribute may
        be dotted. Beside an installed module, one in the current folder is found.
    default
        Attribute when none is given.

    Raises
    ------
    ReplayError
        The file or module cannot be loaded, or there is no such function in it (the message says why).

    Examples
    --------
    >>> load_function("json:dumps")([1])
    '[1]'
    """
    place, attribute = _split(spec, default)
    _make_importable(place)
    value: Any = _load(spec, place)
    for name in attribute.split("."):
        if not hasattr(value, name):
            there = sorted(one for one in vars(value) if not one.startswith("_")) if hasattr(value, "__dict__") else []
            raise ReplayError(f"{spec!r}: there is no {name!r} in {place}{nearest(name, there)}.")
        value = getattr(value, name)
    if not callable(value):
        raise ReplayError(f"{spec!r}: {attribute} in {place} is no function; found {type(value).__name__}.")
    return value  # type: ignore[no-any-return]


def _split(spec: str, default: str) -> tuple[str, str]:
    """Split at the last colon, unless it is the one of a Windows drive."""
    place, colon, attribute = spec.rpartition(":")
    if not colon or "/" in attribute or "\\" in attribute:
        place, attribute = spec, default
    if not place or not attribute:
        raise ReplayError(f"a function is named by path.py:attr or module:attr; found {spec!r}.")
    return place, attribute


def _make_importable(place: str) -> None:
    """Let a file import its neighbours, and find a module of the current folder; for good, imports may come later."""
    folder = str(Path(place).resolve().parent) if place.endswith(".py") else str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)


def _load(spec: str, place: str) -> ModuleType:
    try:
        return _load_file(Path(place)) if place.endswith(".py") else importlib.import_module(place)
    except (KeyboardInterrupt, GeneratorExit):
        raise
    except FileNotFoundError as error:
        raise ReplayError(f"{spec!r}: there is no file {error.filename or place}.") from error
    except BaseException as error:  # a module may raise anything, SystemExit too
        raise ReplayError(f"{spec!r} cannot be loaded: {type(error).__name__}: {error}.") from error


def _load_file(path: Path) -> ModuleType:
    name = path.stem
    found = importlib.util.spec_from_file_location(name, path)
    if found is None or found.loader is None:
        raise ReplayError(f"{path} is no Python file.")
    module = importlib.util.module_from_spec(found)
    sys.modules.setdefault(name, module)  # what is pickled, or annotated as text, is looked up by name
    found.loader.exec_module(module)
    return module
