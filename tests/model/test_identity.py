"""When a function counts as the same: it does the same; when as another: it may do something else."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest

from harnesskit.model.identity import identity_of
from harnesskit.replays.agents import from_agent, from_command


def defined(source: str, name: str = "replay", **names: Any) -> Callable[..., Any]:
    """A function as a module would define it."""
    space: dict[str, Any] = {"__name__": "agents", **names}
    exec(source, space)
    return space[name]


SAME = "def helper(x):\n    return x + 1\ndef replay(case):\n    return helper(case)\n"


@pytest.mark.parametrize(
    ("source", "same"),
    [
        (SAME, True),
        ("\n\n# moved down\n" + SAME, True),
        (SAME.replace("case)", "case  )"), True),
        (SAME.replace("x + 1", "x + 2"), False),
        (SAME.replace("helper(case)\n", "helper(case, 1)\n"), False),
        (SAME.replace("(x)", "(x, y=1)"), False),
        (SAME.replace("def replay(case)", "async def replay(case)"), False),
    ],
)
def test_code_counts_with_the_functions_it_names_and_not_its_place(source: str, same: bool) -> None:
    assert (identity_of(defined(source)) == identity_of(defined(SAME))) is same


def test_sets_in_the_code_have_no_order() -> None:
    source = "def replay(case):\n    return case in {'a', 'b', 'c', 'd'}"
    assert identity_of(defined(source)) == identity_of(defined(source))


def test_values_of_globals_do_not_count() -> None:
    source = "mode = 1\ndef replay(case):\n    return mode"
    assert identity_of(defined(source)) == identity_of(defined(source.replace("= 1", "= 2")))


def test_what_a_function_closes_over_counts_but_not_what_it_moves_on() -> None:
    def make(inner: Any) -> Callable[..., Any]:
        calls = 0

        def replay(case: Any) -> Any:
            nonlocal calls
            calls += 1
            return inner

        return replay

    assert identity_of(make(1)) == identity_of(make(1))
    assert identity_of(make(1)) != identity_of(make(2))
    assert identity_of(make(defined(SAME))) != identity_of(make(defined(SAME.replace("1", "2"))))
    used = make(1)
    before = identity_of(used)
    used(None)
    assert identity_of(used) == before


def test_partials_methods_and_objects() -> None:
    class Agent:
        def __init__(self, model: str) -> None:
            self.model = model

        def run(self, case: Any) -> str:
            return "s"

        def __call__(self, case: Any) -> str:
            return self.run(case)

    assert identity_of(Agent("a")) == identity_of(Agent("b"))
    assert identity_of(Agent("a").run) != identity_of(Agent("a"))
    replay = defined(SAME)
    assert identity_of(functools.partial(replay, 1)) != identity_of(functools.partial(replay, 2))
    assert identity_of(functools.partial(replay, x=1)) != identity_of(functools.partial(replay, y=1))
    assert identity_of(functools.partial(replay, object())) == identity_of(functools.partial(replay, object()))


def test_wrappers_are_what_they_wrap() -> None:
    changed = defined(SAME.replace("1", "2"))
    assert identity_of(from_agent(defined(SAME))) == identity_of(from_agent(defined(SAME)))
    assert identity_of(from_agent(defined(SAME))) != identity_of(from_agent(changed))
    assert identity_of(from_command(["a", "1"])) != identity_of(from_command(["a", "2"]))


def test_a_function_that_calls_itself_and_a_builtin_have_an_identity() -> None:
    assert identity_of(defined("def replay(case):\n    return replay(case)"))
    assert str(identity_of(len)).startswith("len@")
    assert identity_of(None) is None
