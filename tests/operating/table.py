"""The operating table: cells simulated in processes, summarised, and held against their targets.

A cell misses a target only when its 99 % Monte-Carlo interval does.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import NamedTuple

import numpy as np
from scipy import stats

from harnesskit.model.policy import RegressionPolicy
from harnesskit.stats.intervals import clopper_pearson
from tests.operating.cells import Cell, Target
from tests.operating.simulate import Outcome, Verdict, judge_corpus, reference_outcome, run_corpus

CHUNK = 10
BUDGETS = (2.0, 3.0)


class Row(NamedTuple):
    """One cell at one budget."""

    name: str
    budget: float
    corpora: int
    fwer: float
    power: float
    cost: float
    false_suspects: float
    suspect_power: float
    passed: float
    mean_fell: float
    covered: float
    missed: tuple[str, ...]


def simulate(cells: Sequence[Cell], *, seed: int, policy: str = "default", scale: float = 1.0, jobs: int | None = None):
    """Return the rows of the table, the reference's beside those of the policy.

    Parameters
    ----------
    seed
        Corpora have the seeds `seed`, `seed` + 1, ... in every cell.
    scale
        Share of the corpora of each cell that is drawn.
    """
    work = [
        (
            cell,
            cell.policy or policy,
            seed + start,
            min(CHUNK, n - start),
            max(0, min(round(cell.judged * scale) - start, CHUNK)),
        )
        for cell in cells
        for n in (max(int(cell.corpora * scale), 1),)
        for start in range(0, n, CHUNK)
    ]
    with ProcessPoolExecutor(jobs or os.cpu_count()) as pool:
        parts = list(pool.map(_chunk, work))
    rows = []
    for cell in cells:
        mine = [part for (of, *_), part in zip(work, parts, strict=True) if of is cell]
        outcomes = [one for part in mine for one in part[0]]
        verdicts = [one for part in mine for one in part[1]]
        for place, (budget, target) in enumerate(zip(BUDGETS, (cell.at2, cell.at3), strict=True)):
            known = verdicts if place == len(BUDGETS) - 1 else []
            rows.append(_row(cell.name, budget, [one[place] for one in outcomes], known, target))
        rows.append(_row(f"{cell.name} (reference)", 1.0, [one[-1] for one in outcomes], [], Target(fwer=1.0)))
    return rows


def _chunk(work: tuple[Cell, str, int, int, int]) -> tuple[list[list[Outcome]], list[Verdict]]:
    cell, name, seed, n, judged = work
    policy = RegressionPolicy.parse(name)
    outcomes, verdicts = [], []
    for place in range(n):
        found, frozen, records, corpus = run_corpus(cell.world, seed + place, policy, BUDGETS)
        outcomes.append([*found, reference_outcome(corpus)])
        if place < judged:
            verdicts.append(judge_corpus(frozen, records, corpus))
    return outcomes, verdicts


def _row(name: str, budget: float, outcomes: list[Outcome], verdicts: list[Verdict], target: Target) -> Row:
    columns = [np.array(column, dtype=float) for column in zip(*outcomes, strict=True)]
    alarms, power, cost, suspects, suspect_power = columns
    judged = len(verdicts)
    fell = sum(one.mean_fell for one in verdicts)
    missed = [
        *_above("fwer", int(alarms.sum()), len(alarms), target.fwer),
        *_below("power", power, target.power),
        *_over("false suspects", suspects, target.false_suspects),
        *_below("suspect power", suspect_power, target.suspect_power),
    ]
    if judged:
        missed += _above("mean fell", fell, judged, target.mean_fell_most)
        missed += _above("mean did not fall", judged - fell, judged, _rest(target.mean_fell_least))
    return Row(
        name, budget, len(alarms), alarms.mean(), power.mean(), cost.mean(), suspects.mean(), suspect_power.mean(),
        sum(one.verdict == "pass" for one in verdicts) / judged if judged else np.nan,
        fell / judged if judged else np.nan,
        float(np.mean([one.covered for one in verdicts])) if judged else np.nan, tuple(missed),
    )  # fmt: skip


def _rest(share: float | None) -> float | None:
    return None if share is None else 1 - share


def _above(what: str, hits: int, n: int, most: float | None) -> list[str]:
    return [] if most is None or clopper_pearson(hits, n, confidence=0.99).low <= most else [f"{what} > {most:g}"]


def _below(what: str, values: np.ndarray, least: float | None) -> list[str]:
    return [] if least is None or _end(values, 1) >= least else [f"{what} < {least:g}"]


def _over(what: str, values: np.ndarray, most: float | None) -> list[str]:
    return [] if most is None or _end(values, -1) <= most else [f"{what} > {most:g}"]


def _end(values: np.ndarray, side: int) -> float:
    """Return an end of the 99 % interval of a mean over corpora."""
    spread = values.std(ddof=1) / len(values) ** 0.5 if len(values) > 1 else np.inf
    return float(values.mean() + side * stats.t.ppf(0.995, max(len(values) - 1, 1)) * spread)


def text(rows: Iterable[Row]) -> str:
    """Return the table in Markdown."""
    head = "| world | budget | corpora | FWER | power | cost | false suspects | suspect power | P(pass) | mean fell |"
    lines = [f"{head} intervals hold | missed |", "|---" * 12 + "|"]
    for row in rows:
        numbers = [_shown(x) for x in (row.fwer, row.power)]
        rest = [_shown(x) for x in (row.suspect_power, row.passed, row.mean_fell, row.covered)]
        lines.append(
            f"| {row.name} | {row.budget:g}x | {row.corpora} | {numbers[0]} | {numbers[1]} | {row.cost:.2f} | "
            f"{row.false_suspects:.4f} | {' | '.join(rest)} | {', '.join(row.missed) or '-'} |"
        )
    return "\n".join(lines)


def _shown(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.3f}"
