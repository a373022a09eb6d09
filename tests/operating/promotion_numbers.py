"""Whole decisions on a rule, from the functions of `harnesskit.stats` alone: what they promote, retire and cost."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from harnesskit.stats.benefit_path import BenefitRules, benefit_path
from harnesskit.stats.harm_mixture import GuardRules, look_at
from harnesskit.stats.harm_prior import benefit_noise, harm_prior
from harnesskit.stats.harm_steps import guard_verdict, next_guard_step
from harnesskit.stats.open_path import OpenRules, certified_path, open_path
from harnesskit.stats.replay_schedule import Cell, benefit_budget, next_of_pair, schedule
from harnesskit.stats.win_runs import WinRuns
from tests.operating.promotion_world import Candidate, PromotionWorld, draw_candidate


class Settings(NamedTuple):
    """What of a policy the numbers need."""

    budget: int = 40
    rules: GuardRules = GuardRules()
    shift: float = -0.25
    guard_share: float = 0.25


class Outcome(NamedTuple):
    """What a decision came to."""

    verdict: str
    replays: int
    stage: str


class Row(NamedTuple):
    """Shares over many candidates."""

    promote: float
    retire: float
    replays: float
    n: int
    harm: float

    def __str__(self) -> str:
        return f"{self.promote:.3f}/{self.retire:.3f}/{self.replays:.1f} (veto {self.harm:.3f}, n {self.n})"


def values_in_order(candidate: Candidate, cells: tuple[Cell, ...]) -> np.ndarray:
    """Return the runs that replays in this order bring, (replays, metrics)."""
    used: dict[Cell, int] = {}
    rows = []
    for cell in cells:
        turn = used[cell] = used.get(cell, -1) + 1
        rows.append((candidate.failure_rule if cell.candidate else candidate.failure_control)[cell.case, turn])
    return np.array(rows)


def decide(world: PromotionWorld, seed: int, settings: Settings) -> Outcome:
    """Return what the budgeted design decides on one candidate."""
    candidate = draw_candidate(world, seed)
    most = benefit_budget(settings.budget, guard_share=settings.guard_share)
    cells = schedule([world.bank] * world.failures, most).cells
    rows = values_in_order(candidate, cells)
    case, arm = np.array([c.case for c in cells]), np.array([c.candidate for c in cells])
    banked = list(candidate.failure_bank[:, :, 0])
    rules = BenefitRules(budget=most, prior_sd=world.believed)
    path = benefit_path(case, arm, rows[:, 0], banked=banked, rules=rules)
    if path.verdict is None:
        return Outcome("pending", most, "benefit")
    spent = int(path.replays[-1])
    if path.verdict != "efficacy":
        return Outcome("retire", spent, path.verdict)
    if world.bank > 1:
        known = harm_prior(candidate.win_bank)
    else:
        runs = [rows[:spent][(case[:spent] == c) & (arm[:spent] == a)] for c in range(world.failures) for a in (0, 1)]
        known = harm_prior(
            None, candidate.captured, sd=benefit_noise(runs, prior_sd=world.believed), shift=settings.shift
        )
    return guard(candidate, known, spent, settings)


def guard(candidate: Candidate, known, spent: int, settings: Settings) -> Outcome:
    """Return what the guard makes of the rest of the budget."""
    runs = WinRuns(known)
    look = look_at(known, runs, settings.rules)
    used: dict[tuple[int, bool], int] = {}
    for replay in range(spent + 1, settings.budget + 1):
        step = next_guard_step(look, known, candidate.order, rules=settings.rules)
        turn = used[step] = used.get(step, -1) + 1
        runs.add(
            step.win, step.candidate, (candidate.win_rule if step.candidate else candidate.win_control)[step.win, turn]
        )
        look = look_at(known, runs, settings.rules)
        verdict = guard_verdict(look, known, ended=replay == settings.budget, rules=settings.rules)
        if verdict != "open":
            return Outcome("retire" if verdict == "harm" else "promote", replay, verdict)
    return Outcome("pending", settings.budget, "guard")


def decide_open(world: PromotionWorld, seed: int, *, certified: bool = False, most: int = 240) -> Outcome:
    """Return what the open-ended benefit test decides on one candidate."""
    candidate = draw_candidate(world, seed)
    banked = list(candidate.failure_bank[:, :, 0])
    rules = OpenRules(prior_sd=world.believed)
    limit = min(most, 2 * len(candidate.failure_rule[0]) * world.failures - world.bank * world.failures)
    cells = _pairs(world, limit) if certified else schedule([world.bank] * world.failures, limit).cells
    rows = values_in_order(candidate, cells)
    path = (certified_path if certified else open_path)(
        [c.case for c in cells], [c.candidate for c in cells], rows[:, 0], banked=banked, rules=rules
    )
    if path.verdict is None:
        return Outcome("pending", limit, "open")
    return Outcome("promote" if path.verdict == "efficacy" else "retire", int(path.replays[-1]), path.verdict)


def _pairs(world: PromotionWorld, most: int) -> tuple[Cell, ...]:
    m, n, cells = [world.bank] * world.failures, [0] * world.failures, []
    for _ in range(most):
        cell = next_of_pair(m, n)
        (n if cell.candidate else m)[cell.case] += 1
        cells.append(cell)
    return tuple(cells)


def summary(outcomes: list[Outcome]) -> Row:
    """Return the shares over candidates."""
    verdicts = np.array([one.verdict for one in outcomes])
    return Row(
        float((verdicts == "promote").mean()), float((verdicts == "retire").mean()),
        float(np.mean([one.replays for one in outcomes])), len(outcomes),
        float(np.mean([one.stage == "harm" for one in outcomes])),
    )  # fmt: skip
