"""Live sessions of known worlds through the public forward trial: verdicts and sessions spent (target F1)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from harnesskit.decisions.forward_promotion import decide_forward
from harnesskit.measures.forward_trial import forward_path, forward_trial
from harnesskit.stats.intervals import clopper_pearson
from harnesskit.trials.trial_arm import trial_arm

MEAN, TASK_SD, RUN_SD, TASKS = 0.62, 0.18, 0.10, 12
HISTORY = 60


@dataclass(frozen=True)
class ForwardWorld:
    """Session scores clip(mean + task + run noise, 0, 1), tasks with sd .18 and runs with .10.

    Attributes
    ----------
    effect
        What the rule adds.
    horizon
        Sessions that there are.
    drift
        What the calendar adds from the first to the last session; ``step`` adds all of it in the middle instead.
    noise
        ``normal``, ``binary`` (1 with the chance the score would be) or ``round`` (grid of .25).
    by_task
        Whether the task types are known, and a history of 200 sessions with them.
    coin
        Arms by the coin of each cluster, without positions.
    policy
        As for `forward_trial`.
    """

    effect: float = 0.0
    horizon: int = 160
    drift: float = 0.0
    step: bool = False
    noise: str = "normal"
    by_task: bool = False
    coin: bool = False
    policy: str = "open_ended"
    unscored: float = 0.0


class ForwardCell(NamedTuple):
    """A world and what is promised of it."""

    name: str
    world: ForwardWorld
    promote_most: float = 1.0
    promote_least: float = 0.0
    cost_most: float = np.inf
    trials: int = 600


CELLS = [
    ForwardCell("effect 0, 160 sessions", ForwardWorld(), promote_most=0.06),
    ForwardCell("effect 0, 320 sessions", ForwardWorld(horizon=320), promote_most=0.06, trials=500),
    ForwardCell("effect 0, calendar drift +.05", ForwardWorld(drift=0.05, horizon=80), promote_most=0.06),
    ForwardCell("effect 0, calendar drift +.30", ForwardWorld(drift=0.30), promote_most=0.06),
    ForwardCell("effect 0, calendar drift -.30 at once", ForwardWorld(drift=-0.30, step=True), promote_most=0.06),
    ForwardCell("effect 0, drift +.30, coin", ForwardWorld(drift=0.30, coin=True), promote_most=0.06),
    ForwardCell("effect 0, binary", ForwardWorld(noise="binary"), promote_most=0.06),
    ForwardCell("effect 0, grid of .25", ForwardWorld(noise="round"), promote_most=0.06),
    ForwardCell("effect 0, task types known", ForwardWorld(by_task=True), promote_most=0.06),
    ForwardCell("effect 0, 20 % unscored", ForwardWorld(unscored=0.2), promote_most=0.06),
    ForwardCell("effect -.10", ForwardWorld(effect=-0.10), promote_most=0.01),
    ForwardCell("effect +.20, 80 sessions", ForwardWorld(effect=0.20, horizon=80), promote_least=0.92, cost_most=42),
    ForwardCell("effect +.10, 160 sessions", ForwardWorld(effect=0.10), promote_least=0.65),
    ForwardCell("effect +.10, 320 sessions", ForwardWorld(effect=0.10, horizon=320), promote_least=0.87, trials=500),
    ForwardCell("effect +.10, 80 sessions, task types known", ForwardWorld(effect=0.10, horizon=80, by_task=True),
                promote_least=0.65),
    ForwardCell("effect 0, 80 promised", ForwardWorld(policy="budgeted:80", horizon=80), promote_most=0.06, trials=500),
    ForwardCell("effect 0, drift +.30, 80 promised",
                ForwardWorld(policy="budgeted:80", horizon=80, drift=0.3), promote_most=0.06, trials=500),
    ForwardCell("effect +.20, 80 promised", ForwardWorld(effect=0.20, policy="budgeted:80", horizon=80),
                promote_least=0.92, cost_most=42, trials=500),
    ForwardCell("effect +.10, 160 promised", ForwardWorld(effect=0.10, policy="budgeted:160"), promote_least=0.65,
                trials=300),
]  # fmt: skip


class ForwardRow(NamedTuple):
    """What a cell brought."""

    name: str
    trials: int
    promote: float
    retire: float
    pending: float
    sessions: float
    missed: tuple[str, ...]


def draw_sessions(world: ForwardWorld, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the sessions of a trial and those before it."""
    rng = np.random.default_rng(seed)
    task_mean = rng.normal(0, TASK_SD, size=TASKS if world.by_task else 100_000)
    n = world.horizon
    arms = [trial_arm(f"rule-{seed}", f"u{i}", position=None if world.coin else i) for i in range(n)]
    calendar = np.where(np.arange(n) >= n / 2, 1.0, 0.0) if world.step else np.arange(n) / n
    extra = world.effect * (np.array(arms) == "candidate") + world.drift * calendar
    live, task = _scores(world, rng, task_mean, n, extra)
    trial = pd.DataFrame({"session_id": [f"s{i}" for i in range(n)], "arm": arms, "metric": "q", "value": live,
                          "task": task})  # fmt: skip
    trial.loc[rng.random(n) < world.unscored, "value"] = np.nan
    before, task = _scores(world, rng, task_mean, 200 if world.by_task else HISTORY, 0.0)
    history = pd.DataFrame({"session_id": [f"h{i}" for i in range(len(before))], "metric": "q", "value": before,
                            "task": task})  # fmt: skip
    return trial, history


