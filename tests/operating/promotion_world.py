"""Worlds with a known truth for the promotion of a rule: failing cases, protected wins, and a rule that may do harm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

FAILURE_LEVEL = (0.45, 0.10)
WIN_LEVEL = (0.84, 0.08)
MOST = 40


@dataclass(frozen=True)
class PromotionWorld:
    """How runs scatter, what the rule does, and what is known before.

    Attributes
    ----------
    effect
        Mean change of the target metric in the failing cases (of all metrics; the first is the target).
    harmed, drop, metrics
        The rule lowers `metrics` of the 4 metrics by `drop` in this share of the wins.
    sd, het
        Standard deviation of one run; each case's own is sd * sqrt(chi2_het / het).
    assumed
        The same, as it is believed beforehand; None: known.
    noise
        ``clip``, ``round`` (judge grid of .1), ``flaky`` (12 % of runs collapse by .3 to .7) or ``binary``.
    bank
        Control runs of every case that are there before; 0: fresh controls only.
    collapse_alone
        Whether metrics collapse one by one instead of all those of a run together.
    selected
        Whether wins were captured because their run had all metrics at .7 or more.
    stale
        Captures lie higher by this, whatever they were selected for.
    most
        Runs that are drawn of each case in each arm.
    """

    effect: float = 0.0
    harmed: float = 0.0
    drop: float = 0.20
    metrics: int = 4
    sd: float = 0.10
    assumed: float | None = None
    noise: str = "clip"
    bank: int = 5
    failures: int = 3
    wins: int = 20
    k: int = 4
    rho: float = 0.5
    het: int = 8
    collapse: float = 0.12
    collapse_alone: bool = False
    selected: bool = True
    stale: float = 0.0
    most: int = MOST

    @property
    def believed(self) -> float:
        """Standard deviation of one run as it is believed beforehand."""
        return self.sd if self.assumed is None else self.assumed


class Candidate(NamedTuple):
    """One draw: runs of the failing cases and wins, (cases, runs, metrics) in each arm, and what was there before."""

    failure_bank: np.ndarray
    failure_control: np.ndarray
    failure_rule: np.ndarray
    win_bank: np.ndarray
    captured: np.ndarray
    win_control: np.ndarray
    win_rule: np.ndarray
    order: np.ndarray
    harmed: np.ndarray
    failure_captured: np.ndarray
    """The run that each failing case was kept for: it scored below .5 in the target metric."""


def draw_candidate(world: PromotionWorld, seed: int) -> Candidate:
    """Return the candidate of a seed: the same corpus whatever the rule does."""
    rng = np.random.default_rng(seed)
    level = np.clip(rng.normal(*FAILURE_LEVEL, size=(world.failures, 1)), 0.2, 0.6)
    failing = np.clip(level + rng.normal(0, 0.03, size=(world.failures, world.k)), 0.15, 0.65)
    kept = np.clip(rng.normal(*WIN_LEVEL, size=(world.wins, 1)), 0.6, 1.0)
    winning = np.clip(kept + rng.normal(0, 0.03, size=(world.wins, world.k)), 0.6, 1.0)
    spread = world.sd * np.sqrt(rng.chisquare(world.het, size=world.failures + world.wins) / world.het)
    of_failures, of_wins = spread[: world.failures], spread[world.failures :]
    captured = _runs(world, rng, winning, of_wins, 1)
    for _ in range(200 if world.selected else 0):
        bad = (captured[:, 0] < 0.7).any(axis=1)
        if not bad.any():
            break
        captured = np.where(bad[:, None, None], _runs(world, rng, winning, of_wins, 1), captured)
    harmed = np.zeros(world.wins, dtype=bool)
    harmed[rng.permutation(world.wins)[: round(world.harmed * world.wins)]] = True
    after = winning.copy()
    after[harmed, : world.metrics] -= world.drop
    return Candidate(
        failure_bank=_runs(world, rng, failing, of_failures, world.bank),
        failure_control=_runs(world, rng, failing, of_failures, world.most),
        failure_rule=_runs(world, rng, failing + world.effect, of_failures, world.most),
        win_bank=_runs(world, rng, winning, of_wins, world.bank),
        captured=captured[:, 0] + world.stale,
        win_control=_runs(world, rng, winning, of_wins, world.most),
        win_rule=_runs(world, rng, after, of_wins, world.most),
        order=rng.permutation(world.wins),
        harmed=harmed,
        failure_captured=_failed(world, rng, failing, of_failures),
    )


def _failed(world: PromotionWorld, rng: np.random.Generator, mean: np.ndarray, spread: np.ndarray) -> np.ndarray:
    runs = _runs(world, rng, mean, spread, MOST)
    low = runs[:, :, 0] < 0.5
    return runs[np.arange(len(runs)), np.where(low.any(axis=1), low.argmax(axis=1), runs[:, :, 0].argmin(axis=1))]


def _runs(world: PromotionWorld, rng: np.random.Generator, mean: np.ndarray, spread: np.ndarray, n: int) -> np.ndarray:
    shape = (len(mean), n, world.k)
    if world.noise == "binary":
        return (rng.random(shape) < np.clip(mean, 0, 1)[:, None, :]).astype(float)
    shared, own = rng.normal(size=(len(mean), n, 1)), rng.normal(size=shape)
    noise = np.sqrt(world.rho) * shared + np.sqrt(1 - world.rho) * own
    values = mean[:, None, :] + noise * spread[:, None, None]
    if world.noise == "flaky":
        falls = rng.random((*shape[:2], world.k if world.collapse_alone else 1)) < world.collapse
        values = values - falls * rng.uniform(0.3, 0.7, size=falls.shape)
    values = np.clip(values, 0, 1)
    return np.round(values, 1) if world.noise == "round" else values
