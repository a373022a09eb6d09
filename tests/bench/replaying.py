"""What the engine adds to a replay: threads, limits, checks, the record on disk."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from harnesskit.model.case import EvalCase
from harnesskit.model.replay import ReplayResult
from harnesskit.replays.replay import replay
from harnesskit.workspace.atomic import append_line
from tests.bench.places import Places
from tests.bench.timing import Row, interleaved, shown

COUNT = 500
BOUND_MS = 2.0


def bench_replays(places: Places) -> list[Row]:
    """Instant replays, written one by one, against appending lines of the same size."""
    cases = [EvalCase(id=f"c{i}", session_id="old", replay_input={"task": "x" * 200}) for i in range(COUNT)]

    async def later(case: EvalCase) -> ReplayResult:
        return ReplayResult(f"new-{case.id}", output={"answer": 42}, scores={"quality": 1.0})

    def now(case: EvalCase) -> ReplayResult:
        return ReplayResult(f"new-{case.id}", output={"answer": 42}, scores={"quality": 1.0})

    root = places.folder / "replays"
    root.mkdir()

    def run(function: Any, **options: Any) -> None:
        replay(cases, function, root=root, progress=False, **options)

    ways = [
        lambda: _append(root / "lines.jsonl"),
        lambda: run(now),
        lambda: run(later),
        lambda: run(later, concurrency=100),
    ]
    times = interleaved(ways)
    limit = min(times.seconds[0]) / COUNT  # the least of each way: what else writes to the disk only adds
    names = ("sync function", "async function", "async function, 100 at once")
    rows = []
    for way, name in enumerate(names, start=1):
        each = min(times.seconds[way]) / COUNT
        what = f"engine and synced append per replay, {name} / 2 ms"
        rows.append(Row(what, shown(each), "", f"{shown(limit)} append", each * 1e3 / BOUND_MS, None, 1.0))
    return rows


def _append(path: Path) -> float:
    line = b'{"x": "%s"}' % (b"x" * 900)
    begun = time.perf_counter()
    for _ in range(COUNT):
        append_line(path, line)
    return time.perf_counter() - begun
