"""What the replays of failing cases say: whether the guard helps, cannot help enough, or harms its own cases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import special, stats

from harnesskit.measures.evidence_rows import MET, UNKNOWN, UNMET, row
from harnesskit.measures.promotion_looks import Looks, benefit_looks
from harnesskit.stats.eprocess import bets, shift_interval
from harnesskit.stats.open_interval import replays_to_settle, t_half_width
from harnesskit.stats.open_path import completed_pairs
from harnesskit.stats.random_effects import random_effects
from harnesskit.stats.replay_schedule import information

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from harnesskit.measures.promotion_trial import Replays, Trial

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

GENERAL_CASES = 5
"""Failing cases from which on it is said what to expect of a new one."""
_SURE = 0.95
_KINDS = {"single": "moderated t, two-sided 95 %", "sequential": "repeated, two-sided 95 %"}
_SEQUENCE = "confidence sequence, two-sided 95 %"


_SOURCES = {
    "given": "fixed before the first replay",
    "measured": "measured on the banked wins before the first replay",
    "partly assumed": "partly assumed before the first replay",
    "assumed": "assumed before the first replay",
}


class Benefit(NamedTuple):
    """The evidence of the failing cases at its last look."""

    looks: Looks
    replays: Replays
    spent: int
    """Replays of failing cases up to the last look, or all of them when it did not decide."""
    n_control: Ints
    """Scored control runs of each case at the last look, the bank included."""
    n_candidate: Ints
    effects: Floats
    """Mean change of each case at the last look."""
    low: float
    high: float
    kind: str | None

    @property
    def delta(self) -> float:
        """Mean change over the cases at the last look; NaN before any."""
        return float(self.looks.delta[-1]) if len(self.looks.delta) else float("nan")

    @property
    def s2(self) -> float:
        """Variance of one run at the last look."""
        if not len(self.looks.se):
            return float("nan")
        return float(self.looks.se[-1] ** 2) * information(self.n_control.tolist(), self.n_candidate.tolist())


def benefit_of(trial: Trial, scores: Floats | None = None) -> Benefit:
    """Return the evidence of the failing cases; of `scores` in place of the target metric's, when given."""
    values = trial.target_scores if scores is None else scores
    replays = trial.replays(trial.failures, "failure")
    banked = trial.bank_of(trial.failures)
    policy = trial.policy.model_copy(update={"prior_df": trial.prior_df})
    looks = benefit_looks(
        replays.case, replays.candidate, values[replays.row], banked=banked, policy=policy, prior_sd=trial.prior_sd,
        looks=trial.last_of_round(replays) if trial.runs.ordered else None, single=not trial.runs.ordered,
    )  # fmt: skip
    decided = looks.verdict is not None
    spent = int(looks.replays[-1]) if decided else len(replays.row)
    until = int(looks.replays[-1]) if len(looks.replays) else len(replays.row)
    sides = _sides(replays, values, until, banked)
    counts = [np.array([len(runs) for runs in side], dtype=np.int64) for side in sides]
    effects = np.array([a.mean() - b.mean() if len(a) and len(b) else np.nan for b, a in zip(*sides, strict=True)])
    low, high, kind = _interval(trial, looks, replays, values, banked, counts)
    return Benefit(looks, replays, spent, counts[0], counts[1], effects, low, high, kind)


def _sides(replays: Replays, values: Floats, until: int, banked: list[Floats]) -> tuple[list[Floats], list[Floats]]:
    """Return the scored runs of each case, control and candidate, up to a replay."""
    seen = np.arange(len(replays.row)) < until
    scored = values[replays.row]
    known = np.isfinite(scored) & seen
    control, candidate = [], []
    for place, bank in enumerate(banked):
        here = known & (replays.case == place)
        control.append(np.concatenate([bank, scored[here & ~replays.candidate]]))
        candidate.append(scored[here & replays.candidate])
    return control, candidate


def _interval(
    trial: Trial, looks: Looks, replays: Replays, values: Floats, banked: list[Floats], counts: list[Ints]
) -> tuple[float, float, str | None]:
    """Return the 95 % interval of the effect at the last look, and how it was made."""
    nothing = (float("nan"), float("nan"), None)
    if not len(looks.delta):
        return nothing
    delta, se, df = float(looks.delta[-1]), float(looks.se[-1]), float(looks.df[-1])
    if looks.scale == "z":
        half = float(special.stdtrit(df, special.ndtr(looks.reach[-1]))) * se
        low, high, kind = delta - half, delta + half, _KINDS[looks.kind]
    elif trial.policy.certified:
        upto = slice(None, int(looks.replays[-1]))
        _, d = completed_pairs(replays.case[upto], replays.candidate[upto], values[replays.row][upto], banked=banked)
        low, high = shift_interval(d, bets(2**0.5 * trial.prior_sd))
        kind = _SEQUENCE
    else:
        half = t_half_width(se, df, information(counts[0].tolist(), counts[1].tolist()), sd=trial.prior_sd)
        low, high, kind = delta - half, delta + half, _SEQUENCE
    if not (np.isfinite(low) and np.isfinite(high)):
        return nothing
    return low, high, kind


