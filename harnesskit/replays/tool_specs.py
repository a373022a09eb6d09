"""The four rule tools as they are described to a model, in the shapes that styles of tool calling take."""

from __future__ import annotations

import copy
import json
from collections.abc import Awaitable, Callable, Generator, Mapping
from typing import Any, Literal

from harnesskit.model.errors import nearest

Style = Literal["anthropic", "openai", "langchain"]

DEFAULT_LIMIT, MOST = 10, 50
_STATUS = {"type": "string", "enum": ["active", "candidate"], "description": "only rules of this status"}
TOOLS: dict[str, tuple[str, dict[str, Any], list[str]]] = {
    "harness_rules_list": (
        "Say which scopes have learned rules and how many; the texts come from harness_rules_read.",
        {"status": _STATUS},
        [],
    ),
    "harness_rules_read": (
        "Give the learned rules of one scope in full, or one rule by its id.",
        {
            "scope": {"type": "string", "description": "a scope that harness_rules_list named; global by default"},
            "rule_id": {"type": "string", "description": "one rule instead of a scope"},
        },
        [],
    ),
    "harness_rules_search": (
        "Find learned rules by words, best match first, across all scopes.",
        {
            "query": {"type": "string", "description": "what the rule should be about"},
            "limit": {"type": "integer", "description": f"how many rules, 1 to {MOST}; {DEFAULT_LIMIT} by default"},
            "status": _STATUS,
        },
        ["query"],
    ),
    "harness_rule_status": (
        "Tell whether a rule is active or on trial, and what its trial has shown so far.",
        {"rule_id": {"type": "string", "description": "id of the rule"}},
        ["rule_id"],
    ),
}


class ToolAnswer(str):
    """The answer of a tool: JSON text, or, when awaited, the object in it."""

    def __await__(self) -> Generator[None, None, dict[str, Any]]:
        """Return the answer as an object, for agents that await their tools."""
        yield from ()
        answer: dict[str, Any] = json.loads(self)
        return answer


Call = Callable[[str, Mapping[str, Any]], ToolAnswer]


class ToolSpec(dict[str, Any]):
    """One tool in the shape that Anthropic tool calling takes; its keys are attributes too, as in the reference.

    Attributes
    ----------
    handler
        Async function that takes the arguments and returns the answer as an object.
    """

    def __init__(self, name: str, call: Call) -> None:
        description, properties, required = TOOLS[name]
        schema = {"type": "object", "properties": copy.deepcopy(properties), "required": list(required)}
        super().__init__(name=name, description=description, input_schema=schema)
        self.name, self.description, self.input_schema = name, description, schema
        self.handler: Callable[[Mapping[str, Any]], Awaitable[dict[str, Any]]] = _handler(name, call)


def _handler(name: str, call: Call) -> Callable[[Mapping[str, Any]], Awaitable[dict[str, Any]]]:
    async def handle(arguments: Mapping[str, Any]) -> dict[str, Any]:
        return await call(name, arguments)

    return handle


def tool_specs(call: Call, style: Style) -> list[Any]:
    """Return the four tools in the shape of a style of tool calling, answered by `call`.

    Raises
    ------
    ValueError
        There is no such style.
    """
    specs = [ToolSpec(name, call) for name in TOOLS]
    if style == "anthropic":
        return specs
    if style == "openai":
        return [{"type": "function", "function": _function(spec)} for spec in specs]
    if style == "langchain":
        return [_structured(spec, call) for spec in specs]
    styles = ["anthropic", "openai", "langchain"]
    raise ValueError(f"specs() knows the styles {', '.join(styles)}; found {style!r}{nearest(str(style), styles)}.")


def _function(spec: ToolSpec) -> dict[str, Any]:
    return {"name": spec.name, "description": spec.description, "parameters": spec.input_schema}


def _structured(spec: ToolSpec, call: Call) -> dict[str, Any]:
    def func(**arguments: Any) -> str:
        return str(call(spec.name, arguments))

    async def coroutine(**arguments: Any) -> str:
        return str(call(spec.name, arguments))

    fixed = {"name": spec.name, "description": spec.description, "args_schema": spec.input_schema}
    return {**fixed, "func": func, "coroutine": coroutine}
