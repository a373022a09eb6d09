"""Tool calls, their arguments, repeats, steps and plans against what was expected."""

from __future__ import annotations

from typing import Any

import pytest

import harnesskit as hk
from harnesskit import graders
from harnesskit.graders.tool_calls import ToolCall, calls_of


def value(said: Any) -> Any:
    return said.value if isinstance(said, hk.Grade) else float(said)


def made(names: str) -> list[dict[str, Any]]:
    """Calls of tools of one letter, each with its place as argument."""
    return [{"tool": name, "arguments": {"n": n}} for n, name in enumerate(names)]


@pytest.mark.parametrize(
    ("expected", "calls", "exact", "in_order", "any_order", "superset", "subset"),
    [  # share of right calls in each mode; 1 only where the whole holds
        ("ab", "ab", 1, 1, 1, 1, 1),
        ("ab", "ba", 0, 1 / 2, 1, 1, 1),
        ("ab", "axb", 1 / 3, 1, 2 / 3, 1, 2 / 3),
        ("ab", "a", 1 / 2, 1 / 2, 1 / 2, 1 / 2, 1),
        ("ab", "aab", 1 / 3, 1, 2 / 3, 1, 2 / 3),
        ("aa", "a", 1 / 2, 1 / 2, 1 / 2, 1 / 2, 1),
        ("a", "", 0, 0, 0, 0, 1),
        ("", "a", 0, None, 0, None, 0),
        ("", "", 1, None, 1, None, 1),
    ],
)
def test_tools_by_mode(
    expected: str, calls: str, exact: float, in_order: float | None, any_order: float, superset: float | None,
    subset: float,
) -> None:  # fmt: skip
    shares = {"exact": exact, "in_order": in_order, "any_order": any_order, "superset": superset, "subset": subset}
    for mode, share in shares.items():
        whole = graders.tool_correctness(mode=mode)(made(calls), list(expected))
        partial = graders.tool_correctness(mode=mode, partial=True)(made(calls), list(expected))
        if share is None:
            assert whole.status == partial.status == "not_applicable", mode
        else:
            assert value(partial) == pytest.approx(share), mode
            assert value(whole) == float(share == 1), mode


def test_a_call_that_repeats_the_one_before_can_count_once() -> None:
    twice = [*made("a"), *made("a"), *made("b")]
    assert value(graders.tool_correctness(repeats="count")(twice, ["a", "b"])) == 0
    assert value(graders.tool_correctness(repeats="collapse")(twice, ["a", "b"])) == 1


@pytest.mark.parametrize("mode", ["exact", "in_order", "any_order", "superset", "subset"])
def test_arguments_have_tolerances_patterns_and_own_rules(mode: str) -> None:
    expected = [{"tool": "refund", "arguments": {"amount": 19, "order": "10175", "note": "late", "who": "Ada"}}]
    steps = [{"tool": "refund", "arguments": {"amount": 18.99, "order": "10175-b", "note": "x", "who": "ADA"}}]
    rules = {
        "amount": {"tolerance": 0.01},
        "refund.order": {"pattern": r"\d+-[a-z]"},
        "note": "ignore",
        "who": lambda wanted, found: wanted.lower() == found.lower(),
    }
    assert value(graders.argument_correctness(mode=mode)(steps, expected)) == 0
    assert value(graders.argument_correctness(mode=mode, arguments=rules)(steps, expected)) == 1


def test_arguments_missing_extra_and_partly_right() -> None:
    expected = [{"tool": "refund", "arguments": {"amount": 19, "order": 7}}]
    steps = [{"tool": "refund", "arguments": {"amount": 19, "reason": "late"}}]
    said = graders.argument_correctness()(steps, expected)
    assert (said.value, said.reason) == (pytest.approx(1 / 3), "refund: 'order' is missing")
    assert value(graders.argument_correctness(extra="ignore")(steps, expected)) == 0.5
    assert value(graders.argument_correctness(partial=False)(steps, expected)) == 0
    assert value(graders.argument_correctness()([], expected)) == 0
    assert graders.argument_correctness()(steps, ["refund"]).status == "not_applicable"


