"""The operating tables, printed; ends with 1 when a cell misses what is promised."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from tests.operating.calibration_world import calibration_text, simulate_calibration
from tests.operating.cells import MAIN, OTHERS, STRESS
from tests.operating.forward_world import forward_text, simulate_forward
from tests.operating.promotion_table import promotion_text, simulate_promotion
from tests.operating.table import simulate, text
from tests.operating.win_world import simulate_wins, wins_text

TABLES = ("regression", "promotion", "forward", "wins", "calibration")
SEEDS = {"regression": 5000, "promotion": 5000, "forward": 9000, "wins": 9000, "calibration": 9000}


def asked(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Return what is asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.operating", description=__doc__)
    parser.add_argument("tables", nargs="*", help=f"of {', '.join(TABLES)}; all when none is named")
    parser.add_argument("--seed", type=int, help="first seed of each cell, in place of that of each table")
    parser.add_argument("--policy", default="default", help="policy of the regression table")
    parser.add_argument(
        "--scale", type=float, default=1.0, help="share of the draws of each cell; 1 is the whole table"
    )
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    found = parser.parse_args(arguments)
    unknown = [name for name in found.tables if name not in TABLES]
    if unknown:
        parser.error(f"no table {', '.join(unknown)}; there are {', '.join(TABLES)}")
    return found


def one_table(name: str, found: argparse.Namespace) -> tuple[str, list[Any]]:
    """Return a table in Markdown, and its rows."""
    seed = SEEDS[name] if found.seed is None else found.seed
    how = {"seed": seed, "scale": found.scale}
    tables: dict[str, Callable[[], tuple[list[Any], Callable[[Any], str]]]] = {
        "regression": lambda: (
            simulate([*MAIN, *STRESS, *OTHERS], policy=found.policy, jobs=found.jobs, **how), text),
        "promotion": lambda: (simulate_promotion(jobs=found.jobs, **how), promotion_text),
        "forward": lambda: (simulate_forward(jobs=found.jobs, **how), forward_text),
        "wins": lambda: (simulate_wins(**how), wins_text),
        "calibration": lambda: (simulate_calibration(jobs=found.jobs, **how), calibration_text),
    }  # fmt: skip
    rows, shown = tables[name]()
    return shown(rows), rows


def main() -> int:
    """Print the tables that are asked for."""
    found = asked()
    missed = []
    for name in found.tables or TABLES:
        began = time.time()
        shown, rows = one_table(name, found)
        seed = SEEDS[name] if found.seed is None else found.seed
        print(
            f"## {name}\n\n{shown}\n\nseeds from {seed}, scale {found.scale:g}, {time.time() - began:.0f} s\n",
            flush=True,
        )
        missed += [f"{name}: {row.name}" for row in rows if row.missed]
    print("every cell holds" if not missed else f"{len(missed)} cells miss: {'; '.join(missed)}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
