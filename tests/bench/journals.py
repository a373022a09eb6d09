"""The journal: its end, and figures on the side."""

from __future__ import annotations

import json
import time
from pathlib import Path
from statistics import median

from harnesskit.harness import open_workspace
from tests.bench.places import Places
from tests.bench.timing import Row, interleaved, shown
from tests.bench.ways import parse_journal

COUNT = 100_000


def bench_events(places: Places) -> list[Row]:
    """The last 50 records of a long journal against parsing all of it."""
    root = places.journal(COUNT)
    harness = open_workspace(root)
    times = interleaved([lambda: parse_journal(root / "journal.jsonl"), lambda: harness.events(last=50)])
    ratio, spread = times.ratios(0, 1)
    what = "json.loads of 100,000 events / events(last=50)"
    return [Row(what, shown(times.of(1)), shown(times.of(0)), "", ratio, spread, 100, least=True)]


def bench_aside(places: Places) -> list[Row]:
    """Figures without a target."""
    harness = open_workspace(places.cases(20_000))
    root = places.journal(COUNT)
    scores = interleaved([lambda: harness.table("case_scores")])
    opened = interleaved([lambda: parse_journal(root / "journal.jsonl"), lambda: open_workspace(root)])
    ratio, spread = opened.ratios(1, 0)
    return [
        Row("table('case_scores') of 20,000 cases", shown(scores.of(0))),
        Row("open a journal of 100,000 events", shown(opened.of(1)), shown(opened.of(0)), "", ratio, spread),
        Row("refresh after one appended event", shown(_after_append(root))),
    ]


def _after_append(root: Path) -> float:
    """Return the median seconds of five refreshes, each after one more record."""
    harness = open_workspace(root)
    taken = []
    for number in range(5):
        record = {"session_id": f"late-{number}", "ts": "2026-06-01T00:00:00+00:00", "type": "recovery"}
        with (root / "journal.jsonl").open("a", encoding="ascii") as file:
            file.write(json.dumps(record) + "\n")
        start = time.perf_counter()
        harness.refresh()
        taken.append(time.perf_counter() - start)
    return median(taken)