def test_each_expected_call_gets_the_call_that_fits_it_best() -> None:
    expected = [{"tool": "look", "arguments": {"id": 1}}, {"tool": "look", "arguments": {"id": 2}}]
    turned = [{"tool": "look", "arguments": {"id": 2}}, {"tool": "look", "arguments": {"id": 1}}]
    assert value(graders.argument_correctness(mode="any_order")(turned, expected)) == 1
    assert value(graders.argument_correctness(mode="in_order")(turned, expected)) == 0.5
    assert value(graders.argument_correctness(mode="exact")(turned, expected)) == 0
    between = [turned[1], {"tool": "other"}, {"tool": "look", "arguments": {"id": 9}}, turned[0]]
    assert value(graders.argument_correctness(mode="in_order")(between, expected)) == 1


def test_equal_repeated_calls_are_matched_one_by_one() -> None:
    same = [{"tool": "ping", "arguments": {"id": 1}}] * 3
    assert value(graders.tool_correctness()(same, same)) == 1
    assert value(graders.argument_correctness()(same, same)) == 1
    assert value(graders.argument_correctness(mode="any_order")(same[:2], same)) == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    "step",
    [
        {"tool": "find", "arguments": {"id": 7}},
        {"tool_name": "find", "args": {"id": 7}},
        {"type": "tool_use", "name": "find", "input": {"id": 7}},
        {"type": "function", "function": {"name": "find", "arguments": '{"id": 7}'}},
        {"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "find", "arguments": '{"id": 7}'}}]},
        {"type": "function_call", "name": "find", "arguments": '{"id": 7}'},
    ],
)
def test_calls_are_found_however_they_are_written(step: dict[str, Any]) -> None:
    around = [{"role": "user", "content": "hi"}, step, {"role": "tool", "name": "find", "content": "{}"}, 3, None]
    assert calls_of(around) == [ToolCall("find", {"id": 7})]


def test_repeats_and_loops() -> None:
    def calls(names: str) -> list[dict[str, Any]]:
        return [{"tool": name, "arguments": {}} for name in names]

    said = graders.no_repeated_calls(partial=True)(calls("abababc"))
    assert said.value == pytest.approx(1 - 4 / 7)
    assert said.reason == "4 repeats of 7 calls: 'a' 3 times, 'b' 3 times; a loop of 2, 3 times"
    assert value(graders.no_repeated_calls(allowed=1)(calls("aba"))) == 1
    assert value(graders.no_repeated_calls()(made("aaa"))) == 1  # other arguments are another call
    assert graders.no_repeated_calls()([]).status == "not_applicable"


def test_steps_beyond_the_best_way() -> None:
    assert value(graders.step_efficiency()(made("abcd"), 2)) == 0.5
    assert value(graders.step_efficiency(9)(made("ab"))) == 1
    assert graders.step_efficiency()([], 2).status == "not_applicable"
    assert graders.step_efficiency()(made("a"), "two").status == "unscored"


def test_a_plan_is_a_partial_order() -> None:
    plan = graders.plan_adherence([("a", "b", "d"), ("a", "c")], required=["d"])
    assert value(plan(made("acbd"))) == 1
    assert value(plan(made("abcd"))) == 1
    said = plan(made("bad"))
    assert (said.value, said.reason) == (pytest.approx(2 / 3), "'b' without 'a' before it")
    assert plan(made("x")).reason == "'d' was not called"
    assert graders.plan_adherence([("a", "b")])(made("x")).status == "not_applicable"


def test_they_fill_the_metrics_of_the_harness_from_stored_steps() -> None:
    harness = hk.open(hk.demo_root())
    samples = harness.sql("SELECT s.* FROM samples AS s WHERE run_id = 'rule-harmful'")
    chosen = [graders.tool_correctness(["orders.lookup"], mode="superset"), graders.step_efficiency(2)]
    rows = samples.hk.grade([*chosen, graders.no_repeated_calls()])
    assert set(rows["metric"]) == {"tool_correctness", "step_efficiency", "no_repeated_calls"}
    ended = samples["status"].isin(["scored", "inconclusive"]) & samples["steps"].notna()
    graded = rows[rows["sample_id"].isin(samples.loc[ended, "sample_id"])]
    assert len(graded)
    assert set(graded["status"]) == {"ok"}
