"""The steps of the guard: which win is replayed next in which arm, and what it decides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from harnesskit.stats.harm_classic import MOST_RUNS
from harnesskit.stats.harm_mixture import DEFAULT, look_at
from harnesskit.stats.win_runs import WinRuns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from harnesskit.stats.harm_mixture import GuardLook, GuardRules
    from harnesskit.stats.harm_prior import HarmPrior

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

GuardVerdict = Literal["harm", "clean", "open"]
DOUBT = 2.0
"""Likelihood ratio from which a win is in doubt."""
OWN_CONTROLS = 2
"""Without a bank, control runs of a win that a veto asks for: its capture was selected for being good."""
FEWEST_WINS = 3
CONTROL_SHARE = 3
"""Without a bank, one control run is made for so many replayed wins."""


class GuardStep(NamedTuple):
    """A replay to make: of which win (its place), in which arm."""

    win: int
    candidate: bool


class GuardPath(NamedTuple):
    """The looks, one entry per replay, until the one that decided (or all so far)."""

    replays: Ints
    n_control: Ints
    """Scored control runs of replayed wins, bank and captures included."""
    n_candidate: Ints
    estimate: Floats
    """Mean change over the replayed wins, positive is better; NaN before any."""
    evidence: Floats
    """Of harm over all wins (lambda)."""
    highest_drop: Floats
    """Upper bound of the mean drop over the replayed wins."""
    last: GuardLook
    """The last look, win by win."""
    verdict: GuardVerdict
    """``harm``: retire; ``clean``: promote; ``open``: more replays, or pending at the end of the budget."""


def guard_verdict(
    look: GuardLook, known: HarmPrior, *, ended: bool = False, rules: GuardRules = DEFAULT
) -> GuardVerdict:
    """Return what a look decides.

    ``harm``: evidence of `harm_bar`, and a win with two candidate runs, a likelihood ratio of 2, and two control runs
    of its own. ``clean``: the mean drop is below the margin, and either all wins were replayed and the evidence is at
    most `clean_bar` or no win is in doubt (all below .5), or the budget is spent, 3 wins (all, where there are fewer)
    were replayed and the evidence is at most `end_bar`. Classic: harm when a win reached its bound, clean when all were
    replayed and closed, or at the end.

    Parameters
    ----------
    ended
        Whether the budget is spent.
    """
    covered = np.isfinite(look.delta)
    fine = look.highest_drop < rules.ni_margin
    enough = int(covered.sum()) >= min(FEWEST_WINS, known.wins)
    all_ = int(covered.sum()) >= min(known.wins, rules.full)
    at_rest = bool(look.closed[covered].all())
    if rules.design == "classic":
        return (
            "harm" if look.evidence >= 1 else "clean" if fine and ((ended and enough) or (all_ and at_rest)) else "open"
        )
    told = (look.n_candidate >= 2) & (look.harm >= DOUBT) & (known.banked | (look.n_fresh >= OWN_CONTROLS))
    if look.evidence >= rules.harm_bar and told.any():
        return "harm"
    if fine and all_ and (at_rest or look.evidence <= rules.clean_bar):
        return "clean"
    return "clean" if ended and fine and enough and look.evidence <= rules.end_bar else "open"


def next_guard_step(
    look: GuardLook, known: HarmPrior, order: Sequence[int], *, rules: GuardRules = DEFAULT
) -> GuardStep | None:
    """Return the replay to make next; None when `order` has no win.

    A win in doubt (ratio of 2 or more, below 6 candidate runs) first; then, without a bank, a control run as long as
    there are fewer of them than a third of the replayed wins; then the next win not replayed yet; then the win in most
    doubt (below 6 candidate runs; the one with the fewest when all have them). Without a bank, a win in doubt gets
    control runs as long as it has fewer than candidate runs.

    Parameters
    ----------
    order
        Places of the wins in the order in which they come up, fixed before the first replay. Wins beyond `full` are
        not replayed; wins that cannot be scored are left out by the caller.
    """
    places = np.asarray(order[: rules.full], dtype=int)
    if not len(places):
        return None
    harm, tried = look.harm[places], look.n_candidate[places]
    bare = places[(tried > 0) & (look.n_control[places] == 0)]
    if len(bare):
        return GuardStep(int(bare[0]), candidate=False)
    doubted = np.where((tried > 0) & (tried < rules.most_per_win), harm, -1.0)
    if rules.design == "lean" and doubted.max() >= DOUBT:
        return _follow_up(look, known, int(places[doubted.argmax()]))
    loose = (tried > 0) & ~known.banked[places] & (look.n_fresh[places] == 0)
    needed = int((~known.banked[places] & (tried > 0)).sum()) / CONTROL_SHARE
    if loose.any() and look.n_fresh[places].sum() < needed:
        return GuardStep(int(places[np.where(loose, harm, -1.0).argmax()]), candidate=False)
    if (tried == 0).any():
        return GuardStep(int(places[(tried == 0).argmax()]), candidate=True)
    most = MOST_RUNS if rules.design == "classic" else rules.most_per_win
    resting = tried >= most if rules.design == "lean" else look.closed[places] | (tried >= most)
    ranks = -tried if resting.all() else np.where(resting, -np.inf, harm)
    return _follow_up(look, known, int(places[ranks.argmax()]))


def _follow_up(look: GuardLook, known: HarmPrior, win: int) -> GuardStep:
    fewer = bool(look.n_fresh[win] < look.n_candidate[win])
    return GuardStep(win, candidate=bool(known.banked[win]) or not fewer)


def guard_path(
    known: HarmPrior,
    win: ArrayLike,
    candidate: ArrayLike,
    values: ArrayLike,
    *,
    budget: int,
    rules: GuardRules = DEFAULT,
) -> GuardPath:
    """Return the looks of the guard, one after every replay, up to the one that decides.

    Parameters
    ----------
    win, candidate, values
        Per replay, in order, as in `harm_mixture.guard_look`.
    budget
        Replays of wins at most; the last of them may decide by the bars of the end.

    Examples
    --------
    >>> from harnesskit.stats.harm_prior import harm_prior
    >>> known = harm_prior(np.full((3, 3, 1), 0.8) + np.array([-0.1, 0, 0.1])[None, :, None])
    >>> path = guard_path(known, [0, 1, 2], [True] * 3, [[0.85], [0.8], [0.85]], budget=10)
    >>> path.verdict, path.evidence.round(2).tolist()
    ('clean', [0.87, 0.79, 0.7])
    """
    runs = WinRuns(known)
    rows = np.asarray(values, dtype=float)
    looks = [look_at(known, runs, rules)]
    verdict: GuardVerdict = "open"
    steps = zip(np.asarray(win, dtype=int).tolist(), np.asarray(candidate, dtype=bool).tolist(), rows, strict=True)
    for place, arm, row in steps:
        if verdict != "open" or runs.replays >= budget:
            break
        runs.add(place, arm, row)
        looks.append(look_at(known, runs, rules))
        verdict = guard_verdict(looks[-1], known, ended=runs.replays >= budget, rules=rules)
    seen = looks[1:]
    replayed = [look.n_candidate > 0 for look in seen]
    return GuardPath(
        np.array([look.replays for look in seen], dtype=int),
        np.array([look.n_control[at].sum() for look, at in zip(seen, replayed, strict=True)], dtype=int),
        np.array([look.n_candidate.sum() for look in seen], dtype=int),
        np.array([look.estimate for look in seen], dtype=float),
        np.array([look.evidence for look in seen], dtype=float),
        np.array([look.highest_drop for look in seen], dtype=float),
        looks[-1], verdict,
    )  # fmt: skip
