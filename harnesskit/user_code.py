"""Functions that the command line is given by name: ``path.py[:attr]`` or ``module:attr``."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harnesskit.model.errors import WorkspaceError, nearest


def load_function(spec: str, *, default: str) -> Callable[..., Any]:
    """Return the callable that `spec` names.

    Parameters
    ----------
    spec
        ``path.py``, ``path.py:attr`` or ``module:attr``; a module is looked for in the current folder, too.
    default
        The attribute when none is named.

    Raises
    ------
    WorkspaceError
        There is no such file, module or attribute, or it is not callable; the message says which and what there is.
    """
    place, _, attribute = spec.rpartition(":") if _has_attribute(spec) else (spec, "", "")
    name = attribute or default
    module = _from_file(Path(place)) if place.endswith(".py") else _from_name(place)
    found = getattr(module, name, None)
    if found is None:
        known = [key for key, value in vars(module).items() if callable(value) and not key.startswith("_")]
        raise WorkspaceError(f"{place} has no {name!r}{nearest(name, known)}; write {place}:NAME.")
    if not callable(found):
        raise WorkspaceError(f"{spec}: {name} is {type(found).__name__}, not a function.")
    return found  # type: ignore[no-any-return]


def _has_attribute(spec: str) -> bool:
    return ":" in spec and not spec.endswith(".py")


def _from_file(path: Path) -> Any:
    if not path.is_file():
        raise WorkspaceError(f"There is no file {path}; give path.py, path.py:attr or module:attr.")
    described = importlib.util.spec_from_file_location(f"harnesskit_user_{path.stem}", path)
    if described is None or described.loader is None:
        raise WorkspaceError(f"{path} cannot be loaded as Python.")
    module = importlib.util.module_from_spec(described)
    sys.modules[described.name] = module
    sys.path.insert(0, str(path.resolve().parent))  # so that the file may import its neighbours
    _run(str(path), lambda: described.loader.exec_module(module))  # type: ignore[union-attr]
    return module


def _from_name(name: str) -> Any:
    if not name:
        raise WorkspaceError("Give path.py, path.py:attr or module:attr.")
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    return _run(name, lambda: importlib.import_module(name))


def _run(name: str, load: Callable[[], Any]) -> Any:
    try:
        return load()
    except Exception as error:
        raise WorkspaceError(f"{name} cannot be loaded: {type(error).__name__}: {error}") from error
