"""Fixed cases of known pass rates through the public win evidence, run after run until decided (target W1)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from harnesskit.decisions.win_promotion import decide_win
from harnesskit.measures.win_evidence import win_evidence
from harnesskit.model.promotion_policy import PromotionPolicy
from harnesskit.stats.beta_pass import predictive_pass
from harnesskit.stats.intervals import clopper_pearson

THRESHOLD, SD = 0.70, 0.10


class WinCell(NamedTuple):
    """A case that passes with this chance, and what is promised of it."""

    rate: float
    noise: str
    accept_most: float = 1.0
    accept_least: float = 0.0
    replays_most: float = 12.0
    trials: int = 2000

    @property
    def name(self) -> str:
        return f"{self.noise}, passes {self.rate:.0%}"


CELLS = [
    WinCell(rate, noise, *bounds)
    for noise in ("smooth", "collapse")
    for rate, bounds in (
        (0.5, (0.02,)), (0.7, (0.14,)), (0.8, ()), (0.9, ()), (0.95, (1.0, 0.84)), (0.99, (1.0, 0.97)),
    )
]  # fmt: skip


class WinRow(NamedTuple):
    """What a cell brought."""

    name: str
    trials: int
    accept: float
    reject: float
    provisional: float
    replays: float
    missed: tuple[str, ...]


def draw_runs(cell: WinCell, rng: np.random.Generator, n: int) -> np.ndarray:
    """Return scores of n runs: a normal around a mean that passes so often, or high runs that now and then collapse."""
    if cell.noise == "smooth":
        return rng.normal(THRESHOLD + SD * stats.norm.ppf(cell.rate), SD, size=n)
    high = np.minimum(rng.normal(0.92, 0.04, size=n), 1.0)
    return np.where(rng.random(n) < cell.rate, np.maximum(high, THRESHOLD), rng.uniform(0.1, 0.5, size=n))


def run_case(cell: WinCell, seed: int, policy: PromotionPolicy) -> tuple[str, bool, int]:
    """Return the verdict, whether it was ever provisional, and the replays until decided."""
    scores = np.clip(draw_runs(cell, np.random.default_rng(seed), policy.max_passes), 0, 1)
    passed = scores >= THRESHOLD
    once = False
    for n in range(policy.min_passes, policy.max_passes + 1):
        verdict = _verdict(n, int(passed[:n].sum()), policy)
        if verdict != "pending":
            return verdict, once, n
        forecast = predictive_pass(scores[:n], threshold=THRESHOLD, prior_sd=SD, prior_df=3.0).p
        once |= bool(passed[:n].all()) and forecast >= policy.pass_chance
    return verdict, once, policy.max_passes


@cache
def _verdict(n: int, passes: int, policy: PromotionPolicy) -> str:
    """Return the verdict of the public functions; it hangs on how many runs passed, not on which or how well."""
    return judged(np.array([0.9] * passes + [0.3] * (n - passes)), policy)


def judged(scores: np.ndarray, policy: PromotionPolicy) -> str:
    """Return the verdict of the public functions on these runs."""
    runs = pd.DataFrame({"case_id": "c", "metric": "q", "value": scores})
    return decide_win(win_evidence(runs, policy=policy, thresholds={"q": THRESHOLD}), policy=policy).verdict


def simulate_wins(cells: Sequence[WinCell] = CELLS, *, seed: int = 9000, scale: float = 1.0):
    """Return a row per cell; a cell misses a promise only when its 99 % Monte-Carlo interval does."""
    policy = PromotionPolicy()
    rows = []
    for cell in cells:
        n = max(20, round(cell.trials * scale))
        found = [run_case(cell, seed + i, policy) for i in range(n)]
        accepted = sum(verdict == "promote" for verdict, _, _ in found)
        spent = np.array([cost for *_, cost in found], dtype=float)
        low, high = clopper_pearson(accepted, n, confidence=0.99)
        missed = [
            *([f"accept > {cell.accept_most:g}"] if low > cell.accept_most else []),
            *([f"accept < {cell.accept_least:g}"] if high < cell.accept_least else []),
            *([f"replays > {cell.replays_most:g}"] if spent.mean() > cell.replays_most else []),
        ]
        rejected = sum(verdict == "retire" for verdict, _, _ in found)
        once = sum(provisional for _, provisional, _ in found)
        rows.append(WinRow(cell.name, n, accepted / n, rejected / n, once / n, float(spent.mean()), tuple(missed)))
    return rows


def wins_text(rows: Sequence[WinRow]) -> str:
    """Return the table in Markdown."""
    lines = ["| case to win | trials | accept | reject | once provisional | replays | missed |", "|---" * 7 + "|"]
    lines += [
        f"| {r.name} | {r.trials} | {r.accept:.3f} | {r.reject:.3f} | {r.provisional:.3f} | {r.replays:.1f} | "
        f"{', '.join(r.missed) or '-'} |"
        for r in rows
    ]
    return "\n".join(lines)
