"""The rules that give a case and metric its status: a fixed number of trials, a bare margin, a floor.

Every rule reads the same working frame (cells, evidence and scale, one row per case and metric) and returns a `Ruling`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from harnesskit.model.results import ONLY_BASELINE, ONLY_CANDIDATE
from harnesskit.stats.multiple import holm_level
from harnesskit.stats.power import further_runs

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from harnesskit.model.policy import RegressionPolicy

    Floats = NDArray[np.float64]
    Flags = NDArray[np.bool_]
    Texts = NDArray[np.object_]

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


class Ruling(NamedTuple):
    """The verdict on each case and metric."""

    status: Texts
    suspect: Flags
    bound: Floats
    runs_needed: Floats
    reason: Texts


def rule_for(policy: RegressionPolicy) -> Callable[[pd.DataFrame, RegressionPolicy], Ruling]:
    """Return the rule that `policy` stands for."""
    if policy.margin is not None:
        return by_margin
    return by_floor if policy.floor_score is not None else by_trials


def by_trials(work: pd.DataFrame, policy: RegressionPolicy) -> Ruling:
    """Judge stored runs with a fixed number of trials.

    Holm over the cases of a kind at alpha - alpha_global, with p_c = min(1, K min_k p_ck) over the K metrics of a
    case; a drop must also reach `min_drop` and rest on `min_trials` candidate trials. ``unchanged`` when a drop of the
    tolerance is excluded at `unchanged_level`. Under a fixed plan a row is judged only when its trials are all there.
    """
    level = policy.alpha - policy.alpha_global
    status, reason = _unjudged(work)
    n, m, z, drop = (work[c].to_numpy(dtype=float) for c in ("n_candidate", "n_baseline", "z", "drop"))
    win = (work["kind"] == "win").to_numpy(dtype=bool)
    have = (work["n_candidate"] + work["n_unscored"]).to_numpy(dtype=np.int64)
    short = pd.isna(status) & (have < (policy.trials or 0))
    status[short] = "inconclusive"
    reason[short] = [f"{OFF_PLAN}: {count} of {policy.trials} trials" for count in have[short]]
    judged = pd.isna(status)
    biased = judged & work["captured"].to_numpy(dtype=bool) & ~win
    test = judged & ~biased
    enough = test & (n >= policy.min_trials)
    bound, soon = _bounds(work, z, test, enough, level)
    rise, _ = _bounds(work, -z, test, enough, level)
    with np.errstate(invalid="ignore"):
        worse = enough & (z >= bound) & (drop >= policy.min_drop - SLACK)
        better = enough & (-z >= rise) & (-drop >= policy.min_drop - SLACK)
        alone = _per_case(work, test) * stats.norm.sf(z) <= policy.alpha_suspect
        suspect = test & win & ~worse & alone & (drop >= policy.min_drop - SLACK)
        steady = test & ~suspect & _no_drop(work, policy.unchanged_level)
    verdicts = [worse, better, steady]
    status[test] = np.select(verdicts, ["regressed", "improved", "unchanged"], "inconclusive")[test]
    status[biased], reason[biased] = "inconclusive", CAPTURED_FAILURE
    said = [np.full(len(work), text, dtype=object) for text in (SUSPECT, WORSE, BETTER)]
    said.append(_ruled_out(work, policy.unchanged_level))
    reason[test] = np.select([suspect, *verdicts], said, _too_few(work, policy))[test]
    needed = _runs_needed(work, policy, test, np.where(np.isnan(bound), soon, bound))
    needed[short] = (policy.trials or 0) - have[short]
    open_rows = (status == "inconclusive") & ~biased & work["unit"].notna().to_numpy() & (m > 0)
    return Ruling(status, suspect, bound, np.where(open_rows, needed, np.nan), reason)


def by_margin(work: pd.DataFrame, policy: RegressionPolicy) -> Ruling:
    """Judge by a bare margin, one replay each, as the reference harness does (on the declared direction and range).

    Where nothing is comparable the reference says unchanged; here it is ``inconclusive``, on purpose.
    """
    margin = float(policy.margin or 0.0)
    status, reason = _unjudged(work)
    drop = work["drop"].to_numpy(dtype=float)
    judged = pd.isna(status)
    with np.errstate(invalid="ignore"):
        verdicts = [drop >= margin - SLACK, -drop >= margin - SLACK]
    status[judged] = np.select(verdicts, ["regressed", "improved"], "unchanged")[judged]
    said = [f"got worse by the margin of {margin:g} or more", f"got better by the margin of {margin:g} or more"]
    reason[judged] = np.select(verdicts, said, f"changed by less than the margin of {margin:g}")[judged]
    return _plain(work, status, reason)


def by_floor(work: pd.DataFrame, policy: RegressionPolicy) -> Ruling:
    """Judge wins by their mean score: ``unchanged`` at or above the floor, ``regressed`` below; no statistics.

    The floor is on the 0-to-1 scale: for a metric where lower is better it is held against the distance from the top.
    """
    floor = float(policy.floor_score if policy.floor_score is not None else 0.0)
    status, reason = _unjudged(work, needs_baseline=False)
    low, high, mean = (work[c].to_numpy(dtype=float) for c in ("range_low", "range_high", "candidate"))
    share = (mean - low) / (high - low)
    share = np.where(work["higher_is_better"].eq(False).to_numpy(dtype=bool), 1 - share, share)
    judged = pd.isna(status)
    open_range = judged & np.isnan(share)
    status[open_range], reason[open_range] = "inconclusive", "a floor needs a metric with a range"
    other = judged & (work["kind"] != "win").to_numpy(dtype=bool)
    status[other], reason[other] = "inconclusive", "the floor protects wins; failures are only shown"
    judged = pd.isna(status)
    met = share >= floor - SLACK
    status[judged] = np.where(met, "unchanged", "regressed")[judged]
    reason[judged] = np.where(met, f"at or above the floor of {floor:g}", f"below the floor of {floor:g}")[judged]
    return _plain(work, status, reason)


def _plain(work: pd.DataFrame, status: Texts, reason: Texts) -> Ruling:
    """Return a ruling without statistics: what has no candidate score needs one trial."""
    empty = np.full(len(status), np.nan)
    lacking = (status == "inconclusive") & ((work["n_candidate"] == 0) & (work["n_unscored"] > 0)).to_numpy()
    return Ruling(status, np.zeros(len(status), dtype=bool), empty, np.where(lacking, 1.0, np.nan), reason)


def _unjudged(work: pd.DataFrame, *, needs_baseline: bool = True) -> tuple[Texts, Texts]:
    """Return the status and reason of rows that no rule can judge; missing for the others."""
    after, before = work["n_candidate"].to_numpy() > 0, work["n_baseline"].to_numpy() > 0
    tried, skipped = work["n_unscored"].to_numpy() > 0, work["n_skipped"].to_numpy() > 0
    note = "no candidate score: " + work["missing"].fillna("no reason given").astype(object)
    lacks = ("no baseline score: " + work["baseline_missing"].astype(object)).fillna(ONLY_CANDIDATE)
    doubt = work["doubt"].notna().to_numpy(dtype=bool)
    graders = (work["mismatch"].notna() & needs_baseline).to_numpy(dtype=bool)
    cases = [~after & tried, ~after & skipped, ~after, ~before & needs_baseline, graders, doubt]
    status = np.select(cases, ["inconclusive", "skipped", *["inconclusive"] * 4], "")
    reasons = [note, work["missing"], ONLY_BASELINE, lacks, work["mismatch"], work["doubt"]]
    reason = np.select(cases, [np.broadcast_to(np.asarray(r, dtype=object), status.shape) for r in reasons], "")
    status, reason = status.astype(object), reason.astype(object)
    status[status == ""] = None
    return status, reason


def _per_case(work: pd.DataFrame, rows: Flags) -> Floats:
    """Return, for each row, the number of `rows` in its case."""
    case = work["case"].to_numpy()
    return np.asarray(np.bincount(case, rows, minlength=int(case.max(initial=-1)) + 1)[case], dtype=float)


def _bounds(work: pd.DataFrame, z: Floats, test: Flags, enough: Flags, level: float) -> tuple[Floats, Floats]:
    """Return the z at which each row would be called changed, and the one it would have with enough trials."""
    case = work["case"].to_numpy()
    attempted = (work["n_candidate"] + work["n_unscored"]).to_numpy() > 0
    per_case, soon_per_case = _per_case(work, enough), np.maximum(_per_case(work, test), 1)
    bound, soon = np.full(len(work), np.nan), np.full(len(work), np.nan)
    for family in ((work["kind"] == "win").to_numpy(dtype=bool), (work["kind"] != "win").to_numpy(dtype=bool)):
        planned = len(np.unique(case[family & attempted]))
        if not planned:
            continue
        soon[family] = stats.norm.isf(level / planned / soon_per_case[family])
        rows = np.flatnonzero(family & enough)
        if len(rows):
            cases, local = np.unique(case[rows], return_inverse=True)
            p = np.ones(len(cases))
            np.minimum.at(p, local, stats.norm.sf(z[rows]))
            k = np.bincount(local)
            share = holm_level(np.minimum(1.0, p * k), level, family=planned)
            bound[rows] = stats.norm.isf(share[local] / per_case[rows])
    return bound, soon


def _no_drop(work: pd.DataFrame, confidence: float) -> Flags:
    """Whether a drop of the tolerance is excluded, by the test and in the plain means."""
    reach = stats.t.isf(1 - confidence, work["df"]) * work["se"]
    return np.asarray((work["test_drop"] + reach < work["tol"]) & (work["drop"] < work["tol"]), dtype=bool)


def _too_few(work: pd.DataFrame, policy: RegressionPolicy) -> Texts:
    cases = [(work["n_candidate"] < policy.min_trials).to_numpy(), work["copies"].to_numpy(dtype=bool)]
    texts = [f"{TOO_FEW}: at least {policy.min_trials} are needed", f"{TOO_FEW}: {COPIES}"]
    return np.asarray(np.select(cases, texts, TOO_FEW), dtype=object)


def _ruled_out(work: pd.DataFrame, confidence: float) -> Texts:
    said = f"is ruled out with {100 * confidence:g} % confidence (one-sided)"
    texts = {tol: f"a change for the worse of {tol:g} or more {said}" for tol in work["tolerance"].dropna().unique()}
    return work["tolerance"].map(texts).to_numpy(dtype=object)


def _runs_needed(work: pd.DataFrame, policy: RegressionPolicy, test: Flags, bound: Floats) -> Floats:
    """Return the further candidate trials after which a row would be unchanged or regressed, the change as seen."""
    n, m, df, se = (work[c].to_numpy(dtype=float) for c in ("n_candidate", "n_baseline", "df", "se"))
    drop = work["test_drop"].to_numpy(dtype=float)
    with np.errstate(divide="ignore", invalid="ignore"):
        sd = se / np.sqrt(1 / n + 1 / m)
        calm = stats.t.isf(1 - policy.unchanged_level, df)
        loud = stats.t.isf(stats.norm.sf(bound), df)
        room = work["tol"].to_numpy(dtype=float) - np.fmax(drop, work["drop"].to_numpy(dtype=float))
        steady = further_runs(sd=sd, gap=room, quantile=calm, n=n, m=m)
        big = np.where(drop >= policy.min_drop, drop, np.nan)
        worse = further_runs(sd=sd, gap=big, quantile=loud, n=n, m=m)
    planned = np.maximum(policy.min_trials, policy.trials or 0) - n
    settles = np.fmin(steady, worse)
    settles = np.where(np.isnan(settles), np.nan, np.maximum(settles, planned))
    settles = np.where(work["copies"].to_numpy(dtype=bool), np.nan, settles)  # more copies settle nothing
    lost = (n == 0) & (work["n_unscored"].to_numpy() > 0)
    return np.where(test, settles, np.where(lost, np.maximum(planned, 1), np.nan))