def benefit_rows(
    trial: Trial, benefit: Benefit, *, doubt: tuple[str, str] | None, callable_: bool
) -> list[dict[str, Any]]:
    """Return the rows benefit, futility and harmful_effect.

    Parameters
    ----------
    doubt
        Reason and words when nothing can be compared at all.
    callable_
        Whether the verdict to retire may rest on these runs; not where the rule was not read, or too much is missing.
    """
    looks = benefit.looks
    verdict = None if doubt else looks.verdict
    last = len(looks.delta) - 1
    facts: dict[str, Any] = {
        "metric": trial.target, "n": len(trial.failures), "n_cases": len(trial.failures), "looks": len(looks.delta),
        "n_control": int(benefit.n_control.sum()), "n_candidate": int(benefit.n_candidate.sum()), "scale": looks.scale,
    }  # fmt: skip
    if last >= 0:
        facts |= {"estimate": benefit.delta, "low": benefit.low, "high": benefit.high, "interval_kind": benefit.kind}
    against = (
        {"evidence": _finite(looks.against[last]), "bound": _finite(looks.bound_against[last])} if last >= 0 else {}
    )
    for_it = {"evidence": _finite(looks.evidence[last]), "bound": _finite(looks.bound[last])} if last >= 0 else {}
    hopeless = verdict == "futility" or (verdict == "harmful")
    retired = hopeless and callable_
    decided = {"efficacy": MET}.get(verdict or "", UNKNOWN)
    reason = doubt[0] if doubt else None if verdict else "insufficient_evidence"
    needed = None if verdict or doubt else _needed(trial, benefit)
    return [
        row("benefit", decided, _said(trial, benefit, doubt), bar=trial.policy.min_effect, reason=reason,
            runs_needed=needed, **facts, **for_it),
        _futility(trial, facts, against, verdict, retired),
        _harmful(benefit, facts, verdict, retired),
    ]  # fmt: skip


def _futility(
    trial: Trial, facts: dict[str, Any], against: dict[str, Any], verdict: str | None, retired: bool
) -> dict[str, Any]:
    out = verdict == "futility"
    state = UNMET if out and retired else UNKNOWN if out or verdict == "harmful" else MET
    note = "" if not out or retired else "not called: see compliance and missing data"
    reason = "no_worthwhile_effect" if state == UNMET else None
    return row("futility", state, note, bar=trial.policy.worthwhile, reason=reason, **facts, **against)


def _harmful(benefit: Benefit, facts: dict[str, Any], verdict: str | None, retired: bool) -> dict[str, Any]:
    looks = benefit.looks
    high = float("nan")
    if len(looks.delta):
        high = benefit.delta + float(stats.t.isf(1 - _SURE, looks.df[-1])) * float(looks.se[-1])
    found = verdict in ("futility", "harmful") and high < 0
    state = UNMET if found and retired else UNKNOWN if found or not np.isfinite(high) else MET
    reason = "harmful_effect" if state == UNMET else None
    own = {**facts, "low": float("nan"), "high": high, "interval_kind": "one-sided t, 95 %", "scale": None}
    return row("harmful_effect", state, bar=0.0, reason=reason, **own)


def spread_rows(trial: Trial, benefit: Benefit) -> list[dict[str, Any]]:
    """Return what the cases say beyond their mean: on a new case (five and more), or that there is one alone."""
    if len(trial.failures) == 1:
        return [row("one_case", MET, "one case: the effect may not generalise", n=1, n_cases=1, metric=trial.target)]
    known = np.isfinite(benefit.effects)
    if known.sum() < GENERAL_CASES:
        return []
    variance = benefit.s2 * (1 / benefit.n_control[known] + 1 / benefit.n_candidate[known])
    found = random_effects(benefit.effects[known], variance)
    note = f"a new case of this kind: between {found.new_low:+.2f} and {found.new_high:+.2f} (95 % prediction)"
    state = MET if found.low > 0 else UNKNOWN
    numbers = {"estimate": found.mean, "low": found.low, "high": found.high, "bar": 0.0, "n": int(known.sum())}
    kind = "random effects, 95 %"
    return [row("generality", state, note, metric=trial.target, n_cases=numbers["n"], interval_kind=kind, **numbers)]


def _needed(trial: Trial, benefit: Benefit) -> int | None:
    s2 = benefit.s2 if np.isfinite(benefit.s2) else trial.prior_sd**2
    counts = (benefit.n_control.tolist(), benefit.n_candidate.tolist())
    policy, delta = trial.policy, benefit.delta if np.isfinite(benefit.delta) else 0.0
    return replays_to_settle(
        *counts,
        s2=s2,
        delta=delta,
        worthwhile=policy.worthwhile,
        alpha=min(policy.alpha, 0.49),
        beta=min(policy.beta, 0.49),
    )


def _said(trial: Trial, benefit: Benefit, doubt: tuple[str, str] | None) -> str:
    said = [doubt[1]] if doubt else []
    sd = benefit.s2**0.5 if np.isfinite(benefit.s2) else trial.prior_sd
    if not doubt:
        said.append(f"runs of a case scatter with an sd of {sd:.2f} ({trial.prior_sd:.2f} {_SOURCES[trial.noise]})")
    if not trial.runs.ordered:
        said.append("one look at all runs: the rows have no round")
    if trial.left_out:
        names = ", ".join(trial.left_out[:5]) + (
            f" and {len(trial.left_out) - 5} more" if len(trial.left_out) > 5 else ""
        )
        said.append(f"left out, as one side has no score: {names}")
    return "; ".join(said)


def _finite(value: float) -> float:
    return float(value) if np.isfinite(value) else float("nan")
