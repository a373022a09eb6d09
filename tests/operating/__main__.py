"""The whole table, printed: ``python -m tests.operating [seed] [policy] [scale]``; ends with 1 when a cell misses."""

from __future__ import annotations

import sys
import time

from tests.operating.cells import MAIN, OTHERS, STRESS
from tests.operating.table import simulate, text


def main() -> int:
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
    policy = sys.argv[2] if len(sys.argv) > 2 else "default"
    scale = float(sys.argv[3]) if len(sys.argv) > 3 else 1.0
    began = time.time()
    rows = simulate([*MAIN, *STRESS, *OTHERS], seed=seed, policy=policy, scale=scale)
    print(text(rows))
    print(f"\nseeds from {seed}, policy {policy}, {time.time() - began:.0f} s")
    missed = [row for row in rows if row.missed]
    print("every cell holds" if not missed else f"{len(missed)} cells miss: {', '.join(row.name for row in missed)}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
