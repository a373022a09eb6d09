"""The first stage of a promotion as arrays: the looks that a policy takes at the replays of failing cases.

A runner asks after each replay, and the evidence of a stored run is made by the same function.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from scipy import special

from harnesskit.stats.benefit import benefit
from harnesskit.stats.benefit_path import HARMFUL_Z, BenefitRules, benefit_path
from harnesskit.stats.open_path import OpenPath, OpenRules, certified_path, open_path
from harnesskit.stats.replay_schedule import benefit_budget, schedule
from harnesskit.stats.running_cells import running_cells
from harnesskit.stats.sequential import boundaries

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from harnesskit.model.promotion_policy import PromotionPolicy

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

Verdict = Literal["efficacy", "futility", "harmful"]


class Looks(NamedTuple):
    """The looks at the benefit, one entry each, until the one that decided; the same whatever the mode."""

    replays: Ints
    """Replays of failing cases up to the look, unscored ones included."""
    n_control: Ints
    n_candidate: Ints
    delta: Floats
    se: Floats
    df: Floats
    evidence: Floats
    """For a benefit, on the scale ``z`` or ``e``."""
    bound: Floats
    against: Floats
    """Against an effect worth having, on the same scale."""
    bound_against: Floats
    reach: Floats
    """Half of the 95 % interval that holds at every look, in standard errors; NaN on the scale ``e``."""
    scale: Literal["z", "e"]
    kind: Literal["single", "sequential"]
    verdict: Verdict | None


def benefit_looks(
    case: ArrayLike,
    candidate: ArrayLike,
    value: ArrayLike,
    *,
    banked: Sequence[ArrayLike],
    policy: PromotionPolicy,
    prior_sd: float,
    looks: ArrayLike | None = None,
    single: bool = False,
) -> Looks:
    """Return the looks that a policy takes at replays of failing cases.

    Parameters
    ----------
    case, candidate, value
        Per replay, in order: place of the failing case, whether it was the candidate's arm, score on the common scale
        (NaN: unscored).
    banked
        Control runs of each case from before the first replay.
    prior_sd
        Standard deviation of one run, fixed before the first replay.
    looks
        Per replay, whether the evidence may be looked at after it; after each when None.
    single
        The order of the replays is not known: one look, at all of them, which may spend the whole error.

    Examples
    --------
    >>> from harnesskit.model.promotion_policy import PromotionPolicy
    >>> bank = [[0.4, 0.5, 0.45], [0.3, 0.3, 0.4]]
    >>> found = benefit_looks([0, 1], [1, 1], [0.8, 0.7], banked=bank, policy=PromotionPolicy(), prior_sd=0.1)
    >>> found.verdict, found.scale, found.replays.tolist()
    ('efficacy', 'z', [2])
    """
    if not banked:
        return _no_looks("e" if policy.mode == "open_ended" else "z")
    if policy.mode == "open_ended":
        rules = OpenRules(prior_sd, policy.alpha, policy.beta, policy.min_effect, policy.worthwhile)
        if policy.certified:
            return _open(certified_path(case, candidate, value, banked=banked, rules=rules))
        whole = _last_only(value) if single else looks
        return _open(open_path(case, candidate, value, banked=banked, rules=rules, looks=whole))
    if single:
        return _single_look(case, candidate, value, banked, policy, prior_sd)
    limits = benefit_rules(policy, prior_sd)
    path = benefit_path(case, candidate, value, banked=banked, rules=limits, looks=looks)
    return Looks(
        path.replays, path.n_control, path.n_candidate, path.delta, path.se, path.df, path.z, path.bound,
        path.z_futility, path.bound_futility, _reach(path.replays, case, candidate, value, banked, limits),
        "z", "sequential", path.verdict,
    )  # fmt: skip


def benefit_rules(policy: PromotionPolicy, prior_sd: float) -> BenefitRules:
    """Return what a budgeted policy fixes before the first replay of a failing case.

    Examples
    --------
    >>> from harnesskit.model.promotion_policy import PromotionPolicy
    >>> benefit_rules(PromotionPolicy.budgeted(20), 0.1).budget
    15
    """
    return BenefitRules(
        budget=benefit_budget(policy.budget, guard_share=policy.guard_share), prior_sd=prior_sd,
        prior_df=policy.prior_df, alpha=policy.alpha, beta=policy.beta, gamma=policy.gamma,
        min_effect=policy.min_effect, worthwhile=policy.worthwhile, rounds=policy.design == "classic",
    )  # fmt: skip


def _no_looks(scale: Literal["z", "e"]) -> Looks:
    none, no = np.empty(0, dtype=np.int64), np.empty(0)
    return Looks(none, none, none, no, no, no, no, no, no, no, no, scale, "single", None)


def _last_only(value: ArrayLike) -> NDArray[np.bool_]:
    scored = np.flatnonzero(np.isfinite(np.asarray(value, dtype=float)))
    mask = np.zeros(len(np.asarray(value)), dtype=bool)
    mask[scored[-1:]] = True
    return mask


def _open(path: OpenPath) -> Looks:
    most = math.log(1e12)
    return Looks(
        path.replays, path.n_control, path.n_candidate, path.delta, path.se, path.df,
        np.exp(np.minimum(path.log_promote, most)), np.full(path.looks, math.exp(path.bound_promote)),
        np.exp(np.minimum(path.log_retire, most)), np.full(path.looks, math.exp(path.bound_retire)),
        np.full(path.looks, np.nan), "e", "sequential", path.verdict,
    )  # fmt: skip


def _single_look(
    case: ArrayLike,
    candidate: ArrayLike,
    value: ArrayLike,
    banked: Sequence[ArrayLike],
    policy: PromotionPolicy,
    prior_sd: float,
) -> Looks:
    """Return the one look at all runs: the bounds are those of a fixed test."""
    at, arm, values = np.asarray(case, dtype=int), np.asarray(candidate, dtype=bool), np.asarray(value, dtype=float)
    sides: tuple[list[Floats], list[Floats]] = ([], [])
    for place, runs in enumerate(banked):
        here = (at == place) & np.isfinite(values)
        known = np.asarray(runs, dtype=float)
        sides[0].append(np.concatenate([known[np.isfinite(known)], values[here & ~arm]]))
        sides[1].append(values[here & arm])
    if min(len(runs) for side in sides for runs in side) == 0:
        return _no_looks("z")
    found = benefit(sides[0], sides[1], prior_sd=prior_sd, prior_df=policy.prior_df)
    against = found.shortfall_z(policy.worthwhile)
    bound, bound_against = float(special.ndtri(1 - policy.alpha)), float(special.ndtri(1 - policy.beta))
    verdict: Verdict | None = None
    if found.z >= bound and found.delta >= policy.min_effect:
        verdict = "efficacy"
    elif found.z <= HARMFUL_Z:
        verdict = "harmful"
    elif against >= bound_against:
        verdict = "futility"
    n_control, n_candidate = (np.array([sum(len(runs) for runs in side)]) for side in sides)
    return Looks(
        np.array([len(values)]), n_control, n_candidate, np.array([found.delta]), np.array([found.variance**0.5]),
        np.array([found.df]), np.array([found.z]), np.array([bound]), np.array([against]), np.array([bound_against]),
        np.array([float(special.ndtri(0.975))]), "z", "single", verdict,
    )  # fmt: skip


def _reach(
    replays: Ints,
    case: ArrayLike,
    candidate: ArrayLike,
    value: ArrayLike,
    banked: Sequence[ArrayLike],
    rules: BenefitRules,
) -> Floats:
    """Return the bound of the repeated 95 % interval at each look: .025 spent on each side as the test spends its."""
    if not len(replays):
        return np.empty(0)
    seen = running_cells(case, candidate, value, banked=banked)
    known = [int(np.isfinite(np.asarray(runs, dtype=float)).sum()) for runs in banked]
    planned = schedule(known, rules.budget, rounds=rules.rounds).planned
    return np.array(boundaries(seen.information[replays - 1], 0.025, gamma=rules.gamma, planned=planned))
