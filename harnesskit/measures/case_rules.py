"""The rules that give a case and metric its status: a fixed number of trials, a bare margin, a floor.

Every rule reads the same columns (cells, evidence and scale, one entry per case and metric) and returns a `Ruling`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from harnesskit.model.results import ONLY_BASELINE, ONLY_CANDIDATE
from harnesskit.stats.multiple import holm_level
from harnesskit.stats.power import further_runs
from harnesskit.stats.tails import normal_isf, normal_sf, t_isf

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from harnesskit.model.policy import RegressionPolicy

    Floats = NDArray[np.float64]
    Flags = NDArray[np.bool_]
    Texts = NDArray[np.object_]
    Work = dict[str, NDArray[Any]]

SLACK = 1e-9
"""Float noise allowed in every comparison with a margin or a floor, on the common scale."""

CAPTURED_FAILURE = (
    "the captured score was selected for being bad, so it cannot decide; measure the case again without the change"
)
TOO_FEW = "too few trials to tell a change from noise"
COPIES = "the repeats are copies of each other, so more trials of the same kind will not help"
OFF_PLAN = "the plan is not met"
SUSPECT = "enough to call this case worse on its own, but not among all cases tested together"
WORSE = "a change for the worse this large is very unlikely to be noise, all cases tested together"
BETTER = "a change for the better this large is very unlikely to be noise, all cases tested together"


_VERDICTS = np.array(["regressed", "improved", "unchanged", "inconclusive"], dtype=object)


class Ruling(NamedTuple):
    """The verdict on each case and metric."""

    status: Texts
    suspect: Flags
    bound: Floats
    runs_needed: Floats
    reason: Texts


def rule_for(policy: RegressionPolicy) -> Callable[[Work, RegressionPolicy], Ruling]:
    """Return the rule that `policy` stands for."""
    if policy.margin is not None:
        return by_margin
    return by_floor if policy.floor_score is not None else by_trials


def by_trials(work: Work, policy: RegressionPolicy) -> Ruling:
    """Judge stored runs with a fixed number of trials.

    Holm over the cases of a kind at alpha - alpha_global, with p_c = min(1, K min_k p_ck) over the K metrics of a
    case; a drop must also reach `min_drop` and rest on `min_trials` candidate trials. ``unchanged`` when a drop of the
    tolerance is excluded at `unchanged_level`. Under a fixed plan a row is judged only when its trials are all there.
    """
    level = policy.alpha - policy.alpha_global
    status, reason = _unjudged(work)
    n, m, z, drop, win = (work[c] for c in ("n_candidate", "n_baseline", "z", "drop", "win"))
    have = work["n_candidate"] + work["n_unscored"]
    short = pd.isna(status) & (have < (policy.trials or 0))
    status[short] = "inconclusive"
    reason[short] = [f"{OFF_PLAN}: {count} of {policy.trials} trials" for count in have[short]]
    judged = pd.isna(status)
    biased = judged & work["captured"] & ~win
    test = judged & ~biased
    enough = test & (n >= policy.min_trials)
    bound, soon = _bounds(work, z, test, enough, level)
    rise, _ = _bounds(work, -z, test, enough, level)
    with np.errstate(invalid="ignore"):
        worse = enough & (z >= bound) & (drop >= policy.min_drop - SLACK)
        better = enough & (-z >= rise) & (-drop >= policy.min_drop - SLACK)
        alone = _per_case(work, test) * normal_sf(z) <= policy.alpha_suspect
        suspect = test & win & ~worse & alone & (drop >= policy.min_drop - SLACK)
        steady = test & ~suspect & _no_drop(work, policy.unchanged_level)
    verdicts = [worse, better, steady]
    status[test] = _VERDICTS[np.select(verdicts, [0, 1, 2], 3)][test]
    status[biased], reason[biased] = "inconclusive", CAPTURED_FAILURE
    said: list[Any] = [np.array(text, dtype=object) for text in (SUSPECT, WORSE, BETTER)]
    said.append(_ruled_out(work, policy.unchanged_level))
    reason[test] = np.select([suspect, *verdicts], said, _too_few(work, policy))[test]
    needed = _runs_needed(work, policy, test, np.where(np.isnan(bound), soon, bound))
    needed[short] = (policy.trials or 0) - have[short]
    open_rows = (status == "inconclusive") & ~biased & ~np.isnan(work["unit"]) & (m > 0)
    return Ruling(status, suspect, bound, np.where(open_rows, needed, np.nan), reason)


def by_margin(work: Work, policy: RegressionPolicy) -> Ruling:
    """Judge by a bare margin, one replay each, as the reference harness does (on the declared direction and range).

    Where nothing is comparable the reference says unchanged; here it is ``inconclusive``, on purpose.
    """
    margin = float(policy.margin or 0.0)
    status, reason = _unjudged(work)
    drop, judged = work["drop"], pd.isna(status)
    with np.errstate(invalid="ignore"):
        verdicts = [drop >= margin - SLACK, -drop >= margin - SLACK]
    status[judged] = np.select(verdicts, ["regressed", "improved"], "unchanged")[judged]
    said = [f"got worse by the margin of {margin:g} or more", f"got better by the margin of {margin:g} or more"]
    reason[judged] = np.select(verdicts, said, f"changed by less than the margin of {margin:g}")[judged]
    return _plain(work, status, reason)


def by_floor(work: Work, policy: RegressionPolicy) -> Ruling:
    """Judge wins by their mean score: ``unchanged`` at or above the floor, ``regressed`` below; no statistics.

    The floor is on the 0-to-1 scale: for a metric where lower is better it is held against the distance from the top.
    """
    floor = float(policy.floor_score if policy.floor_score is not None else 0.0)
    status, reason = _unjudged(work, needs_baseline=False)
    low, high, mean = (work[c] for c in ("range_low", "range_high", "candidate"))
    share = (mean - low) / (high - low)
    share = np.where(work["lower_is_better"], 1 - share, share)
    judged = pd.isna(status)
    open_range = judged & np.isnan(share)
    status[open_range], reason[open_range] = "inconclusive", "a floor needs a metric with a range"
    other = judged & ~work["win"]
    status[other], reason[other] = "inconclusive", "the floor protects wins; failures are only shown"
    judged = pd.isna(status)
    met = share >= floor - SLACK
    status[judged] = np.where(met, "unchanged", "regressed")[judged]
    reason[judged] = np.where(met, f"at or above the floor of {floor:g}", f"below the floor of {floor:g}")[judged]
    return _plain(work, status, reason)


def _plain(work: Work, status: Texts, reason: Texts) -> Ruling:
    """Return a ruling without statistics: what has no candidate score needs one trial."""
    empty = np.full(len(status), np.nan)
    lacking = (status == "inconclusive") & (work["n_candidate"] == 0) & (work["n_unscored"] > 0)
    return Ruling(status, np.zeros(len(status), dtype=bool), empty, np.where(lacking, 1.0, np.nan), reason)


def _unjudged(work: Work, *, needs_baseline: bool = True) -> tuple[Texts, Texts]:
    """Return the status and reason of rows that no rule can judge; missing for the others."""
    after, before = work["n_candidate"] > 0, work["n_baseline"] > 0
    tried, skipped = work["n_unscored"] > 0, work["n_skipped"] > 0
    missing, graders = work["missing"], pd.notna(work["mismatch"]) & needs_baseline
    cases = [~after & tried, ~after & skipped, ~after, ~before & needs_baseline, graders, pd.notna(work["doubt"])]
    untried, left_out, gone, new, apart, doubtful = (
        np.flatnonzero(np.select(cases, range(6), -1) == i) for i in range(6)
    )
    status, reason = np.full(len(after), None, dtype=object), np.full(len(after), "", dtype=object)
    for rows in (untried, gone, new, apart, doubtful):
        status[rows] = "inconclusive"
    status[left_out] = "skipped"
    reason[untried] = [f"no candidate score: {'no reason given' if pd.isna(why) else why}" for why in missing[untried]]
    reason[left_out], reason[gone] = missing[left_out], ONLY_BASELINE
    lacks = work["baseline_missing"][new]
    reason[new] = [ONLY_CANDIDATE if pd.isna(why) else f"no baseline score: {why}" for why in lacks]
    reason[apart], reason[doubtful] = work["mismatch"][apart], work["doubt"][doubtful]
    return status, reason


def _per_case(work: Work, rows: Flags) -> Floats:
    """Return, for each row, the number of `rows` in its case."""
    case = work["case"]
    return np.asarray(np.bincount(case, rows, minlength=int(case.max(initial=-1)) + 1)[case], dtype=float)


def _bounds(work: Work, z: Floats, test: Flags, enough: Flags, level: float) -> tuple[Floats, Floats]:
    """Return the z at which each row would be called changed, and the one it would have with enough trials."""
    case, attempted = work["case"], work["n_candidate"] + work["n_unscored"] > 0
    per_case, soon_per_case = _per_case(work, enough), np.maximum(_per_case(work, test), 1)
    bound, soon = np.full(len(case), np.nan), np.full(len(case), np.nan)
    for family in (work["win"], ~work["win"]):
        planned = len(np.unique(case[family & attempted]))
        if not planned:
            continue
        soon[family] = normal_isf(level / planned / soon_per_case[family])
        rows = np.flatnonzero(family & enough)
        if len(rows):
            cases, local = np.unique(case[rows], return_inverse=True)
            p = np.ones(len(cases))
            np.minimum.at(p, local, normal_sf(z[rows]))
            k = np.bincount(local)
            share = holm_level(np.minimum(1.0, p * k), level, family=planned)
            bound[rows] = normal_isf(share[local] / per_case[rows])
    return bound, soon


def _no_drop(work: Work, confidence: float) -> Flags:
    """Whether a drop of the tolerance is excluded, by the test and in the plain means."""
    reach = t_isf(1 - confidence, work["df"]) * work["se"]
    return np.asarray((work["test_drop"] + reach < work["tol"]) & (work["drop"] < work["tol"]), dtype=bool)


def _too_few(work: Work, policy: RegressionPolicy) -> Texts:
    texts = np.array(
        [TOO_FEW, f"{TOO_FEW}: at least {policy.min_trials} are needed", f"{TOO_FEW}: {COPIES}"], dtype=object
    )
    place = np.select([work["n_candidate"] < policy.min_trials, work["copies"]], [1, 2], 0)
    return np.asarray(texts[place], dtype=object)


def _ruled_out(work: Work, confidence: float) -> Texts:
    said = f"is ruled out with {100 * confidence:g} % confidence (one-sided)"
    tolerances, place = np.unique(work["tolerance"], return_inverse=True)
    return np.array([f"a change for the worse of {tol:g} or more {said}" for tol in tolerances], dtype=object)[place]


def _runs_needed(work: Work, policy: RegressionPolicy, test: Flags, bound: Floats) -> Floats:
    """Return the further candidate trials after which a row would be unchanged or regressed, the change as seen."""
    n, m, df, se, drop = (work[c].astype(float) for c in ("n_candidate", "n_baseline", "df", "se", "test_drop"))
    with np.errstate(divide="ignore", invalid="ignore"):
        sd = se / np.sqrt(1 / n + 1 / m)
        calm = t_isf(1 - policy.unchanged_level, df)
        loud = t_isf(normal_sf(bound), df)
        room = work["tol"] - np.fmax(drop, work["drop"])
        steady = further_runs(sd=sd, gap=room, quantile=calm, n=n, m=m)
        big = np.where(drop >= policy.min_drop, drop, np.nan)
        worse = further_runs(sd=sd, gap=big, quantile=loud, n=n, m=m)
    planned = np.maximum(policy.min_trials, policy.trials or 0) - n
    settles = np.fmin(steady, worse)
    settles = np.where(np.isnan(settles), np.nan, np.maximum(settles, planned))
    settles = np.where(work["copies"], np.nan, settles)  # more copies settle nothing
    lost = (n == 0) & (work["n_unscored"] > 0)
    return np.where(test, settles, np.where(lost, np.maximum(planned, 1), np.nan))
