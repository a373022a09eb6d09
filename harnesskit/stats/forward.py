"""The evidence of a forward trial after each pair: an e-process without end, or a Welch t with a promised horizon."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from harnesskit.stats.eprocess import WORTHWHILE, bets, retire_evidence, sign_symmetry
from harnesskit.stats.paired import t_to_z
from harnesskit.stats.sequential import GAMMA, boundaries

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

FEWEST = 5
"""Units per arm before the first look of the t test."""


class TrialPath(NamedTuple):
    """Where the evidence stands at each look. `decided` is the look that ended the trial, `verdict` what it said."""

    estimate: Floats
    promote: Floats
    retire: Floats
    harm: Floats
    """Evidence that the effect is below 0."""
    promote_bound: Floats
    retire_bound: Floats
    harm_bound: Floats
    n_treated: Ints
    n_control: Ints
    decided: int | None
    verdict: str
    first_pair: int = 0
    """Place of the pair at which the first look was."""

    @property
    def last(self) -> int:
        """The look that the trial ended at, or the newest; -1 before any."""
        return len(self.estimate) - 1 if self.decided is None else self.decided


def e_path(
    d: ArrayLike, *, sd: float, alpha: float = 0.05, beta: float = 0.10, worthwhile: float = WORTHWHILE
) -> TrialPath:
    """Return the path of the sign-symmetry e-process over pairs: promote at 1/alpha, retire at 1/beta, e-values.

    Parameters
    ----------
    d
        Treatment - control of each pair in order, none missing.
    sd
        Standard deviation of such a difference, fixed before the trial; a wrong one costs power only.

    Examples
    --------
    >>> path = e_path([0.3, 0.2, 0.25, 0.3, 0.1, 0.3, 0.2], sd=0.2)
    >>> path.verdict, path.decided
    ('promote', 5)
    """
    values, kappa = np.asarray(d, dtype=float), bets(sd)
    n = np.arange(1, len(values) + 1)
    for_rule, against = sign_symmetry(values, kappa).e, retire_evidence(values, kappa, worthwhile=worthwhile).e
    flat = np.ones(len(values))
    return _decided(
        np.cumsum(values) / n, for_rule, against, sign_symmetry(-values, kappa).e,
        flat / alpha, flat / beta, flat / alpha, n, n, for_rule >= 1 / alpha,
    )  # fmt: skip


def welch_path(
    values: ArrayLike,
    treated: ArrayLike,
    looks: ArrayLike,
    *,
    planned: int,
    alpha: float = 0.05,
    beta: float = 0.10,
    gamma: float = GAMMA,
    worthwhile: float = WORTHWHILE,
    min_effect: float = 0.05,
    sd_floor: float = 0.02,
) -> TrialPath:
    """Return the path of Welch's t over looks, against Hwang-Shih-DeCani bounds up to a promised number of pairs.

    Promote when z reaches its bound and the mean difference `min_effect`; retire when an effect of `worthwhile` is
    ruled out. The information of a look is its number of pairs over `planned`: it depends on no score.

    Parameters
    ----------
    values, treated
        Scored units in their order of entry.
    looks
        Per pair: how many of these units are in when it is complete. There is no look with fewer than five per arm.
    planned
        Pairs that were promised; looks beyond it are not made.

    Examples
    --------
    >>> value = [0.9, 0.5, 0.8, 0.6, 0.85, 0.5, 0.9, 0.55, 0.95, 0.6, 0.9, 0.5]
    >>> path = welch_path(value, [1, 0] * 6, [2, 4, 6, 8, 10, 12], planned=20)
    >>> path.verdict, path.n_treated.tolist()
    ('promote', [5, 6])
    """
    x, arm = np.asarray(values, dtype=float), np.asarray(treated, dtype=bool)
    at = np.asarray(looks, dtype=np.int64)
    means, spreads, counts = [], [], []
    for side in (arm, ~arm):
        n = np.cumsum(side)[at - 1]
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = np.cumsum(np.where(side, x, 0.0))[at - 1] / n
            square = np.cumsum(np.where(side, x * x, 0.0))[at - 1]
            variance = np.maximum((square - n * mean**2) / (n - 1), sd_floor**2)
        means.append(mean)
        spreads.append(variance / np.maximum(n, 1))
        counts.append(n)
    pair = np.arange(1, len(at) + 1)
    kept = (np.minimum(*counts) >= FEWEST) & (pair <= planned)
    info = pair[kept].astype(float)
    n1, n0 = (n[kept] for n in counts)
    v1, v0 = (v[kept] for v in spreads)
    se2, delta = v1 + v0, (means[0] - means[1])[kept]
    df = se2**2 / (v1**2 / (n1 - 1) + v0**2 / (n0 - 1)) if len(info) else se2
    z, short = -t_to_z(delta / np.sqrt(se2), df), -t_to_z((worthwhile - delta) / np.sqrt(se2), df)
    up = boundaries(info, alpha, gamma=gamma, planned=float(planned))
    out = boundaries(info, beta, gamma=gamma, planned=float(planned))
    found = _decided(delta, z, short, -z, up, out, up, n1, n0, (z >= up) & (delta >= min_effect))
    return found._replace(first_pair=int(np.argmax(kept)) if kept.any() else 0)


def _decided(
    estimate: Floats, promote: Floats, retire: Floats, harm: Floats, promote_bound: Floats, retire_bound: Floats,
    harm_bound: Floats, n_treated: Ints, n_control: Ints, good: NDArray[np.bool_],
) -> TrialPath:  # fmt: skip
    bad = (retire >= retire_bound) & ~good
    ends = np.flatnonzero(good | bad)
    decided = int(ends[0]) if len(ends) else None
    verdict = "" if decided is None else "promote" if good[decided] else "retire"
    return TrialPath(
        estimate, promote, retire, harm, promote_bound, retire_bound, harm_bound, n_treated, n_control, decided, verdict
    )


class HarmPath(NamedTuple):
    """The two-sided e-process of a metric that must not get worse."""

    e: Floats
    crossed: int | None
    """First pair at which it crossed towards harm."""


def guard_path(d: ArrayLike, *, sd: float, alpha: float = 0.01) -> HarmPath:
    """Return the two-sided e-process of a guardrail metric, (E(D) + E(-D)) / 2, and where it found harm at 1/alpha.

    Examples
    --------
    >>> guard_path([-0.4] * 9, sd=0.2).crossed, guard_path([0.4] * 9, sd=0.2).crossed
    (8, None)
    """
    values, kappa = np.asarray(d, dtype=float), bets(sd)
    up, down = sign_symmetry(values, kappa).e, sign_symmetry(-values, kappa).e
    both = (up + down) / 2
    over = np.flatnonzero((both >= 1 / alpha) & (down > up))
    return HarmPath(both, int(over[0]) if len(over) else None)
