"""Whether a rule helps its failing cases, replayed until decided: e-processes that may be looked at on any day.

`open_path` is the t-type process of the pooled statistic (its level was measured, not proved, outside Gaussian
noise); `certified_path` the sign-symmetry process on pairs of one candidate and one control run of the same case, in
the order they were completed, exact under every noise. Promote at E >= 1 / alpha; retire when the process against "at
least worthwhile" reaches 1 / beta.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from harnesskit.stats.eprocess import EFFECTS as PAIR_EFFECTS
from harnesskit.stats.eprocess import bets, retire_evidence, sign_symmetry
from harnesskit.stats.running_cells import running_cells
from harnesskit.stats.t_eprocess import EFFECTS, FRESH_DF, PRIOR_DF, t_evidence

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

Verdict = Literal["efficacy", "futility"]


class OpenRules(NamedTuple):
    """What is fixed before the first replay, with the banked control runs of each case."""

    prior_sd: float
    """Standard deviation of one run as known from other cases: both processes bet by it."""
    alpha: float = 0.05
    beta: float = 0.10
    min_effect: float = 0.05
    worthwhile: float = 0.10
    prior_df: float = PRIOR_DF
    """Degrees of freedom it counts for in the t process."""
    effects: tuple[float, ...] = EFFECTS
    """Effects that the t process bets on."""
    pair_effects: tuple[float, ...] = PAIR_EFFECTS
    """Effects that the sign-symmetry process bets on."""


class OpenPath(NamedTuple):
    """The looks, one entry each, until the one that decided (or all so far)."""

    replays: Ints
    """Replays made up to the look, unscored ones included."""
    n_control: Ints
    """Scored control runs, the bank included; of pairs only, when certified."""
    n_candidate: Ints
    delta: Floats
    """Mean improvement over the cases; over the pairs, when certified."""
    se: Floats
    df: Floats
    log_promote: Floats
    """ln E against "no effect or a harmful one"."""
    log_retire: Floats
    """ln E against "an effect of `worthwhile` or more"."""
    bound_promote: float
    """ln (1 / alpha)."""
    bound_retire: float
    """ln (1 / beta)."""
    verdict: Verdict | None
    """What the last look decided; None while open."""

    @property
    def looks(self) -> int:
        """Times the evidence was looked at."""
        return len(self.replays)


def open_path(
    case: ArrayLike,
    candidate: ArrayLike,
    value: ArrayLike,
    *,
    banked: Sequence[ArrayLike],
    rules: OpenRules,
    looks: ArrayLike | None = None,
) -> OpenPath:
    """Return the looks at the t process up to the one that decides, from the replays in the order they were made.

    With two or more banked runs of every case it is looked at from the first complete round on, else from 6 residual
    degrees of freedom on. Make the replays in the order of `replay_schedule.next_cells`.

    Parameters
    ----------
    case, candidate, value
        Per replay: place of the case, whether it was the candidate's arm, score on the common scale (NaN: unscored).
    banked
        Control runs of each case from before the first replay; empty where there are none.
    looks
        Per replay: whether the evidence may be looked at after it; at all of them when None.

    Examples
    --------
    >>> bank = [[0.4, 0.5, 0.45, 0.48], [0.3, 0.3, 0.4, 0.38]]
    >>> path = open_path([0, 1, 0], [True] * 3, [0.8, 0.7, 0.75], banked=bank, rules=OpenRules(0.1))
    >>> path.verdict, path.replays.tolist(), np.exp(path.log_promote).round().tolist()
    ('efficacy', [2], [119.0])
    """
    seen = running_cells(case, candidate, value, banked=banked)
    gate = 0.0 if all(np.isfinite(np.asarray(runs, dtype=float)).sum() > 1 for runs in banked) else FRESH_DF
    at = np.flatnonzero(seen.scored & (seen.information > 0) & (seen.df >= gate))
    if looks is not None:
        at = at[np.asarray(looks, dtype=bool)[at]]
    df = seen.df[at].astype(np.float64) + rules.prior_df
    s2 = (seen.squares[at] + rules.prior_df * rules.prior_sd**2) / df
    delta, se = seen.delta[at], np.asarray(np.sqrt(s2 / seen.information[at]), dtype=float)
    log_e = t_evidence(
        delta, se, df, seen.information[at], sd=rules.prior_sd, effects=rules.effects, worthwhile=rules.worthwhile
    )
    parts = OpenPath(at + 1, seen.n_control[at], seen.n_candidate[at], delta, se, df, *log_e, *_bounds(rules), None)
    return _until_decided(parts, rules)


def certified_path(
    case: ArrayLike, candidate: ArrayLike, value: ArrayLike, *, banked: Sequence[ArrayLike], rules: OpenRules
) -> OpenPath:
    """Return the looks at the sign-symmetry process, one per completed pair, up to the one that decides.

    The i-th scored candidate run of a case is paired with its i-th scored control run, banked ones first; the pair
    counts when both are there. Make the replays in the order of `replay_schedule.next_of_pair`, which of the two
    first at random. `se` is that of the mean of the pairs at `prior_sd`, `df` the number of pairs.

    Examples
    --------
    >>> values = [0.8, 0.5, 0.7, 0.4, 0.9, 0.5, 0.8, 0.6, 0.7, 0.4]
    >>> path = certified_path([0] * 10, [True, False] * 5, values, banked=[[]], rules=OpenRules(0.1))
    >>> path.verdict, path.replays.tolist(), round(float(np.exp(path.log_promote[-1])), 1)
    ('efficacy', [2, 4, 6, 8, 10], 24.6)
    """
    at, d = completed_pairs(case, candidate, value, banked=banked)
    kappa = bets(2**0.5 * rules.prior_sd, effects=rules.pair_effects)
    pairs = np.arange(1, len(d) + 1)
    parts = OpenPath(
        at + 1, pairs, pairs, np.cumsum(d) / pairs, rules.prior_sd * np.sqrt(2 / pairs), pairs.astype(float),
        sign_symmetry(d, kappa).log_e, retire_evidence(d, kappa, worthwhile=rules.worthwhile).log_e,
        *_bounds(rules), None,
    )  # fmt: skip
    return _until_decided(parts, rules)


def completed_pairs(
    case: ArrayLike, candidate: ArrayLike, value: ArrayLike, *, banked: Sequence[ArrayLike]
) -> tuple[Ints, Floats]:
    """Return after which replay each pair was complete, and its difference candidate - control.

    Examples
    --------
    >>> completed_pairs([0, 0, 0], [True, True, False], [0.75, 0.5, 0.25], banked=[[0.5]])
    (array([0, 2]), array([0.25, 0.25]))
    """
    waiting: list[tuple[list[float], list[float]]] = [
        ([float(v) for v in np.asarray(runs, dtype=float) if np.isfinite(v)], []) for runs in banked
    ]
    at, d = [], []
    rows = zip(np.asarray(case).tolist(), np.asarray(candidate).tolist(), np.asarray(value).tolist(), strict=True)
    for step, (c, arm, score) in enumerate(rows):
        if not np.isfinite(score):
            continue
        waiting[c][1 if arm else 0].append(score)
        control, rule = waiting[c]
        if control and rule:
            at.append(step)
            d.append(rule.pop(0) - control.pop(0))
    return np.array(at, dtype=int), np.array(d, dtype=float)


def _bounds(rules: OpenRules) -> tuple[float, float]:
    return float(-np.log(rules.alpha)), float(-np.log(rules.beta))


def _until_decided(path: OpenPath, rules: OpenRules) -> OpenPath:
    shown = (path.log_promote >= path.bound_promote) & (path.delta >= rules.min_effect)
    decided = np.flatnonzero(shown | (path.log_retire >= path.bound_retire))
    if not len(decided):
        return path
    last = int(decided[0])
    to = slice(None, last + 1)
    return OpenPath(
        path.replays[to], path.n_control[to], path.n_candidate[to], path.delta[to], path.se[to], path.df[to],
        path.log_promote[to], path.log_retire[to], path.bound_promote, path.bound_retire,
        "efficacy" if shown[last] else "futility",
    )  # fmt: skip
