"""Run the benchmarks named on the command line, or all of them."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.bench.calibrating import bench_calibrating
from tests.bench.capturing import bench_capture, bench_matching
from tests.bench.comparing import bench_analysis
from tests.bench.deciding import bench_deciding
from tests.bench.grading import bench_grading
from tests.bench.importing import bench_import
from tests.bench.journals import bench_aside, bench_events
from tests.bench.memory import bench_memory
from tests.bench.opening import bench_growth, bench_open, bench_refresh
from tests.bench.places import Places
from tests.bench.replaying import bench_replays
from tests.bench.timing import Row, shown, text_table

BENCHMARKS = {
    "open": bench_open,
    "refresh": bench_refresh,
    "memory": bench_memory,
    "growth": bench_growth,
    "events": bench_events,
    "capture": bench_capture,
    "matching": bench_matching,
    "replays": bench_replays,
    "import": bench_import,
    "aside": bench_aside,
    "analysis": bench_analysis,
    "deciding": bench_deciding,
    "calibrating": bench_calibrating,
    "grading": bench_grading,
}


def main(names: Sequence[str]) -> int:
    """Print the table and return 1 when a target was missed, 2 when there is no such benchmark."""
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        print(f"There is no benchmark {unknown[0]!r}; there are {', '.join(BENCHMARKS)}.", file=sys.stderr)
        return 2
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="harnesskit-bench-") as folder:
        places = Places(Path(folder))
        for name in names or BENCHMARKS:
            start = time.perf_counter()
            rows += BENCHMARKS[name](places)
            print(f"{name}: {shown(time.perf_counter() - start)}", file=sys.stderr)
    print(text_table(rows))
    missed = [row.what for row in rows if not row.ok]
    print(f"\n{len(missed)} target(s) missed: {'; '.join(missed)}" if missed else "\nEvery target was met.")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
