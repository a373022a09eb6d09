"""Memory that opening takes, each measured in a process of its own."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

from tests.bench.made_files import size_of
from tests.bench.places import Places
from tests.bench.timing import Row

SIZES = (20_000, 100_000)
BOUND = 4


def bench_memory(places: Places) -> list[Row]:
    """Peak memory over that of the same process with an empty workspace open, as a multiple of the bytes read."""
    rows = []
    for size in SIZES:
        root = places.cases(size)
        command = [sys.executable, "-m", "tests.bench.memory", str(places.cases(0)), str(root)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        grown, held = int(done.stdout), size_of(root)
        what, measured, limit = f"memory to open {size:,} cases / bytes of files", f"{grown / 1e6:.0f} MB", held / 1e6
        rows.append(Row(what, measured, "", f"{limit:.0f} MB", grown / held, None, BOUND))
    return rows


def peak() -> int:
    """Return the most memory this process ever held, in bytes."""
    status = Path("/proc/self/status")
    if status.exists():  # unlike getrusage, not inherited from the process that started this one
        found = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(found.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def main(empty: str, root: str) -> None:
    """Print by how many bytes the peak grows when `root` is opened."""
    from harnesskit.harness import open_workspace

    small = open_workspace(empty)
    before = peak()
    large = open_workspace(root)
    print(peak() - before)
    del small, large


if __name__ == "__main__":
    main(*sys.argv[1:])
