"""Tool calls found in the steps of a sample, whichever common way they are written down.

A step is a call when it is an object that names a tool: in ``tool``, ``tool_name`` or ``function``, or in ``name``
when it also has arguments or a type that says so. A message with ``tool_calls`` holds several. Results of tools
(``role: tool``, ``type: tool_result``) and plain messages are none.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from harnesskit.graders.reading import decoded

_ARGUMENTS = ("arguments", "args", "parameters", "tool_input", "input")
_CALLS = ("tool_call", "function_call", "tool_use", "function", "tool")
_RESULTS = ("tool_result", "function_call_output", "tool_response")


class NotStepsError(ValueError):
    """What should be steps is something else; the text says what."""


class ToolCall(NamedTuple):
    """One call: the tool, and its arguments; None when they were not said."""

    tool: str
    arguments: Mapping[str, Any] | None

    @property
    def key(self) -> str:
        """Text that is equal for the same tool with the same arguments."""
        return f"{self.tool} {json.dumps(self.arguments or {}, sort_keys=True, default=str)}"


def steps_of(cell: Any) -> list[Any]:
    """Return the steps of a sample.

    Raises
    ------
    NotStepsError
        The cell holds no list.
    """
    steps = decoded(cell)
    if isinstance(steps, Mapping) and isinstance(steps.get("steps"), list):
        steps = steps["steps"]
    if not isinstance(steps, (list, tuple)):
        raise NotStepsError(f"steps must be a list; found a value of type {type(steps).__name__}")
    return list(steps)


def calls_of(cell: Any) -> list[ToolCall]:
    """Return the tool calls among the steps, in order; in a list of expected calls, a plain text names a tool.

    Raises
    ------
    NotStepsError
        The cell holds no list.

    Examples
    --------
    >>> calls_of([{"role": "user", "content": "refund 7"}, {"tool": "refund", "arguments": {"order": 7}}])
    [ToolCall(tool='refund', arguments={'order': 7})]
    >>> openai = {"tool_calls": [{"function": {"name": "find", "arguments": '{"id": 7}'}}]}
    >>> calls_of([openai, {"role": "tool", "content": "found"}, "refund"])
    [ToolCall(tool='find', arguments={'id': 7}), ToolCall(tool='refund', arguments=None)]
    """
    found: list[ToolCall] = []
    for step in steps_of(cell):
        if isinstance(step, str):
            found.append(ToolCall(step, None))
        elif isinstance(step, Mapping):
            several = step.get("tool_calls")
            parts = several if isinstance(several, Sequence) and not isinstance(several, str) else [step]
            found += [call for part in parts if isinstance(part, Mapping) and (call := _call(part)) is not None]
    return found


def collapsed(calls: Sequence[ToolCall]) -> list[ToolCall]:
    """Return the calls without those that repeat the one directly before, arguments included.

    Examples
    --------
    >>> collapsed([ToolCall("find", {"id": 7}), ToolCall("find", {"id": 7}), ToolCall("find", {"id": 8})])
    [ToolCall(tool='find', arguments={'id': 7}), ToolCall(tool='find', arguments={'id': 8})]
    """
    return [call for place, call in enumerate(calls) if not place or call.key != calls[place - 1].key]


def _call(step: Mapping[str, Any]) -> ToolCall | None:
    if step.get("role") == "tool" or step.get("type") in _RESULTS:
        return None
    function = step.get("function")
    inner = function if isinstance(function, Mapping) else step
    given = [step.get(name) for name in ("tool", "tool_name", "function")]
    named = [name for name in given if isinstance(name, str) and name]
    if not named:
        says_so = inner is not step or step.get("type") in _CALLS or any(key in step for key in _ARGUMENTS)
        name = inner.get("name")
        named = [name] if says_so and isinstance(name, str) and name else []
    if not named:
        return None
    for key in _ARGUMENTS:
        if key in inner:
            arguments = decoded(inner[key])
            if arguments is None:
                return ToolCall(named[0], {})
            return ToolCall(named[0], arguments if isinstance(arguments, Mapping) else {"": arguments})
    return ToolCall(named[0], None)
