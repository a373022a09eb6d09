"""Intention to treat: every run with the rule counts, whether it read the rule or not."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


class IntentionToTreat(NamedTuple):
    """An effect by intention to treat, and what it says about runs that read the rule."""

    itt: float
    """Mean of all treatment runs minus mean of the control runs."""
    compliance: float
    """Share of treatment runs that read the rule; NaN when none says."""
    cace: float
    """itt / compliance: effect on the runs that read it (Angrist, Imbens & Rubin 1996); NaN when none did."""
    exercised_only: float
    """The contrast not to use: runs are selected after the treatment."""


def intention_to_treat(treatment: ArrayLike, control: ArrayLike, exercised: ArrayLike) -> IntentionToTreat:
    """Return the effect over all treatment runs, and the effect on those that read the rule.

    Parameters
    ----------
    treatment, control
        Scores of the runs of each arm, at least one.
    exercised
        Per treatment run: whether it read the rule; NaN where that is not known.

    Examples
    --------
    >>> found = intention_to_treat([0.6, 0.8, 0.5, 0.5], [0.5, 0.5], [1, 1, 0, 0])
    >>> round(found.itt, 3), found.compliance, round(found.cace, 3)
    (0.1, 0.5, 0.2)
    """
    after, before = np.asarray(treatment, dtype=float), np.asarray(control, dtype=float)
    read = np.asarray(exercised, dtype=float)
    if not len(after) or not len(before) or len(read) != len(after):
        raise ValueError(
            "intention to treat needs a run in each arm, and for each treatment run whether it read the rule"
        )
    effect, known = float(after.mean() - before.mean()), read[~np.isnan(read)]
    share = float(known.mean()) if len(known) else float("nan")
    only = float(after[read == 1].mean() - before.mean()) if (read == 1).any() else float("nan")
    return IntentionToTreat(effect, share, effect / share if share > 0 else float("nan"), only)


def exercised_only_bias(*, sd: float, effect: float) -> IntentionToTreat:
    """Return what each contrast expects when exactly the runs whose noise is below 0 read a rule worth `effect`.

    Why the selection must not be used: the runs that read are the bad ones, and their mean is low by sd sqrt(2/pi)
    (the half-normal mean), whatever the rule does.

    Examples
    --------
    >>> [round(x, 4) for x in exercised_only_bias(sd=0.1, effect=0.1)]
    [0.05, 0.5, 0.1, 0.0202]
    """
    return IntentionToTreat(effect / 2, 0.5, effect, effect - sd * math.sqrt(2 / math.pi))
