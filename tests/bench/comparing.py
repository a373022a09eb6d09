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
LOOPED = 10
"""Cases that the loop is timed on, picked out of all; its time grows with their number."""
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


def looped(before: pd.DataFrame, after: pd.DataFrame, cases: int, *, picked: bool) -> list[tuple[float, ...]]:
    """Return what one would write first to get the same: per case and metric, then Holm over all.

    Worse, better, a drop of the tolerance excluded, the interval, and for what is open the trials that would settle it.
    With `picked` the rows of every case and metric are at hand, and only the calls are timed.
    """
    from statsmodels.stats.multitest import multipletests

    if picked:
        few = [frame.head(cases * METRICS * TRIALS) for frame in (before, after)]
        groups = [dict(iter(frame.groupby(["case_id", "metric"])["value"])) for frame in few]
        found = [tested(groups[0][key], groups[1][key]) for key in groups[0]]
    else:
        keys = before[["case_id", "metric"]].drop_duplicates().head(cases * METRICS)
        found = [tested(*(_rows(frame, *key) for frame in (before, after))) for key in keys.itertuples(index=False)]
    multipletests([row[0] for row in found], method="holm")
    return found


def _rows(frame: pd.DataFrame, case: str, metric: str) -> pd.Series:
    return frame.loc[(frame["case_id"] == case) & (frame["metric"] == metric), "value"]


def tested(before: pd.Series, after: pd.Series) -> tuple[float, ...]:
    """Return what statsmodels says about one case and metric."""
    from statsmodels.stats.power import tt_ind_solve_power
    from statsmodels.stats.weightstats import CompareMeans, DescrStatsW

    both = CompareMeans(DescrStatsW(after), DescrStatsW(before))
    worse, better = (float(both.ttest_ind(alternative=side)[1]) for side in ("smaller", "larger"))
    steady = float(both.ttest_ind(alternative="larger", value=-0.1)[1])
    trials = float("nan")
    if min(worse, better, steady) > 0.05:
        sd = float(np.sqrt((both.d1.var_ddof(1) + both.d2.var_ddof(1)) / 2))
        trials = float(tt_ind_solve_power(effect_size=0.1 / sd, alpha=0.05, power=0.8, alternative="larger"))
    return (worse, better, steady, trials, *both.tconfint_diff())


def bench_analysis(places: Places) -> list[Row]:
    """The whole analysis against the loop (timed on some cases, scaled up), and the memory it takes."""
    before, after = made()
    ways = [
        lambda: analyse(before, after),
        lambda: looped(before, after, LOOPED, picked=False),
        lambda: looped(before, after, 10 * LOOPED, picked=True),
    ]
    times = interleaved(ways, repeats=3)
    size = f"{CASES:,} cases x {METRICS} metrics x {TRIALS} trials a side"
    speed = []
    for way, cases, what, target in ((1, LOOPED, "loop", TIMES_FASTER), (2, 10 * LOOPED, "its calls alone", None)):
        scale = CASES / cases
        ratio, (low, high) = times.ratios(way, 0)
        took = shown(times.of(0)), shown(times.of(way) * scale)
        row = Row(
            f"{size}: {what} / analysis", *took, "", ratio * scale, (low * scale, high * scale), target, least=True
        )
        speed.append(row)
    done = subprocess.run([sys.executable, "-m", "tests.bench.comparing"], check=True, capture_output=True, text=True)
    held = int(done.stdout)
    memory = Row("memory of that process at most / 1 GB", f"{held / 1e6:.0f} MB", "", "", held / MOST_BYTES, None, 1.0)
    return [*speed, memory, _aa(before)]


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
