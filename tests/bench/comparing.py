"""A regression analysis of ten thousand cases against a loop over cases and metrics."""

from __future__ import annotations

import subprocess
import sys
import time

import numpy as np
import pandas as pd

from tests.bench.memory import peak
from tests.bench.places import Places
from tests.bench.timing import Row, interleaved, shown

CASES, METRICS, TRIALS = 10_000, 6, 5
LOOPED = 100
"""Cases that the loop is timed on; its time grows with their number."""
TIMES_FASTER = 100
MOST_BYTES = 1e9


def made() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return two runs of the same agent: cases x metrics x trials, noise shared in part by the metrics of a run."""
    rng = np.random.default_rng(5)
    mean = rng.uniform(0.6, 0.9, (CASES, METRICS, 1))
    index = pd.MultiIndex.from_product(
        [[f"case-{i:05d}" for i in range(CASES)], [f"metric-{i}" for i in range(METRICS)], range(1, TRIALS + 1)],
        names=["case_id", "metric", "trial"],
    ).to_frame(index=False)

    def run() -> pd.DataFrame:
        noise = rng.normal(0, 0.08, (CASES, 1, TRIALS)) + rng.normal(0, 0.06, (CASES, METRICS, TRIALS))
        return index.assign(kind="win", value=np.clip(mean + noise, 0, 1).ravel())

    return run(), run()


def analyse(before: pd.DataFrame, after: pd.DataFrame) -> object:
    """Return the verdict: deltas, comparison, decision."""
    from harnesskit.decisions.regression import decide_regression
    from harnesskit.measures.comparison import compare_runs
    from harnesskit.measures.deltas import case_deltas

    deltas = case_deltas(before, after)
    return decide_regression(deltas, compare_runs(deltas))


def looped(before: pd.DataFrame, after: pd.DataFrame) -> list[tuple[float, float, float]]:
    """Return what one would write first: a t test and its interval per case and metric, then Holm over all."""
    from statsmodels.stats.multitest import multipletests
    from statsmodels.stats.weightstats import CompareMeans, DescrStatsW

    found = []
    for (case, metric), rows in before.groupby(["case_id", "metric"]):
        other = after[(after["case_id"] == case) & (after["metric"] == metric)]
        both = CompareMeans(DescrStatsW(other["value"]), DescrStatsW(rows["value"]))
        found.append((float(both.ttest_ind(alternative="smaller")[1]), *both.tconfint_diff()))
    multipletests([p for p, _, _ in found], method="holm")
    return found


def bench_analysis(places: Places) -> list[Row]:
    """The whole analysis against the loop (timed on some cases, scaled up), and the memory it takes."""
    before, after = made()
    few = [frame.head(LOOPED * METRICS * TRIALS) for frame in (before, after)]
    times = interleaved([lambda: analyse(before, after), lambda: looped(*few)], repeats=3)
    scale = CASES / LOOPED
    ratio, spread = times.ratios(1, 0)
    what = f"{CASES:,} cases x {METRICS} metrics x {TRIALS} trials a side: loop / analysis"
    speed = Row(
        what, shown(times.of(0)), shown(times.of(1) * scale), "", ratio * scale,
        (spread[0] * scale, spread[1] * scale), TIMES_FASTER, least=True,
    )  # fmt: skip
    done = subprocess.run([sys.executable, "-m", "tests.bench.comparing"], check=True, capture_output=True, text=True)
    held = int(done.stdout)
    memory = Row("memory of that process at most / 1 GB", f"{held / 1e6:.0f} MB", "", "", held / MOST_BYTES, None, 1.0)
    return [speed, memory, _aa(before)]


def _aa(before: pd.DataFrame) -> Row:
    from harnesskit.trials.aa_check import aa_check

    part = before.head(60 * METRICS * TRIALS)
    part = part[part["metric"].isin([f"metric-{i}" for i in range(4)])]
    begun = time.process_time()
    aa_check(part, draws=200)
    took = time.process_time() - begun
    return Row("A/A check, 60 wins x 4 metrics x 5 trials, 200 draws / 10 s", shown(took), "", "", took / 10, None, 1.0)


if __name__ == "__main__":
    analyse(*made())
    print(peak())
