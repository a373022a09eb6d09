"""Ten thousand replays in one process: nothing piles up."""

from __future__ import annotations

import gc
import threading
from pathlib import Path
from typing import Any

import pytest

from harnesskit.model.case import EvalCase
from harnesskit.model.replay import ReplayResult
from harnesskit.replays.engine import replay_cases
from harnesskit.replays.workers import KEPT_IDLE
from harnesskit.workspace.rows import RunRow
from harnesskit.workspace.runs import create_run, read_run

CASES, BATCH, AT_ONCE = 10_000, 1_000, 100


def resident() -> int:
    """Bytes of memory this process holds now."""
    gc.collect()
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * 4096


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="measures memory through /proc")
def test_memory_is_flat_over_ten_thousand_replays(tmp_path: Path) -> None:
    writer = create_run(tmp_path, RunRow("r", "replay"))
    payload = {"text": "x" * 2_000}
    seen: list[int] = []
    ended = 0

    async def agent(case: EvalCase, context: Any) -> ReplayResult:
        context.task_tools.call("harness_rules_search", {"query": "x"})
        return ReplayResult(f"new-{case.id}-{context.trial}", output=case.replay_input, scores={"quality": 1.0})

    def sink(sample: Any, scores: Any) -> None:
        nonlocal ended
        writer.append(sample, scores)
        ended += 1
        if ended % BATCH == 0:
            seen.append(resident())

    cases = [EvalCase(id=f"c{i}", replay_input=payload) for i in range(CASES)]
    records = replay_cases(cases, agent, run_id="r", concurrency=AT_ONCE, sink=sink)
    assert {record.sample.status for record in records} == {"scored"}
    held = 8_000 * (CASES - 2 * BATCH)  # a returned row with its texts of about 2 kB each, input and output
    assert seen[-1] - seen[1] < held, [n // 2**20 for n in seen]
    assert len(read_run(writer.folder)[1]) == CASES
    assert sum(thread.name.startswith("harnesskit-replay") for thread in threading.enumerate()) <= KEPT_IDLE + 1
