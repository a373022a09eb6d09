"""The second stage of a promotion as arrays: what the guard of the wins knows before its first replay.

A runner asks for it when the benefit is shown, and the evidence of a stored run is made by the same function.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from harnesskit.stats.harm_mixture import GuardRules
from harnesskit.stats.harm_prior import HarmPrior, benefit_noise, harm_prior

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from harnesskit.model.promotion_policy import PromotionPolicy

SHIFT = -0.25
"""Expected shift of captures, in standard deviations of a run: they were selected for being good."""


class GuardStage(NamedTuple):
    """What the guard of the wins knows before its first replay."""

    known: HarmPrior
    rules: GuardRules
    budget: int
    """Replays left for it."""


def guard_stage(
    bank: ArrayLike | None,
    captures: ArrayLike | None,
    *,
    cells: Sequence[ArrayLike],
    policy: PromotionPolicy,
    spent: int,
    wins: int,
    metrics: int,
) -> GuardStage:
    """Return what the guard knows before its first replay.

    Without a bank the captures of wins stand for a control run each, shifted by an amount that is not known.

    Parameters
    ----------
    bank
        (W, R, K) control runs of the wins from before the first replay on the common scale; None: none.
    captures
        (W, K) captured scores; None: none.
    cells
        (runs, K) of each failing case and arm, up to the look that decided: the noise where the bank tells none.
    spent
        Replays made before, of failing cases.
    wins, metrics
        W and K.
    """
    banked = bank is not None and bool((np.isfinite(np.asarray(bank, dtype=float)).any(axis=2).sum(axis=1) > 1).any())
    rules = GuardRules(
        ni_margin=policy.ni_margin, ni_level=policy.ni_level, harm_bar=policy.harm_bar, clean_bar=policy.clean_bar,
        end_bar=policy.end_bar, design=policy.design,
    )  # fmt: skip
    sd = None
    if not banked:
        sd = benefit_noise(list(cells)) if len(cells) else np.full(metrics, 0.10)
    known = harm_prior(bank, captures, sd=sd, shift=SHIFT, wins=wins)
    return GuardStage(known, rules, max(policy.budget - spent, 0))


def harm_scale(policy: PromotionPolicy) -> tuple[str, float]:
    """Return the scale of the evidence of harm, and where on it a guard is retired.

    A likelihood ratio for the design ``lean``; for ``classic`` the share of its bound that the largest z has reached.
    """
    return ("share", 1.0) if policy.design == "classic" else ("lambda", policy.harm_bar)
