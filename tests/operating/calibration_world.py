"""Labelled sessions of a known world through the public calibration (target C1): does what is certified hold?"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from multiprocessing import Pool
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from harnesskit.measures.calibration import calibrate

FAILING, BAD, GOOD, SD = 0.3, 0.455, 0.73, 0.15
"""Share of sessions that fail; means of the scores of failed and good sessions, and their scatter."""

ICC, TRACES = 0.5, 5
"""Share of the variance of one trace that lies between sessions, and traces per session."""

TARGET, DELTA = 0.8, 0.1
GRID = np.round(np.arange(1, 20) / 20, 2)


class CalibrationCell(NamedTuple):
    """So many labels, and what is promised of them."""

    labels: int
    wrong_most: float = 0.10
    recall_least: float = 0.40
    regret_most: float = 1.0
    trials: int = 2000

    @property
    def name(self) -> str:
        return f"{self.labels} labels"


CELLS = [CalibrationCell(20), CalibrationCell(40), CalibrationCell(80, regret_most=0.014), CalibrationCell(160),
         CalibrationCell(320)]  # fmt: skip


class CalibrationRow(NamedTuple):
    """What a cell brought."""

    name: str
    trials: int
    established: float
    wrong: float
    recall: float
    lowest_recall: float
    regret: float
    raw_regret: float
    optimism: float
    bias: float
    covered: float
    missed: tuple[str, ...]


def truth(threshold: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return true precision, recall and F1 of thresholds on the mean of a session."""
    recall = stats.norm.cdf((threshold - BAD) / SD)
    hits, false = FAILING * recall, (1 - FAILING) * stats.norm.cdf((threshold - GOOD) / SD)
    return hits / (hits + false), recall, 2 * hits / (hits + false + FAILING)


def draw(labels: int, rng: np.random.Generator) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return scores and labels: traces of one session are alike (ICC), its mean scatters by `SD`."""
    failed = rng.random(labels) < FAILING
    trace = SD / np.sqrt(ICC + (1 - ICC) / TRACES)
    level = np.where(failed, BAD, GOOD) + rng.normal(0, trace * np.sqrt(ICC), labels)
    value = np.repeat(level, TRACES) + rng.normal(0, trace * np.sqrt(1 - ICC), labels * TRACES)
    session = np.repeat(np.arange(labels), TRACES)
    scores = pd.DataFrame({"session_id": session, "metric": "quality", "value": value})
    return scores, pd.DataFrame({"session_id": np.arange(labels), "failed": failed})


def one_trial(labels: int, seed: int) -> tuple[float, ...]:
    """Return what the public calibration chose, and what it is worth in truth."""
    from harnesskit.model.metrics import Metric

    scores, said = draw(labels, np.random.default_rng(seed))
    metric = Metric("quality", low=None, high=None, threshold=0.5)
    row = calibrate(
        scores, said, metrics=[metric], thresholds=GRID, target_precision=TARGET, delta=DELTA, seed=seed
    ).iloc[0]
    raw = calibrate(scores, said, metrics=[metric], target_precision=TARGET, policy="reference").iloc[0]
    best = truth(GRID)[2].max()
    sure = row["certified_threshold"]
    precision, recall, _ = truth(np.array([sure if pd.notna(sure) else np.nan], dtype=float))
    lowest = truth(np.array([row["lowest_threshold"]], dtype=float))[1][0]
    f1, raw_f1 = (truth(np.array([one["best_threshold"]], dtype=float))[2][0] for one in (row, raw))
    covered = row["recall_low"] <= truth(np.array([0.5]))[1][0] <= row["recall_high"]
    return (
        float(pd.notna(sure)), float(precision[0] < TARGET), float(recall[0]), float(lowest), best - f1, best - raw_f1,
        row["best_f1"] - f1, row["best_f1_expected"] - f1, float(covered),
    )  # fmt: skip


def simulate_calibration(
    cells: Sequence[CalibrationCell] = CELLS, *, seed: int, scale: float = 1.0, jobs: int = 1
) -> list[CalibrationRow]:
    """Return one row per number of labels."""
    rows = []
    for cell in cells:
        n = max(int(cell.trials * scale), 20)
        work = partial(one_trial, cell.labels)
        if jobs > 1:
            with Pool(jobs) as pool:
                found = pool.map(work, range(seed, seed + n), chunksize=50)
        else:
            found = [work(one) for one in range(seed, seed + n)]
        rows.append(_row(cell, np.array(found, dtype=float)))
    return rows


def _row(cell: CalibrationCell, found: np.ndarray) -> CalibrationRow:
    sure, wrong, recall, lowest, regret, raw, optimism, bias, covered = found.T
    n, some = len(found), bool(sure.any())
    share, kept = float(wrong.mean()), float(recall[sure > 0].mean()) if some else float("nan")
    mean = float(np.nanmean(regret))
    missed = []
    if share > cell.wrong_most + 2 * np.sqrt(cell.wrong_most * (1 - cell.wrong_most) / n):
        missed.append("precision below the target too often")
    if sure.sum() >= 20 and kept < cell.recall_least:
        missed.append("recall where established")
    if mean > cell.regret_most + 2 * float(np.nanstd(regret)) / np.sqrt(n):
        missed.append("F1 regret")
    return CalibrationRow(
        cell.name, n, float(sure.mean()), share, kept, float(np.nanmean(lowest)), mean, float(np.nanmean(raw)),
        float(np.nanmean(optimism)), float(np.nanmean(bias)), float(covered.mean()), tuple(missed),
    )  # fmt: skip


def calibration_text(rows: Sequence[CalibrationRow]) -> str:
    """Return the table in Markdown."""
    head = (
        "| cell | n | established | precision < .8 | recall if established | recall of the lowest | F1 regret "
        "| regret of raw best F1 | optimism in sample | corrected | recall covered | misses |"
    )
    lines = [head, "|---" * 12 + "|"]
    for row in rows:
        numbers = " | ".join(f"{value:.4f}" for value in row[2:-1])
        lines.append(f"| {row.name} | {row.trials} | {numbers} | {'; '.join(row.missed) or '–'} |")
    return "\n".join(lines)
