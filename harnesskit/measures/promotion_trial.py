"""One trial of a guard: which cases, metric and noise its verdict rests on, and its replays as arrays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from harnesskit.measures.failed_runs import OUTCOME, yes_or_no
from harnesskit.measures.promotion_runs import CANDIDATE, CONTROL, Runs, promotion_runs
from harnesskit.model.errors import PolicyError
from harnesskit.model.metrics import Metric, Metrics
from harnesskit.model.promotion_policy import PromotionPolicy
from harnesskit.stats.cells import cell_variances
from harnesskit.stats.noise import ASSUMED_SD, pool_noise, sd_floor

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Flags = NDArray[np.bool_]

MOSTLY_THERE = 0.8
"""Share of the runs of both arms that must have an outcome for it to be what the rule is judged on."""
UNSCORABLE = 3
"""Attempts of a case in one arm, none of them scored, after which it is left out."""


class Replays(NamedTuple):
    """Replays in order: their row among the runs, the place of their case, and their arm."""

    row: Ints
    case: Ints
    candidate: Flags


@dataclass(frozen=True)
class Trial:
    """What the verdict on a guard rests on.

    Attributes
    ----------
    runs
        Every run of both sides.
    policy, target
        The policy, and the metric that failing cases are judged on (the outcome, where it is known).
    failures, left_out, wins
        Failing cases compared; those that could not be scored; protected wins.
    n_wins
        Protected wins in all, those not planned included.
    guard_metrics
        Metrics watched on the wins.
    prior_sd, prior_df, noise
        Standard deviation of one run of the target metric that is assumed before looking, the degrees of freedom it
        counts for, and where it is from.
    """

    runs: Runs
    policy: PromotionPolicy
    target: str
    failures: tuple[str, ...]
    left_out: tuple[str, ...]
    wins: tuple[str, ...]
    n_wins: int
    guard_metrics: tuple[str, ...]
    prior_sd: float
    prior_df: float
    noise: str

    @property
    def target_scores(self) -> Floats:
        """The target metric of every run; missing where unscored, or where nothing can be said about the metric."""
        return self.runs.score(self.target)

    def replays(self, cases: Sequence[str], kind: str) -> Replays:
        """Return the replays of some cases in order: not the bank, no captured score, none that was skipped."""
        table = self.runs.table
        place = table["case_id"].map({case: i for i, case in enumerate(cases)}).to_numpy(dtype=float)
        here = np.isfinite(place) & (table["kind"] == kind).to_numpy(dtype=bool)
        rows = np.flatnonzero(here & self.runs.flag("tried") & ~self.runs.flag("captured") & ~self.banked)
        candidate = table["arm"].to_numpy()[rows] == CANDIDATE
        return Replays(rows, place[rows].astype(np.int64), np.asarray(candidate, dtype=bool))

    @property
    def banked(self) -> Flags:
        """Which runs were there before the first replay: control runs without a round, where the replays have one."""
        table = self.runs.table
        bank = ((table["arm"] == CONTROL) & table["round"].isna()).to_numpy(dtype=bool)
        return np.asarray(bank & ~self.runs.flag("captured") & self.runs.ordered, dtype=bool)

    def bank_of(self, cases: Sequence[str]) -> list[Floats]:
        """Return the banked scores of the target metric, case by case."""
        scores, case = self.target_scores, self.runs.table["case_id"]
        known = self.banked & np.isfinite(scores)
        return [scores[known & (case == one).to_numpy(dtype=bool)] for one in cases]

    def last_of_round(self, replays: Replays) -> Flags:
        """Return whether a replay is the last scored one of its round: inside a round the order is not known."""
        rounds = self.runs.table["round"].to_numpy(dtype=float)[replays.row]
        scored = np.isfinite(self.target_scores[replays.row])
        last = {number: at for at, number in enumerate(rounds) if scored[at]}
        mask = np.zeros(len(rounds), dtype=bool)
        mask[list(last.values())] = True
        return mask


def trial_of(
    control: pd.DataFrame,
    candidate: pd.DataFrame,
    *,
    target_metric: str,
    policy: str | PromotionPolicy,
    metrics: Iterable[Metric] | None,
    failures: Sequence[str] | None,
    wins: Sequence[str] | None,
    n_wins: int | None,
    guard_metrics: Sequence[str] | None,
    prior_sd: float | None,
    by: str,
) -> Trial:
    """Return the trial that two frames of scores make; see `harnesskit.promotion_evidence` for the parameters."""
    rules = judging_policy(policy, by=by)
    known = Metrics.of(metrics)
    runs = promotion_runs(control, candidate, known, by=by)
    table = runs.table
    if failures is None:
        tried = (table["kind"] == "failure") & (table["arm"] == CANDIDATE) & table["tried"]
        failures = sorted(set(table.loc[tried, "case_id"]))
    if wins is None:
        wins = sorted(set(table.loc[table["kind"] == "win", "case_id"]))
    failures, wins = (tuple(dict.fromkeys(str(case) for case in cases)) for cases in (failures, wins))
    target = _judged_on(runs, failures, target_metric)
    _count_failed(runs, target, known[target])
    kept = tuple(case for case in failures if not _unscorable(runs, case, target))
    prior, df, noise = _noise(runs, wins, target, rules, prior_sd)
    return Trial(
        runs, rules, target, kept, tuple(case for case in failures if case not in kept), wins,
        max(len(wins), n_wins or 0), _watched(runs, wins, guard_metrics), prior, df, noise,
    )  # fmt: skip


def judging_policy(policy: str | PromotionPolicy, *, by: str) -> PromotionPolicy:
    """Return the policy, or raise `PolicyError` for the reference's rule, which weighs no evidence."""
    rules = PromotionPolicy.parse(policy)
    if rules.mode == "reference":
        raise PolicyError(
            f"{by} weighs evidence, and the policy 'reference' has none to weigh: it promotes on a change of .05 in "
            "one replay. Use budgeted, open_ended or classic here; what the reference itself would say comes from "
            "harness.validate_candidates(policy='reference')."
        )
    return rules


