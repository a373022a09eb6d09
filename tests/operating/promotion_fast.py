"""Whole trials of a rule by the functions that the runner and the verdict use, on arrays alone: the fast path.

`promotion_trial` makes the same trial by the runner and judges it by the public functions; a test holds both against
each other, so that most of the table can be drawn by this path.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from harnesskit.measures.promotion_looks import benefit_looks
from harnesskit.measures.promotion_stage import guard_stage
from harnesskit.model.promotion_policy import PromotionPolicy
from harnesskit.stats.blind_spot import blind_spot, harmed_wins
from harnesskit.stats.harm_mixture import look_at
from harnesskit.stats.harm_steps import guard_verdict, next_guard_step
from harnesskit.stats.replay_schedule import Cell, benefit_budget, next_cells, next_in_round, next_of_pair
from harnesskit.stats.win_runs import WinRuns
from tests.operating.promotion_world import Candidate, PromotionWorld


class Played(NamedTuple):
    """How a trial ended."""

    verdict: str
    """``promote``, ``retire`` or ``pending``."""
    replays: int
    stage: str
    """What decided: ``efficacy`` (no wins), ``futility``, ``harmful``, ``harm``, ``clean``; else where it was open."""
    tested: int
    """Replays of failing cases."""
    wins: int
    """Wins replayed."""


def ungated(policy: PromotionPolicy) -> PromotionPolicy:
    """Return a policy without the gates on how many wins were replayed, as the targets are stated."""
    return policy.model_copy(update={"max_blind_spot": 1.0, "min_guard_wins": 0})


def gated(played: Played, wins: int, policy: PromotionPolicy) -> str:
    """Return the verdict with the gates of a policy; they change nothing before the budget is spent."""
    if played.verdict != "promote" or not wins:
        return played.verdict
    unseen = blind_spot(wins, harmed_wins(wins, policy.harmed_share), played.wins)
    enough = played.wins >= min(policy.min_guard_wins, wins) and unseen <= policy.max_blind_spot + 1e-12
    return "promote" if enough else "pending"


def planned(world: PromotionWorld, policy: PromotionPolicy, seed: int) -> list[Cell]:
    """Return the replays of failing cases in order, ties broken as the runner breaks them."""
    m, n, cells = [world.bank] * world.failures, [0] * world.failures, list[Cell]()
    for number in range(benefit_budget(policy.budget, guard_share=policy.guard_share)):
        cell = _next(m, n, policy, np.random.default_rng([seed, number]))
        (n if cell.candidate else m)[cell.case] += 1
        cells.append(cell)
    return cells


def _next(m: list[int], n: list[int], policy: PromotionPolicy, draw: np.random.Generator) -> Cell:
    if policy.mode == "open_ended" and policy.certified:
        cell = next_of_pair(m, n)
        return cell if m[cell.case] != n[cell.case] else Cell(cell.case, bool(draw.integers(2)))
    if policy.design == "classic":
        return next_in_round(m, n)
    cells = next_cells(m, n)
    return cells[int(draw.integers(len(cells)))]


def play(world: PromotionWorld, candidate: Candidate, policy: PromotionPolicy, seed: int) -> Played:
    """Return how the trial of one candidate ends."""
    cells = planned(world, policy, seed)
    used: dict[Cell, int] = {}
    rows = []
    for cell in cells:
        turn = used[cell] = used.get(cell, -1) + 1
        rows.append((candidate.failure_rule if cell.candidate else candidate.failure_control)[cell.case, turn])
    runs = np.array(rows)
    case, arm = np.array([c.case for c in cells]), np.array([c.candidate for c in cells])
    looks = benefit_looks(
        case, arm, runs[:, 0], banked=list(candidate.failure_bank[:, :, 0]), policy=policy, prior_sd=world.believed
    )
    if looks.verdict is None:
        return Played("pending", len(cells), "benefit", len(cells), 0)
    spent = int(looks.replays[-1])
    if looks.verdict != "efficacy":
        return Played("retire", spent, looks.verdict, spent, 0)
    if not world.wins:
        return Played("promote", spent, "efficacy", spent, 0)
    made = np.arange(len(cells)) < spent
    failing = [
        np.concatenate(
            [runs[:0] if side else candidate.failure_bank[place], runs[made & (case == place) & (arm == side)]]
        )
        for place in range(world.failures)
        for side in (False, True)
    ]
    return _guarded(world, candidate, policy, spent, failing)


def _guarded(
    world: PromotionWorld, candidate: Candidate, policy: PromotionPolicy, spent: int, failing: list[np.ndarray]
) -> Played:
    banked = world.bank > 0
    stage = guard_stage(
        candidate.win_bank if banked else None, None if banked else candidate.captured,
        cells=[cell for cell in failing if len(cell)], policy=policy, spent=spent, wins=world.wins, metrics=world.k,
    )  # fmt: skip
    known, rules, budget = stage
    sums = WinRuns(known)
    look = look_at(known, sums, rules)
    used: dict[tuple[int, bool], int] = {}
    said = "open"
    while said == "open" and sums.replays < budget:
        step = next_guard_step(look, known, candidate.order, rules=rules)
        turn = used[step] = used.get(step, -1) + 1
        values = candidate.win_rule if step.candidate else candidate.win_control
        sums.add(step.win, step.candidate, values[step.win, turn])
        look = look_at(known, sums, rules)
        said = guard_verdict(look, known, ended=sums.replays >= budget, rules=rules)
    verdict = {"harm": "retire", "clean": "promote"}.get(said, "pending")
    covered = int(np.isfinite(look.delta).sum())
    return Played(verdict, spent + sums.replays, said if said != "open" else "guard", spent, covered)
