"""The public names: what they are, what they take, what they say, and what importing them costs.

After a deliberate change: ``python tests/test_public_api.py`` writes ``golden/public_api.txt`` again.
"""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import harnesskit as hk

GOLDEN = Path(__file__).parent / "golden" / "public_api.txt"
ROOT = Path(__file__).resolve().parent.parent
ACCESSOR_FILES = (
    "accessor.py",
    "grading_accessor.py",
    "health_accessor.py",
    "promotion_accessor.py",
    "trust_accessor.py",
)
HEAVY = ("pandas", "matplotlib", "scipy", "nbconvert")
PLAIN = [name for name in hk.__all__ if not name.startswith("__")]


def defaults_hidden(signature: inspect.Signature) -> str:
    """The signature without annotations: names, kinds and defaults are what callers rely on."""
    plain = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for parameter in signature.parameters.values()
        if parameter.name != "self"
    ]
    return str(signature.replace(parameters=plain, return_annotation=inspect.Signature.empty))


def lines_of(name: str) -> list[str]:
    value = getattr(hk, name)
    if not inspect.isclass(value):
        return [f"{name}{defaults_hidden(inspect.signature(value))}"]
    try:
        lines = [f"{name}{defaults_hidden(inspect.signature(value))}"]
    except ValueError:  # an exception takes what Exception takes
        lines = [name]
    if issubclass(value, Exception):
        return [f"{name}({', '.join(base.__name__ for base in value.__bases__)})"]
    ours = [base for base in value.__mro__ if base.__module__.startswith("harnesskit")]
    members = {member: raw for base in reversed(ours) for member, raw in vars(base).items()}
    for member, raw in sorted(members.items()):
        if member.startswith("_") or member in getattr(value, "model_fields", {}) or member == "model_config":
            continue
        plain = raw.__func__ if isinstance(raw, staticmethod | classmethod) else raw
        if inspect.isfunction(plain):
            signature = inspect.signature(getattr(value, member))
            lines.append(f"{name}.{member}{defaults_hidden(signature)}")
        elif isinstance(raw, property) or type(raw).__name__ == "cached_property":
            lines.append(f"{name}.{member}")
    return lines


def accessor_lines() -> list[str]:
    from harnesskit.accessor import HkAccessor

    names = [name for name in dir(HkAccessor) if not name.startswith("_")]
    return [f"frame.hk.{name}{defaults_hidden(inspect.signature(getattr(HkAccessor, name)))}" for name in names]


def described() -> str:
    lines = [line for name in sorted(PLAIN) for line in lines_of(name)]
    return "\n".join([*lines, *accessor_lines()]) + "\n"


@pytest.mark.parametrize("name", hk.__all__)
def test_every_name_is_there(name: str):
    assert getattr(hk, name) is getattr(hk, name)
    assert name in dir(hk)


def test_names_and_signatures_are_the_golden_ones():
    assert described() == GOLDEN.read_text(encoding="utf-8"), (
        "the public names changed; if that is meant, run: python tests/test_public_api.py"
    )


def test_an_unknown_name_is_refused_with_the_nearest():
    with pytest.raises(AttributeError, match="did you mean 'case_deltas'"):
        hk.case_delta  # noqa: B018
    with pytest.raises(ImportError):
        exec("from harnesskit import no_such_name")


