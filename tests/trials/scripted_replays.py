"""Replays that follow a script of the reference material: what each case does, call by call."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from harnesskit.model.case import EvalCase
from harnesskit.model.config import HarnessConfig
from harnesskit.replays.context import ReplayContext
from harnesskit.trials.replayer import Replayer
from harnesskit.workspace.evalset_store import EvalSet

LIMIT_S = 1.0
"""Long enough that no replay which answers at once can miss it on a busy machine."""

WORKSPACES = {"mid": "mid", "small": "small/closed_loop_self_heal/workspace", "messy": "messy"}


def answers(shared: Path, workspace: str, name: str) -> dict[str, Any]:
    """What the reference answered."""
    return json.loads((shared / "reference" / "expected" / workspace / f"{name}.json").read_text(encoding="utf-8"))


def config(**fields: Any) -> HarnessConfig:
    return HarnessConfig(replay_timeout_s=LIMIT_S, **fields)


class Script:
    """A replay function and a scorer that do what a script says, and note the calls."""

    def __init__(self, steps: Mapping[str, Mapping[str, Any]], *, scope: str | None = None) -> None:
        self.steps = steps
        self.scope = scope
        self.calls: list[str] = []
        self.scores: dict[str, dict[str, float]] = {}

    def replayer(self, **fields: Any) -> Replayer:
        return Replayer(self.replay, self.scorer, **fields)

    def scorer(self, session_id: str) -> dict[str, float]:
        return self.scores.get(session_id, {})

    async def replay(self, case: EvalCase, context: ReplayContext) -> Any:
        step = self.steps[case.id]
        self.calls.append(case.id)
        session = f"re-{len(self.calls):03d}-{case.id}"
        if self.scope is not None:
            context.task_tools.call("harness_rules_read", {"scope": self.scope})
        match step["do"]:
            case "raise":
                raise RuntimeError(f"boom {case.session_id}")
            case "timeout":
                await asyncio.sleep(30)
            case "cancel_inside":
                await eat_cancellation()
            case "none":
                return None
            case "int":
                return 7
        self.scores[session] = dict(step.get("scores", {}))
        return session


async def eat_cancellation() -> None:
    try:
        await asyncio.sleep(30)
    except asyncio.CancelledError:
        raise TimeoutError from None


def root_of(shared: Path, workspace: str) -> Path:
    return shared / "reference" / "workspaces" / WORKSPACES[workspace]


class ReferenceOrder:
    """The cases of an eval set in the reference's order: by time as text, where ours is by instant."""

    def __init__(self, evalset: EvalSet) -> None:
        null = {"c-m23": "None"}  # its created_at is null
        self.all = sorted(evalset.cases(), key=lambda case: (null.get(case.id, case.created_at), case.id))

    def cases(self, kind: str | None = None) -> list[EvalCase]:
        return [case for case in self.all if kind in (None, case.kind)]

    def matching(self, signature: Iterable[str], kind: str | None = "failure") -> list[EvalCase]:
        wanted = set(signature)
        return [case for case in reversed(self.cases(kind)) if wanted & set(case.signature)]
