"""Worlds with a known truth: corpora of protected wins, their control bank, and an agent that may be worse."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

MOST = 40


@dataclass(frozen=True)
class World:
    """How runs of a win scatter, and what the change does.

    Attributes
    ----------
    sd, het
        Standard deviation of one run; each win's own is sd * sqrt(chi2_het / het).
    rho
        Correlation of the metrics within a run.
    noise
        ``clip``, ``round`` (judge grid of .1), ``flaky`` (8 % of runs collapse by .3 to .7), ``t4``, ``skew``, or
        ``binary`` (one yes-or-no metric; `sd` is the mean chance to fail, `drop` the chance of broken wins).
    collapse
        Share of collapsing runs where noise is flaky.
    metric_sd
        Standard deviation of each metric over that of the win; None for equal ones.
    drop, metrics, wins
        The change lowers `metrics` of the 4 metrics by `drop` in `wins` of the 60 wins.
    broken
        In the changed wins this share of candidate runs collapses instead.
    banks
        Control runs of the first, second, ... win, over and over, where they are not `bank` for every win.
    improved
        In this share of the wins the change raises three metrics by .15.
    """

    sd: float = 0.10
    bank: int = 5
    noise: str = "clip"
    drop: float = 0.0
    metrics: int = 4
    wins: int = 3
    cases: int = 60
    k: int = 4
    rho: float = 0.5
    het: int = 8
    collapse: float = 0.08
    metric_sd: tuple[float, ...] | None = None
    broken: float = 0.0
    improved: float = 0.0
    banks: tuple[int, ...] = ()

    def depth(self, case: int) -> int:
        """Control runs of a win."""
        return self.banks[case % len(self.banks)] if self.banks else self.bank

    @property
    def null(self) -> bool:
        """Whether nothing got worse."""
        return not self.drop and not self.broken


@dataclass(frozen=True)
class Corpus:
    """One draw of a world: (cases, runs, metrics) arrays, and which wins the change broke."""

    bank: np.ndarray
    candidate: np.ndarray
    control: np.ndarray
    captured: np.ndarray
    broken: np.ndarray


def draw(world: World, seed: int) -> Corpus:
    """Return the corpus of a seed."""
    rng = np.random.default_rng(seed)
    if world.noise == "binary":
        return _outcomes(world, rng)
    level = np.clip(rng.normal(0.84, 0.08, size=(world.cases, 1)), 0.6, 1.0)
    mean = np.clip(level + rng.normal(0, 0.03, size=(world.cases, world.k)), 0.6, 1.0)
    spread = world.sd * np.sqrt(rng.chisquare(world.het, size=world.cases) / world.het)
    captured = _runs(world, rng, mean, spread, 1)
    for _ in range(200):  # a win was kept because a run scored .7 or more in every metric
        bad = (captured[:, 0] < 0.7).any(axis=1)
        if not bad.any():
            break
        captured = np.where(bad[:, None, None], _runs(world, rng, mean, spread, 1), captured)
    after = mean.copy()
    broken = np.zeros(world.cases, dtype=bool)
    chosen = rng.permutation(world.cases)
    if world.improved:
        after[np.ix_(chosen[-int(world.improved * world.cases) :], range(3))] += 0.15
    if not world.null:
        broken[chosen[: world.wins]] = True
        after[broken, : world.metrics] -= world.drop
    deepest = max(world.banks, default=world.bank)
    bank, control = (_runs(world, rng, mean, spread, n) for n in (deepest, MOST))
    candidate = _runs(world, rng, after, spread, MOST, extra=np.where(broken, world.broken, 0.0))
    return Corpus(bank, candidate, control, captured[:, 0], broken)


def _outcomes(world: World, rng: np.random.Generator) -> Corpus:
    chance = rng.beta(20 * world.sd, 20 * (1 - world.sd), size=world.cases)
    after, broken = chance.copy(), np.zeros(world.cases, dtype=bool)
    if world.drop:
        broken[rng.permutation(world.cases)[: world.wins]] = True
        after[broken] = world.drop

    def passed(p: np.ndarray, n: int) -> np.ndarray:
        return (rng.random((world.cases, n, 1)) >= p[:, None, None]).astype(float)

    bank, control, candidate = passed(chance, world.bank), passed(chance, MOST), passed(after, MOST)
    return Corpus(bank, candidate, control, np.ones((world.cases, 1)), broken)


def _runs(world: World, rng: np.random.Generator, mean: np.ndarray, spread: np.ndarray, n: int, extra=None):
    shape = (len(mean), n, world.k)
    shared, own = _noise(world, rng, (len(mean), n, 1)), _noise(world, rng, shape)
    noise = np.sqrt(world.rho) * shared + np.sqrt(1 - world.rho) * own
    scale = np.ones(world.k) if world.metric_sd is None else np.array(world.metric_sd) / world.sd
    values = mean[:, None, :] + noise * spread[:, None, None] * scale
    chance = world.collapse if world.noise == "flaky" else 0.0
    chances = np.full(len(mean), chance) if extra is None else np.maximum(extra, chance)
    falls = rng.random((len(mean), n)) < chances[:, None]
    values -= (falls * rng.uniform(0.3, 0.7, size=falls.shape))[:, :, None]
    values = np.clip(values, 0, 1)
    return np.round(values, 1) if world.noise == "round" else values


def _noise(world: World, rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    if world.noise == "t4":
        return rng.standard_t(4, size=shape) / np.sqrt(2)
    if world.noise == "skew":
        return 1 - rng.exponential(size=shape)
    return rng.normal(size=shape)
