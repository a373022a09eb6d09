"""What an agent can find through the rule tools, in the shapes that tool calling takes."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harnesskit.model.records import RuleRecord
from harnesskit.replays.rule_tools import RuleTools

NAMES = ["harness_rules_list", "harness_rules_read", "harness_rules_search", "harness_rule_status"]
RULES = [
    RuleRecord(rule_id="r-active", status="active", rule="Confirm the amount first.", scope="payments"),
    RuleRecord(rule_id="r-general", status="active", rule="Be brief."),
    RuleRecord(rule_id="r-tested", status="candidate", rule="Look up the order.", scope="orders", replay_attempts=2),
    RuleRecord(rule_id="r-other", status="candidate", rule="Look up the order twice.", scope="orders"),
    RuleRecord(rule_id="r-retired", status="retired", rule="Ask a human.", scope="orders"),
    RuleRecord(rule_id="r-odd", status="unknown", rule="?"),
]


@pytest.fixture
def tools() -> RuleTools:
    return RuleTools(RULES, candidate_id="r-tested")


def ask(tools: RuleTools, name: str, arguments: Any = None) -> dict[str, Any]:
    return json.loads(tools.call(name, arguments))


def test_only_active_rules_and_the_candidate_under_test_are_there(tools: RuleTools) -> None:
    found = ask(tools, "harness_rules_search", {"query": "order"})["rules"]
    assert [rule["id"] for rule in found] == ["r-tested", "r-active", "r-general"]
    assert {rule["status"] for rule in found} == {"active", "candidate"}
    for hidden in ("r-other", "r-retired", "r-odd"):
        assert ask(tools, "harness_rule_status", {"rule_id": hidden})["ok"] is False
        assert ask(tools, "harness_rules_read", {"rule_id": hidden})["ok"] is False


def test_a_regression_run_sees_no_candidate() -> None:
    assert {rule.rule_id for rule in RuleTools(RULES).rules} == {"r-active", "r-general"}


def test_listing_surfaces_nothing_and_gives_no_text(tools: RuleTools) -> None:
    answer = ask(tools, "harness_rules_list")
    assert answer["scopes"] == [
        {"scope": "global", "active": 1, "provisional": 0},
        {"scope": "orders", "active": 0, "provisional": 1},
        {"scope": "payments", "active": 1, "provisional": 0},
    ]
    assert not tools.surfaced
    assert "Look up" not in json.dumps(answer)


@pytest.mark.parametrize(
    ("name", "arguments", "surfaced"),
    [
        ("harness_rules_read", {}, {"r-general"}),
        ("harness_rules_read", {"scope": "orders"}, {"r-tested"}),
        ("harness_rules_search", {"query": "nothing like it", "limit": 3}, {"r-active", "r-general", "r-tested"}),
        ("harness_rules_search", {"query": "order", "limit": 1}, {"r-tested"}),
        ("harness_rule_status", {"rule_id": "r-tested"}, {"r-tested"}),
        ("harness_rules_status", '{"rule_id": "r-active"}', {"r-active"}),
    ],
)
def test_reading_searching_and_asking_surface_what_was_returned(
    tools: RuleTools, name: str, arguments: Any, surfaced: set[str]
) -> None:
    assert ask(tools, name, arguments)["ok"] is True
    assert tools.surfaced == surfaced


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("harness_rule_read", {}, "did you mean 'harness_rules_read'"),
        ("harness_rules_read", {"scope": "../mailbox"}, "no scope '../mailbox'; the scopes are global, orders"),
        ("harness_rules_read", {"scope": 7}, "scope must be text; found int"),
        ("harness_rules_search", {}, "query must be text; it is missing"),
        ("harness_rules_search", {"query": "x", "limit": "many"}, "limit must be a whole number"),
        ("harness_rule_status", "{", "not JSON"),
        ("harness_rule_status", [1], "must be an object; found list"),
        (None, {}, "no tool None"),
    ],
)
def test_a_bad_call_is_an_answer_and_not_an_exception(tools: RuleTools, name: Any, arguments: Any, said: str) -> None:
    answer = ask(tools, name, arguments)
    assert answer["ok"] is False
    assert said in answer["error"]
    assert not tools.surfaced


def test_an_answer_is_json_text_and_can_be_awaited_as_an_object(tools: RuleTools) -> None:
    async def ask_as_the_reference_does() -> dict[str, Any]:
        return await tools.call("harness_rules_read", {"scope": "orders"})

    answer = asyncio.run(ask_as_the_reference_does())
    assert answer["ok"] is True
    assert "Look up the order." in answer["content"]
    assert answer == ask(tools, "harness_rules_read", {"scope": "orders"})


def test_specs_in_three_styles(tools: RuleTools) -> None:
    plain = json.loads(json.dumps(tools.specs()))
    assert [spec["name"] for spec in plain] == NAMES
    assert all(set(spec) == {"name", "description", "input_schema"} for spec in plain)
    assert all(spec["input_schema"]["type"] == "object" for spec in plain)
    for ours, style in zip(plain, json.loads(json.dumps(tools.specs("openai"))), strict=True):
        assert style["type"] == "function"
        assert style["function"] == {
            "name": ours["name"],
            "description": ours["description"],
            "parameters": ours["input_schema"],
        }
    status = next(spec for spec in tools.specs("langchain") if spec["name"] == "harness_rule_status")
    assert status["args_schema"]["required"] == ["rule_id"]
    assert json.loads(status["func"](rule_id="r-active"))["rule"]["id"] == "r-active"
    assert json.loads(asyncio.run(status["coroutine"](rule_id="r-tested")))["lifecycle"]["replay_attempts"] == 2
    assert tools.surfaced == {"r-active", "r-tested"}
    with pytest.raises(ValueError, match="did you mean 'openai'"):
        tools.specs("openia")  # type: ignore[arg-type]


def test_specs_have_attributes_and_a_handler_as_in_the_reference(tools: RuleTools) -> None:
    spec = tools.specs()[1]
    assert (spec.name, spec.input_schema["type"]) == ("harness_rules_read", "object")
    assert asyncio.run(spec.handler({"scope": "orders"}))["scope"] == "orders"


def test_changing_a_spec_changes_no_other(tools: RuleTools) -> None:
    tools.specs()[1]["input_schema"]["properties"].clear()
    assert tools.specs()[1]["input_schema"]["properties"]


_ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(), lambda inner: st.lists(inner), max_leaves=4
)


@given(st.sampled_from(NAMES) | st.text(), st.none() | st.text() | st.dictionaries(st.text(), _ANY))
def test_whatever_a_model_sends_comes_back_as_json(name: str, arguments: Any) -> None:
    answer = json.loads(RuleTools(RULES, candidate_id="r-tested").call(name, arguments))
    assert isinstance(answer["ok"], bool)


@given(st.sampled_from(["query", "scope", "rule_id", "limit", "status"]), _ANY)
def test_any_value_for_a_known_argument_comes_back_as_json(key: str, value: Any) -> None:
    for name in NAMES:
        answer = json.loads(RuleTools(RULES).call(name, {"query": "order", "rule_id": "r-active", key: value}))
        assert isinstance(answer["ok"], bool)