def test_type_checkers_see_the_names_that_run():
    """The lazy table and the block for type checkers list the same names from the same homes."""
    tree = ast.parse((ROOT / "harnesskit" / "__init__.py").read_text(encoding="utf-8"))
    block = next(n for n in tree.body if isinstance(n, ast.If) and ast.unparse(n.test) == "TYPE_CHECKING")
    seen = {
        alias.asname or alias.name: node.module
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    seen["open"] = seen.pop("open_workspace")
    assert seen == {name: home.partition(":")[0] for name, home in hk._HOME.items()}


def documented() -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for name in PLAIN:
        value = getattr(hk, name)
        found.append((name, value))
        if inspect.isclass(value):
            found += [
                (f"{name}.{member}", getattr(value, member))
                for member, raw in vars(value).items()
                if not member.startswith("_")
                and (inspect.isfunction(raw) or isinstance(raw, classmethod | staticmethod | property))
            ]
    return found


@pytest.mark.parametrize(("name", "value"), documented(), ids=lambda v: v if isinstance(v, str) else "")
def test_every_public_thing_has_a_first_line(name: str, value: Any):
    words = inspect.getdoc(value)
    assert words, f"{name} has no docstring"
    first = words.splitlines()[0]
    assert first.endswith("."), f"{name}: the first line is a sentence"
    assert len(first) <= 120


FUNCTIONS = [name for name in PLAIN if inspect.isfunction(getattr(hk, name))]


WITHOUT_FRAME = ("build_demo", "demo_root")


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name not in WITHOUT_FRAME])
def test_every_public_function_shows_how_it_is_called(name: str):
    """The examples themselves run in the doctests of their modules."""
    value = getattr(hk, name)
    examples = doctest.DocTestFinder(recurse=False).find(value, name, globs={})
    assert examples, f"{name} has no docstring"
    assert examples[0].examples, f"{name} has no example that runs"


def test_the_accessor_has_the_signatures_of_the_functions():
    from harnesskit.accessor import HkAccessor

    methods = [name for name in dir(HkAccessor) if not name.startswith("_")]
    assert methods
    for name in methods:
        method = list(inspect.signature(getattr(HkAccessor, name)).parameters.values())[1:]
        function = list(inspect.signature(getattr(hk, name)).parameters.values())[1:]
        assert [(p.name, p.default, p.kind) for p in method] == [(p.name, p.default, p.kind) for p in function], name


def test_the_accessor_has_every_verb_that_takes_a_frame_first():
    from harnesskit.accessor import HkAccessor

    for name in FUNCTIONS:
        value = getattr(hk, name)
        module = importlib.import_module(value.__module__)
        if module.__name__.startswith("harnesskit.measures."):
            assert hasattr(HkAccessor, name), f"frame.hk.{name} is missing"


def test_accessor_methods_only_delegate():
    trees = [ast.parse((ROOT / "harnesskit" / name).read_text(encoding="utf-8")) for name in ACCESSOR_FILES]
    classes = [n for tree in trees for n in tree.body if isinstance(n, ast.ClassDef)]
    for method in [method for accessor in classes for method in accessor.body]:
        if isinstance(method, ast.FunctionDef) and not method.name.startswith("_"):
            words, *imports, call = method.body
            assert isinstance(words, ast.Expr)
            assert all(isinstance(line, ast.ImportFrom) for line in imports), method.name
            assert isinstance(call, ast.Return), method.name
            called = ast.unparse(call)
            assert called.startswith((f"return {method.name}(self._frame", f"return run_{method.name}s(self._frame")), (
                called
            )


def run_python(code: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, *(["-c", code] if code else []), *arguments],
        capture_output=True, text=True, cwd=ROOT, timeout=60, check=True,
    )  # fmt: skip
    return done.stdout


def test_importing_is_cheap():
    loaded = run_python(f"import sys, harnesskit; print([m for m in {HEAVY!r} if m in sys.modules])")
    assert loaded.strip() == "[]"


def test_the_help_of_the_command_line_is_cheap():
    code = (
        "import runpy, sys, atexit\n"
        "sys.argv = ['harnesskit', '--help']\n"
        f"atexit.register(lambda: print('HEAVY', [m for m in {HEAVY!r} if m in sys.modules]))\n"
        "runpy.run_module('harnesskit.cli', run_name='__main__')\n"
    )
    text = run_python(code)
    assert "harnesskit" in text.splitlines()[0]
    assert text.splitlines()[-1] == "HEAVY []"


def test_the_accessor_is_there_at_once_when_pandas_came_first():
    assert run_python("import pandas as pd, harnesskit; print(hasattr(pd.DataFrame, 'hk'))").strip() == "True"


@pytest.mark.parametrize("first", ["open", "Metric", "HarnesskitError", "from_json"])
def test_the_accessor_is_there_after_the_first_use_of_a_public_name(first: str):
    code = f"import harnesskit as hk; hk.{first}; import pandas as pd; print(hasattr(pd.DataFrame, 'hk'))"
    assert run_python(code).strip() == "True"


if __name__ == "__main__":
    GOLDEN.write_text(described(), encoding="utf-8")
