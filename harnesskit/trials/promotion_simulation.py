"""Whole trials of a rule played through with drawn scores, by the policy's own numbers: no agent, no file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from harnesskit.measures.promotion_looks import benefit_looks
from harnesskit.measures.promotion_stage import GuardStage, guard_stage
from harnesskit.model.promotion_policy import PromotionPolicy
from harnesskit.stats.blind_spot import blind_spot, harmed_wins
from harnesskit.stats.harm_mixture import guard_look
from harnesskit.stats.harm_steps import guard_verdict, next_guard_step
from harnesskit.stats.replay_schedule import Cell, benefit_budget, next_cells, next_in_round, next_of_pair

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

Draw = Callable[[int, int], "Floats"]
"""Takes the place of a case and a number of runs, and returns their scores on the common scale, (runs, metrics)."""


class World(NamedTuple):
    """Where a trial is played: what runs look like without the rule, and how many there are beforehand.

    Attributes
    ----------
    failure, win
        Draw runs of a failure (target metric first), and of a win (all metrics watched).
    failure_bank, win_bank
        Control runs that each has beforehand.
    metrics
        Metrics watched on the wins.
    captured
        Whether a win without control runs has its captured score.
    """

    failure: Draw
    win: Draw
    failure_bank: Sequence[int]
    win_bank: Sequence[int]
    metrics: int
    captured: bool = True


class Played(NamedTuple):
    """How a trial ended: ``promote``, ``retire`` or ``pending``, and what it took."""

    verdict: str
    replays: int
    wins_replayed: int


def play(world: World, policy: PromotionPolicy, prior_sd: float, *, effect: float = 0.0) -> Played:
    """Return how one trial of a rule that adds `effect` to every failure and nothing to the wins ends."""
    banked = [world.failure(case, n)[:, 0] for case, n in enumerate(world.failure_bank)]
    cells = planned_cells([len(runs) for runs in banked], policy)
    at = np.array([cell.case for cell in cells], dtype=np.int64)
    arm = np.array([cell.candidate for cell in cells], dtype=bool)
    runs = np.array([world.failure(cell.case, 1)[0] for cell in cells], dtype=float)
    values = runs[:, 0] + effect * arm
    looks = benefit_looks(at, arm, values, banked=banked, policy=policy, prior_sd=prior_sd)
    spent = int(looks.replays[-1]) if looks.verdict is not None else len(cells)
    if looks.verdict != "efficacy":
        return Played("pending" if looks.verdict is None else "retire", spent, 0)
    if not len(world.win_bank):
        return Played("promote", spent, 0)
    return _guarded(world, policy, spent, runs[:spent], at[:spent], arm[:spent])


def planned_cells(banked: Sequence[int], policy: PromotionPolicy) -> list[Cell]:
    """Return the replays of failures that a policy plans, all of them scored."""
    m, n, cells = list(banked), [0] * len(banked), list[Cell]()
    for _ in range(benefit_budget(policy.budget, guard_share=policy.guard_share)):
        if policy.mode == "open_ended" and policy.certified:
            cell = next_of_pair(m, n)
        else:
            cell = next_in_round(m, n) if policy.design == "classic" else next_cells(m, n)[0]
        (n if cell.candidate else m)[cell.case] += 1
        cells.append(cell)
    return cells


def _guarded(
    world: World, policy: PromotionPolicy, spent: int, runs: Floats, at: NDArray[np.int64], arm: NDArray[np.bool_]
) -> Played:
    wins = len(world.win_bank)
    cells = [runs[(at == case) & (arm == side)] for case in sorted(set(at.tolist())) for side in (False, True)]
    stage = _stage(world, policy, spent, cells)
    win: list[int] = []
    candidate: list[bool] = []
    values: list[Floats] = []
    look = guard_look(stage.known, [], [], np.zeros((0, world.metrics)), rules=stage.rules)
    said = "open"
    while said == "open" and len(win) < stage.budget:
        step = next_guard_step(look, stage.known, list(range(wins)), rules=stage.rules)
        if step is None:
            break
        win.append(step.win)
        candidate.append(step.candidate)
        values.append(world.win(step.win, 1)[0])
        look = guard_look(stage.known, win, candidate, np.array(values), rules=stage.rules)
        said = guard_verdict(look, stage.known, ended=False, rules=stage.rules)
    if said == "open":
        said = guard_verdict(look, stage.known, ended=True, rules=stage.rules)
    replayed = int((look.n_candidate > 0).sum())
    verdict = {"harm": "retire", "clean": "promote"}.get(said, "pending")
    if verdict == "promote" and not _covered(wins, replayed, policy):
        verdict = "pending"
    return Played(verdict, spent + len(win), replayed)


def _stage(world: World, policy: PromotionPolicy, spent: int, cells: list[Floats]) -> GuardStage:
    wins, depth = len(world.win_bank), max(world.win_bank, default=0)
    bank = np.full((wins, depth, world.metrics), np.nan)
    for place, n in enumerate(world.win_bank):
        if n:
            bank[place, :n] = world.win(place, n)
    captures = np.array([world.win(place, 1)[0] for place in range(wins)])
    watched = [cell[:, : world.metrics] for cell in cells if len(cell) and cell.shape[1] >= world.metrics]
    return guard_stage(
        bank if depth else None,
        captures if world.captured and depth == 0 else None,
        cells=watched,
        policy=policy,
        spent=spent,
        wins=wins,
        metrics=world.metrics,
    )


def _covered(wins: int, replayed: int, policy: PromotionPolicy) -> bool:
    """Return whether enough wins were replayed for a promotion."""
    unseen = blind_spot(wins, harmed_wins(wins, policy.harmed_share), replayed)
    return replayed >= min(policy.min_guard_wins, wins) and unseen <= policy.max_blind_spot
