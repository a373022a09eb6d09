"""A live workspace for tests: a clock that steps, an eval set and a journal that remember, and the hook over them."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from harnesskit.live.turns import LiveTurns
from harnesskit.model.case import EvalCase
from harnesskit.model.config import HarnessConfig
from harnesskit.workspace.journal_writer import append_event

START = datetime(2026, 8, 5, 9, 0, 7, 500_000, tzinfo=UTC)


class SteppingClock:
    """A clock that shows a quarter of a second more each time somebody looks."""

    def __init__(self, start: datetime = START, step: timedelta = timedelta(milliseconds=250)) -> None:
        self.at, self.step = start, step

    def __call__(self) -> datetime:
        now, self.at = self.at, self.at + self.step
        return now


@dataclass
class Cases:
    """An eval set in memory, with the two rules that live capture relies on: dedup, and refusing what is no JSON."""

    kept: list[EvalCase] = field(default_factory=list)

    def capture(self, *, session_id, kind, signature=(), baseline_scores=None, replay_input=None, notes=""):
        json.dumps(replay_input)
        for case in self.kept:
            if (case.session_id, sorted(case.signature), case.kind) == (session_id, sorted(signature), kind):
                return case
        case = EvalCase(
            id=f"c-{len(self.kept)}",
            session_id=session_id,
            kind=kind,
            signature=tuple(signature),
            baseline_scores=dict(baseline_scores or {}),
            replay_input=replay_input,
            notes=notes,
        )
        self.kept.append(case)
        return case

    def cases(self, kind=None):
        return [case for case in self.kept if kind in (None, case.kind)]

    def attach_input(self, case_id, payload):
        at = next(i for i, case in enumerate(self.kept) if case.id == case_id)
        self.kept[at] = self.kept[at].model_copy(update={"replay_input": copy.copy(payload)})
        return self.kept[at]


class Live:
    """The hook over a folder; `now` is its monotonic clock, in seconds."""

    def __init__(self, root: Path, *, clock: Callable[[], datetime] | None = None, **settings: Any) -> None:
        ours = {name: settings.pop(name) for name in ("scorer", "verifier", "metrics", "new_hex") if name in settings}
        self.root, self.now, self.cases = root, 0.0, settings.pop("evalset", Cases())
        clock = clock or SteppingClock()
        config = HarnessConfig(harness_root=root, **{"gate_window": 1, "capture_eval_cases": True, **settings})
        self.hook = LiveTurns(
            root,
            config,
            evalset=self.cases,
            append=partial(append_event, root, clock=clock),
            clock=clock,
            monotonic=lambda: self.now,
            **ours,
        )

    def end(self, session_id: str = "s-1", end_state: Any = None, **scores: float | None):
        """The end of a turn with these scores."""
        return self.hook.on_turn_end_now({"session_id": session_id, "end_state": end_state, "scores": scores})

    def events(self, *types: str) -> list[dict[str, Any]]:
        """The journal, or its events of some types."""
        path = self.root / "journal.jsonl"
        lines = path.read_text().splitlines() if path.exists() else []
        return [event for event in map(json.loads, lines) if not types or event["type"] in types]

    def pending(self) -> list[dict[str, Any]]:
        """The open notices, oldest first."""
        return [json.loads(path.read_text()) for path in sorted((self.root / "mailbox/pending").glob("*.json"))]


LOW = {"task_completion": 0.2, "coherence": 0.2}
BREACH = {**LOW, "tool_correctness": 0.1, "argument_correctness": 0.1}
GOOD = {"task_completion": 0.9, "coherence": 0.9}