def _scores(world: ForwardWorld, rng: np.random.Generator, task_mean: np.ndarray, n: int, extra: np.ndarray | float):
    task = rng.integers(0, len(task_mean), size=n)
    score = np.clip(MEAN + task_mean[task] + rng.normal(0, RUN_SD, size=n) + extra, 0, 1)
    if world.noise == "binary":
        score = (rng.random(n) < score).astype(float)
    return (np.round(score * 4) / 4 if world.noise == "round" else score), task


def run_trial(world: ForwardWorld, seed: int) -> tuple[str, int]:
    """Return the verdict of one trial by the public functions, and the sessions until it was there."""
    trial, history = draw_sessions(world, seed)
    how = {"metric": "q", "policy": world.policy, "history": history, "stratum": "task" if world.by_task else None}
    verdict = decide_forward(forward_trial(trial, **how), policy=world.policy).verdict
    path = forward_path(trial, **how)
    ended = path.loc[path["decided"], "replays"]
    return verdict, int(ended.iloc[0]) if len(ended) else world.horizon


def simulate_forward(cells: Sequence[ForwardCell] = CELLS, *, seed: int = 9000, scale: float = 1.0, jobs: int = 2):
    """Return a row per cell; a cell misses a promise only when its 99 % Monte-Carlo interval does."""
    work = [(cell, seed + i) for cell in cells for i in range(max(20, round(cell.trials * scale)))]
    if jobs == 1:
        found = list(map(_one, work))
    else:
        with ProcessPoolExecutor(min(jobs, os.cpu_count() or 1)) as pool:
            found = list(pool.map(_one, work, chunksize=20))
    return [_row(cell, [one for (of, _), one in zip(work, found, strict=True) if of is cell]) for cell in cells]


def _one(work: tuple[ForwardCell, int]) -> tuple[str, int]:
    return run_trial(work[0].world, work[1])


def _row(cell: ForwardCell, found: Sequence[tuple[str, int]]) -> ForwardRow:
    n = len(found)
    verdicts = [verdict for verdict, _ in found]
    promoted = verdicts.count("promote")
    low, high = clopper_pearson(promoted, n, confidence=0.99)
    spent = np.array([cost for _, cost in found], dtype=float)
    least = spent.mean() - 2.58 * spent.std(ddof=1) / n**0.5
    missed = [
        *([f"promote > {cell.promote_most:g}"] if low > cell.promote_most else []),
        *([f"promote < {cell.promote_least:g}"] if high < cell.promote_least else []),
        *([f"sessions > {cell.cost_most:g}"] if least > cell.cost_most else []),
    ]
    shares = (verdicts.count(word) / n for word in ("promote", "retire", "pending"))
    return ForwardRow(cell.name, n, *shares, float(spent.mean()), tuple(missed))


def forward_text(rows: Sequence[ForwardRow]) -> str:
    """Return the table in Markdown."""
    lines = ["| forward trial | trials | promote | retire | pending | sessions | missed |", "|---" * 7 + "|"]
    lines += [
        f"| {r.name} | {r.trials} | {r.promote:.3f} | {r.retire:.3f} | {r.pending:.3f} | {r.sessions:.1f} | "
        f"{', '.join(r.missed) or '-'} |"
        for r in rows
    ]
    return "\n".join(lines)
