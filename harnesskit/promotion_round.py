"""A round of trials: every candidate rule tried in turn, with shared control runs and a shared error budget."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from harnesskit.agent_side import AgentSide
from harnesskit.model.records import RuleRecord
from harnesskit.promotion import PromotionResult
from harnesskit.promotion_run import cases_of, trial
from harnesskit.promotion_trials import Asked, pending
from harnesskit.trials.adaptive_regression import INTERRUPTED
from harnesskit.trials.bank import Bank
from harnesskit.trials.frozen import ControlRun

SHARED_LEVEL = 0.10
"""Chance that any of the candidates of a round is promoted although none does anything."""


async def round_of_trials(side: AgentSide, asked: Asked) -> list[PromotionResult]:
    """Try every candidate rule, oldest first, and return a result for each; nothing is applied.

    Each of K candidates that can be tried is tested at min(alpha, .10 / K), fixed before the first replay of the round.
    Control runs of one trial are the bank of the next ones. When the user stops a trial, or the time is up, the rest
    of the round is pending.
    """
    rules = side.rules.candidates()
    able = [rule for rule in rules if cases_of(side, rule, asked.policy, asked.seed).failures]
    asked = _shared(asked, able)
    began, over = time.monotonic(), ""
    shared = Bank()
    results = []
    for rule in rules:
        left = None if asked.time_limit_s is None else asked.time_limit_s - (time.monotonic() - began)
        if left is not None and left <= 0 and not over:
            over = "the time of this round was used up"
        if over and rule in able:
            results.append(pending(asked, rule, "round_budget_exhausted", f"not tried: {over}"))
            continue
        result = await trial(side, rule, replace(asked, time_limit_s=left), shared=shared)
        shared = _with_controls(shared, result)
        if result.stopped == INTERRUPTED:
            over = "the round was stopped"
        results.append(result)
    return results


def _shared(asked: Asked, able: Sequence[RuleRecord]) -> Asked:
    alpha = min(asked.policy.alpha, SHARED_LEVEL / max(len(able), 1))
    family = {"size": len(able), "level": SHARED_LEVEL, "candidates": [rule.rule_id for rule in able]}
    if len(able) > 1:
        family["notes"] = [
            (
                f"{len(able)} candidates share an error budget of {SHARED_LEVEL:g} (divided evenly, at most "
                f"{asked.policy.alpha:g} each): this one is tested at {alpha:g}, and they share their control runs."
            )
        ]
    return replace(asked, alpha=alpha, family=family)


def _with_controls(bank: Bank, result: PromotionResult) -> Bank:
    """Add the control runs that a trial made."""
    rows = result.control
    if result.run_id is None or rows.empty:
        return bank
    made = rows[rows["round"].notna() & (rows["status"] == "ok") & rows["metric"].notna()]
    found = {case: list(runs) for case, runs in bank.runs.items()}
    for (case, sample), scores in made.groupby(["case_id", "sample_id"], sort=True):
        values = {str(name): float(value) for name, value in zip(scores["metric"], scores["value"], strict=True)}
        found.setdefault(str(case), []).append(ControlRun(str(sample), values))
    return Bank({case: tuple(runs) for case, runs in found.items()}, "this round", (*bank.run_ids, result.run_id), None)
