"""Importing a million lines of samples, against DuckDB's own reader with a declared schema."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import numpy as np

from harnesskit.harness import Harness
from tests.bench.memory import peak
from tests.bench.places import Places
from tests.bench.timing import Row, interleaved, shown

SAMPLES = 1_000_000
_COLUMNS = (
    "{id: 'VARCHAR', session_id: 'VARCHAR', timestamp: 'TIMESTAMPTZ', input: 'VARCHAR', output: 'VARCHAR', "
    "task_completion: 'DOUBLE', tool_correctness: 'DOUBLE', latency_ms: 'DOUBLE'}"
)


def bench_import(places: Places) -> list[Row]:
    """Importing 1,000,000 JSON lines against ``read_json`` of the same file; memory in a process of its own."""
    with tempfile.TemporaryDirectory(prefix="harnesskit-import-") as folder:
        path = Path(folder) / "production.jsonl"
        _write(path)
        times = interleaved([lambda: _read(path), lambda: _import(path)], repeats=3)
        ratio, spread = times.ratios(1, 0)
        command = [sys.executable, "-m", "tests.bench.importing", str(path)]
        held = int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    what = f"import {SAMPLES:,} JSON lines"
    return [
        Row(f"{what} / DuckDB read_json", shown(times.of(1)), "", shown(times.of(0)), ratio, spread, 3),
        Row(f"{what}: peak memory / 1 GB", f"{held / 1e6:.0f} MB", "", "1000 MB", held / 1e9, None, 1),
    ]


def _write(path: Path) -> None:
    rng = np.random.default_rng(1)
    scores, words = rng.random((SAMPLES, 2)).round(4), rng.integers(1, 8, SAMPLES)
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    with path.open("w", encoding="ascii") as file:
        for n in range(SAMPLES):
            at = (begin + timedelta(seconds=5 * n)).isoformat()
            file.write(
                f'{{"id": "smp-{n}", "session_id": "s-{n // 4}", "timestamp": "{at}", "input": "refund order {n}", '
                f'"output": "{"done " * int(words[n])}", "task_completion": {scores[n, 0]}, '
                f'"tool_correctness": {scores[n, 1]}, "latency_ms": {n % 999}}}\n'
            )


def _read(path: Path) -> None:
    with duckdb.connect() as connection:
        connection.execute(
            f"CREATE TABLE t AS SELECT * FROM read_json($file, format = 'newline_delimited', columns = {_COLUMNS})",
            {"file": str(path)},
        )


def _import(path: Path) -> None:
    root = Path(tempfile.mkdtemp(prefix="harnesskit-import-"))
    try:
        Harness(root).import_samples(path)
    finally:
        shutil.rmtree(root)


if __name__ == "__main__":
    _import(Path(sys.argv[1]))
    print(peak())
