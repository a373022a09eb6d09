"""Replay functions as teams have written them for the reference harness: they run with only the import changed."""

from __future__ import annotations

import asyncio
import functools
import json
from typing import Any

import pytest

from harnesskit.model.case import EvalCase
from harnesskit.model.records import RuleRecord
from harnesskit.replays.context import ReplayContext
from harnesskit.replays.engine import areplay_cases, replay_cases

RULES = [RuleRecord(rule_id="r-1", status="candidate", rule="Verify before charging again.", scope="payments")]
CASES = [EvalCase(id=f"c-{n}", session_id=f"old-{n}", replay_input={"task": "charge", "n": n}) for n in range(3)]


async def replay(case: EvalCase, context: ReplayContext) -> str:
    messages = [{"role": "system", "content": str(context)}, {"role": "user", "content": case.replay_input["task"]}]
    await asyncio.sleep(0)
    assert context.startswith(messages[0]["content"][:10])
    return f"session-{case.id}"


class Agent:
    def __init__(self) -> None:
        self.answered = 0

    async def __call__(self, case: EvalCase, context: ReplayContext) -> str:
        self.answered += 1
        return f"session-{self.answered}"


async def with_model(model: str, case: EvalCase, context: ReplayContext) -> str:
    return f"{model}-{case.id}"


async def reads_rules(case: EvalCase, context: ReplayContext) -> str:
    """As the reference's tools are used: specs with attributes, awaited calls, answers that are objects."""
    tools = context.task_tools
    offered = [{"name": s.name, "description": s.description, "input_schema": s.input_schema} for s in tools.specs()]
    assert json.dumps(offered)
    listed = await tools.call("harness_rules_list", {})
    for scope in listed["scopes"]:
        answer = await tools.call("harness_rules_read", {"scope": scope["scope"]})
        content = str(answer.get("content", "")) if answer.get("ok") else ""
        assert "Verify before charging again." in content
    status = await tools.call("harness_rule_status", {"rule_id": context.candidate_rule_id})
    assert status["rule"]["status"] == "candidate"
    found = await tools.specs()[2].handler({"query": "charging", "limit": 3})
    assert [rule["id"] for rule in found["rules"]] == ["r-1"]
    return f"session-{case.id}"


async def signals(case: EvalCase, context: ReplayContext) -> str:
    assert not context.execution_started
    await asyncio.sleep(0)
    context.mark_execution_started()
    context.mark_execution_started()
    return f"session-{case.id}"


SHAPES = {
    "async": replay,
    "class": Agent(),
    "partial": functools.partial(with_model, "m1"),
    "reads rules": reads_rules,
    "signals": signals,
}


@pytest.mark.parametrize("shape", SHAPES)
def test_the_five_shapes_run_unchanged(shape: str) -> None:
    options: dict[str, Any] = {
        "run_id": "r", "rules": RULES, "rule": "r-1", "env_wait_s": 5.0, "scorer": lambda session: {"q": 1.0},
    }  # fmt: skip
    for records in (
        replay_cases(CASES, SHAPES[shape], **options),
        replay_cases(CASES, SHAPES[shape], concurrency=3, **options),
        asyncio.run(areplay_cases(CASES, SHAPES[shape], **options)),
    ):
        assert [record.sample.reason for record in records] == [None] * 3
        assert {record.sample.candidate_surfaced for record in records} == {shape == "reads rules"}
