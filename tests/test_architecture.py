"""The house (who may import whom, how large things get), read from the source: nothing is imported here."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "harnesskit"
SOURCES = sorted(path for path in PACKAGE.rglob("*.py"))

# package -> the packages of ours that it may import besides itself
MAY_IMPORT = {
    "model": set(),
    "stats": set(),
    "decisions": {"model"},
    "plots": {"model"},
    "workspace": {"model"},
    "replays": {"model", "workspace"},
    "graders": {"model", "workspace"},
    "store": {"model", "workspace"},
    "live": {"model", "workspace", "replays"},
    "importers": {"model", "workspace"},
    "measures": {"model", "stats"},
    "trials": {"model", "stats", "workspace", "replays", "measures", "decisions"},
    "reports": {"model", "plots"},
    "review": {"model", "plots", "workspace"},
}
COMMAND_LINE = {
    "cli",
    "commands",
    "import_commands",
    "calibration_commands",
    "run_commands",
    "guard_commands",
    "health_commands",
    "health_options",
    "review_commands",
    "terminal",
    "__main__",
}
FORBIDDEN_NAMES = {"utils", "helpers", "common", "misc", "core", "base", "types", "util", "helper"}
MAX_FILE, MAX_FUNCTION = 300, 50


class Import(NamedTuple):
    """One imported module of ours, and the line that imports it."""

    target: str
    line: int


def module_name(path: Path) -> str:
    parts = ("harnesskit", *path.relative_to(PACKAGE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in SOURCES}


def part_of(module: str) -> str:
    """The package or top-level module that a module belongs to; the demo's world counts with the demo."""
    part = [*module.split("."), ""][1]
    return "demo" if part == "demo_world" else part


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def imports(path: Path) -> Iterator[Import]:
    """Every import of ours, at the top, in a function or for types only; ``from a import b`` may name module a.b."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "harnesskit":
                    yield Import(alias.name, node.lineno)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and (node.module or "").split(".")[0] == "harnesskit":
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                whole = inner if inner in MODULES else node.module
                if inner != "harnesskit.__version__":
                    yield Import(str(whole), node.lineno)


def test_the_walk_sees_the_package():
    """Guard of the guards: the tests below would pass on an empty list."""
    assert {"harnesskit.model.frames", "harnesskit.store.database", "harnesskit.harness"} <= set(MODULES)
    found = {item.target for item in imports(PACKAGE / "harness.py")}
    assert {"harnesskit.guard_verbs", "harnesskit.model.policy"} <= found


def test_imports_follow_the_table():
    wrong = []
    for module, path in MODULES.items():
        part = part_of(module)
        if part == "":  # the public names, which belong to nobody
            continue
        for target, line in imports(path):
            other = part_of(target)
            if other == part:
                continue
            if part in MAY_IMPORT:
                allowed = other in MAY_IMPORT[part]
            elif part in COMMAND_LINE:
                allowed = True
            else:
                allowed = other not in {*COMMAND_LINE, ""}
            if not allowed:
                wrong.append(f"{path.relative_to(PACKAGE.parent)}:{line}: {part} may not import {target}")
    assert not wrong, "\n".join(wrong)


def test_every_package_is_in_the_table():
    packages = {part_of(module) for module, path in MODULES.items() if path.parent != PACKAGE} - {""}
    assert packages - {"demo"} <= set(MAY_IMPORT)


def test_no_cycles():
    graph = {
        module: {target for target, _ in imports(path)} - {module}
        for module, path in MODULES.items()
        if module != "harnesskit"
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"modules import one another in a circle: {' -> '.join(error.args[1])}")


def test_imports_are_absolute():
    relative = [
        f"{path.name}:{node.lineno}"
        for path in SOURCES
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.ImportFrom) and node.level
    ]
    assert not relative


def test_no_module_is_a_drawer_for_anything():
    assert not [str(path) for path in PACKAGE.rglob("*") if path.stem.strip("_") in FORBIDDEN_NAMES]


def test_files_are_short():
    long = {
        str(path.relative_to(PACKAGE)): n
        for path in [*SOURCES, *PACKAGE.rglob("*.sql")]
        if (n := len(path.read_text(encoding="utf-8").splitlines())) >= MAX_FILE
    }
    assert not long


def test_functions_are_short():
    long = []
    for path in SOURCES:
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                words = ast.get_docstring(node, clean=False)
                told = len(words.splitlines()) if words else 0
                n = (node.end_lineno or node.lineno) - node.lineno + 1 - told  # words are not counted
                if n >= MAX_FUNCTION:
                    long.append(f"{path.relative_to(PACKAGE)}:{node.lineno} {node.name} has {n} lines")
    assert not long, "\n".join(long)


def test_packages_load_nothing():
    """Importing one module loads no other: a package's __init__ holds its docstring, or gives names when asked."""
    for path in SOURCES:
        if path.name == "__init__.py" and path.parent != PACKAGE:
            first, *rest = tree_of(path).body
            assert isinstance(first, ast.Expr), path
            assert not list(imports(path)), path
            if rest:
                assert "__getattr__" in {node.name for node in rest if isinstance(node, ast.FunctionDef)}, path


def test_every_module_says_what_it_is_for():
    assert not [str(path) for path in SOURCES if not ast.get_docstring(tree_of(path))]
