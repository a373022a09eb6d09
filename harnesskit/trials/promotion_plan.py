"""What a trial of a rule would cost and could tell, before anything is spent: trials played with this noise."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from harnesskit.model.contract import Contract
from harnesskit.trials.promotion_frozen import FrozenPromotion
from harnesskit.trials.promotion_simulation import Played, World, play
from harnesskit.trials.promotion_values import Values
from harnesskit.trials.win import CONTROL

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

EFFECTS = (0.0, 0.05, 0.10, 0.20)
CORRELATION = 0.5
"""Correlation of two metrics within a run that is assumed."""
MOST_WINS = 40

PROMOTION_PLAN = Contract(
    name="plan of a trial",
    grain="true effect",
    key=("effect",),
    columns={
        "effect": "what the rule adds to each of its failures, on the 0-to-1 scale; it harms no win",
        "promote": "chance that the trial promotes it",
        "retire": "chance that the trial retires it",
        "pending": "chance that the budget ends before a verdict",
        "replays": "replays that the trial takes on average",
        "replays_90": "replays that nine trials in ten take at most",
        "cost": "cost of that average at the mean cost of a stored replay; missing when no cost is known",
        "sd": "standard deviation of one run that is assumed",
        "noise": "where it comes from",
        "failures": "failures replayed",
        "controls": "control runs that a failure has beforehand, on average",
        "wins": "protected wins",
        "policy": "policy of the trial",
        "draws": "trials played for each effect",
    },
)


def plan_frame(frozen: FrozenPromotion, *, cost: float | None = None, draws: int = 200) -> pd.DataFrame:
    """Return one row per true effect: the chance of each verdict, and what it takes (`PROMOTION_PLAN`).

    Parameters
    ----------
    frozen
        What the trial would fix.
    cost
        Mean cost of a replay.
    draws
        Trials played for each effect, at least 1; the standard error of a chance p is sqrt(p (1 - p) / draws).
    """
    if draws < 1:
        raise ValueError(f"a plan needs draws of at least 1, found {draws}")
    rng = np.random.default_rng([frozen.seed, 2])
    world = _world(frozen, rng)
    rows = []
    for effect in EFFECTS:
        played = [play(world, frozen.policy, frozen.prior_sd, effect=effect) for _ in range(draws)]
        rows.append(_row(effect, played, cost) | {
            "sd": frozen.prior_sd, "noise": frozen.noise, "failures": len(frozen.failures),
            "controls": float(np.mean(world.failure_bank)), "wins": frozen.n_wins, "policy": frozen.policy.label,
            "draws": draws,
        })  # fmt: skip
    return pd.DataFrame(rows, columns=list(PROMOTION_PLAN.columns)).astype({"cost": float})


def _world(frozen: FrozenPromotion, rng: np.random.Generator) -> World:
    """Return a world of normal noise with the runs there are; the wins lie apart as wins do."""
    values, sd = Values(frozen), frozen.prior_sd
    metrics = max(len(frozen.guard_metrics), 1)
    wins = frozen.wins[:MOST_WINS]
    levels = rng.normal(0.85, 0.05, (max(len(wins), 1), metrics))

    def noise(runs: int, width: int) -> Floats:
        shared, own = rng.normal(0, sd, (runs, 1)), rng.normal(0, sd, (runs, width))
        return np.asarray(CORRELATION**0.5 * shared + (1 - CORRELATION) ** 0.5 * own, dtype=float)

    return World(
        failure=lambda case, runs: noise(runs, metrics),
        win=lambda win, runs: levels[win] + noise(runs, metrics),
        failure_bank=[len(values.bank_of(case)) for case in frozen.failures],
        win_bank=[sum(run.source == CONTROL for run in frozen.controls.get(case, ())) for case in wins],
        metrics=metrics,
    )


def _row(effect: float, played: list[Played], cost: float | None) -> dict[str, object]:
    verdicts = [one.verdict for one in played]
    replays = np.array([one.replays for one in played], dtype=float)
    mean = float(replays.mean())
    return {
        "effect": effect,
        **{name: verdicts.count(name) / len(played) for name in ("promote", "retire", "pending")},
        "replays": mean,
        "replays_90": float(np.quantile(replays, 0.9)),
        "cost": None if cost is None else mean * cost,
    }
