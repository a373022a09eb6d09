"""Cases in order, whatever comes and goes in between."""

from __future__ import annotations

from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st

from harnesskit.workspace.ordered_cases import OrderedCases
from harnesskit.workspace.stored_case import Order

STEPS = st.lists(st.tuples(st.sampled_from(["put", "drop", "ask"]), st.integers(0, 9), st.integers(0, 3)), max_size=60)


@given(STEPS)
def test_they_are_newest_first_after_every_step(steps):
    cases, expected = OrderedCases(), {}
    for step, number, at in steps:
        file = f"c-{number}.json"
        if step == "ask":
            assert cases.newest_first() == sorted(expected.values(), key=lambda one: one.order, reverse=True)
            cases.newest_first().clear()  # the caller's own
            continue
        if file in expected:
            cases.discard(expected.pop(file))
        if step == "put":
            expected[file] = SimpleNamespace(order=Order(at, f"c-{number % 4}", file))
            cases.add(expected[file])
        assert len(cases) == len(expected)