def _judged_on(runs: Runs, failures: Sequence[str], target: str) -> str:
    """Return the outcome where 80 % of the runs of both arms have it, else the target metric."""
    if target == OUTCOME or OUTCOME not in runs.scores:
        return target
    table = runs.table
    has = np.isfinite(runs.score(OUTCOME))
    scored = table["case_id"].isin(failures).to_numpy(dtype=bool) & ~runs.flag("captured")
    scored = scored & (has | np.isfinite(runs.score(target)))
    for arm in (CONTROL, CANDIDATE):
        those = scored & (table["arm"] == arm).to_numpy(dtype=bool)
        if not those.any() or has[those].mean() < MOSTLY_THERE - 1e-9:
            return target
    return OUTCOME


def _count_failed(runs: Runs, target: str, metric: Metric) -> None:
    """Give candidate runs that ended in an error or a timeout the worse end of a yes-or-no target, in place.

    Not where the candidate side has no score at all: an outage says nothing about the rule.
    """
    score, table = runs.score(target), runs.table
    ours = ((table["arm"] == CANDIDATE) & (table["kind"] == "failure")).to_numpy(dtype=bool)
    lost = ours & runs.flag("early") & np.isnan(score)
    seen = score[np.isfinite(score)]
    if lost.any() and np.isfinite(score[ours]).any() and yes_or_no(metric, seen.tolist()):
        runs.scores.loc[lost, target] = 0.0
        runs.table.loc[lost, "failed"] = True


def _unscorable(runs: Runs, case: str, target: str) -> bool:
    """Whether an arm of a case has no score and will not get one: without an order of replays there are no more."""
    table, scored = runs.table, np.isfinite(runs.score(target))
    here = (table["case_id"] == case).to_numpy(dtype=bool) & ~runs.flag("captured")
    made = here & runs.flag("tried") & (table["round"].notna() | (table["arm"] == CANDIDATE)).to_numpy(dtype=bool)
    for arm in (CONTROL, CANDIDATE):
        those = (table["arm"] == arm).to_numpy(dtype=bool)
        if not (here & those & scored).any() and (not runs.ordered or (made & those).sum() >= UNSCORABLE):
            return True
    return False


def _noise(
    runs: Runs, wins: Sequence[str], target: str, policy: PromotionPolicy, given: float | None
) -> tuple[float, float, str]:
    """Return the sd of one run of the target before looking and its worth in df: given, of banked wins, or assumed."""
    if given is not None or policy.prior_sd is not None:
        return float(given if given is not None else policy.prior_sd or ASSUMED_SD), policy.prior_df, "given"
    table, score = runs.table, runs.score(target)
    use = (table["case_id"].isin(wins) & (table["arm"] == CONTROL) & table["round"].isna()).to_numpy(dtype=bool)
    use = use & (~runs.flag("captured") & np.isfinite(score) & runs.ordered)
    if not use.any():
        return ASSUMED_SD, policy.prior_df, "assumed"
    case = np.unique(table["case_id"].to_numpy(dtype=object)[use].astype(str), return_inverse=True)[1].astype(np.int64)
    order = np.lexsort((score[use], case))  # sums must not depend on the order of rows
    found = cell_variances(score[use][order], case[order], case[order], int(case.max()) + 1)
    noise = pool_noise(found.s2, found.df, floor=sd_floor(score[use]))
    return float(noise.prior.s2**0.5), min(policy.prior_df, noise.prior.df), noise.source


def _watched(runs: Runs, wins: Sequence[str], given: Sequence[str] | None) -> tuple[str, ...]:
    """Return the metrics watched on the wins: those given, else those that a verdict is possible on in both arms."""
    usable = [str(name) for name, unit in runs.scale["unit"].items() if unit is not None and not pd.isna(unit)]
    if given is not None:
        return tuple(name for name in dict.fromkeys(given) if name in usable)
    table = runs.table
    here = table["case_id"].isin(wins).to_numpy(dtype=bool)
    arms = [here & (table["arm"] == arm).to_numpy(dtype=bool) for arm in (CONTROL, CANDIDATE)]
    known = {name: np.isfinite(runs.score(name)) for name in usable}
    return tuple(name for name in usable if all((known[name] & arm).any() for arm in arms))
