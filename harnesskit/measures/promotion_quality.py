"""Whether replays can carry a verdict: was the guard read, is anything missing, can the sides be compared at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from harnesskit.measures.evidence_rows import MET, UNKNOWN, row
from harnesskit.measures.promotion_benefit import Benefit, benefit_of
from harnesskit.measures.promotion_runs import CANDIDATE, CONTROL
from harnesskit.stats.intervals import clopper_pearson

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from harnesskit.measures.promotion_trial import Replays, Trial

    Floats = NDArray[np.float64]
    Flags = NDArray[np.bool_]

_WAITED = "env_wait"


class Quality(NamedTuple):
    """A row of evidence, and whether a verdict to retire may rest on the runs as far as this row goes."""

    row: dict[str, Any]
    callable_: bool


def doubt_of(trial: Trial) -> tuple[str, str] | None:
    """Return why nothing can be said about the failing cases, as a reason of the closed set and words; None if it can.

    Captured scores of failures are no control: they were kept because they were low (METHODS 2).
    """
    runs, table = trial.runs, trial.runs.table
    cases = (*trial.failures, *trial.left_out)
    here = table["case_id"].isin(cases).to_numpy(dtype=bool) & ~runs.flag("captured")
    scored = np.isfinite(trial.target_scores) & ~runs.flag("failed")
    ours = here & (table["arm"] == CANDIDATE).to_numpy(dtype=bool) & runs.flag("tried")
    if not cases:
        return "no_matching_replayable_case", "no failing case was replayed with the candidate"
    if trial.target in runs.graders:
        return "fingerprint_mismatch", f"two graders of {trial.target} do not mix: {runs.graders[trial.target]}"
    if runs.fingerprints:
        return "fingerprint_mismatch", "no control run was made under the fingerprint of the candidate's runs"
    if trial.target in runs.scale.index and runs.scale["unit"].isna()[trial.target]:
        return "insufficient_evidence", f"no verdict on {trial.target}: {runs.scale['doubt'][trial.target]}"
    if ours.any() and not (ours & scored).any():
        return _nothing_scored(trial, ours)
    if not (here & scored & (table["arm"] == CONTROL).to_numpy(dtype=bool)).any():
        kept = (table["case_id"].isin(cases) & (table["arm"] == CONTROL)).to_numpy(dtype=bool) & runs.flag("captured")
        why = "a captured score is none, as it was kept because it was low" if kept.any() else "control runs are needed"
        return "insufficient_evidence", f"no control run of the failing cases has a score; {why}"
    if not trial.failures:
        return "replay_inconclusive", "no failing case has a score on both sides"
    return None


def _nothing_scored(trial: Trial, ours: Flags) -> tuple[str, str]:
    reasons = trial.runs.table.loc[ours, "reason"].fillna("no score").astype(str)
    common = str(reasons.value_counts().sort_index().sort_values(ascending=False, kind="stable").index[0])
    waited = bool(reasons.str.startswith(_WAITED).all())
    text = f"none of the {len(reasons)} candidate replays of failing cases gave a score (mostly: {common[:80]})"
    return ("env_wait_timeout" if waited else "replay_inconclusive"), text


def compliance(trial: Trial, benefit: Benefit) -> tuple[Quality, list[dict[str, Any]]]:
    """Return whether the candidate was read, and the effect on the runs that read it, over all runs with it.

    Intention to treat: every candidate run counts in the effect, read or not; leaving out those that did not read it
    would select runs after the fact. Effect where read = effect / share that read (Angrist, Imbens & Rubin 1996).
    """
    policy, table = trial.policy, trial.runs.table
    ours = table["case_id"].isin([*trial.failures, *trial.left_out]) & (table["arm"] == CANDIDATE) & table["tried"]
    read = table.loc[ours & ~table["early"].astype(bool) & table["read"].notna(), "read"].to_numpy(dtype=float)
    facts: dict[str, Any] = {"bar": policy.min_compliance, "scale": "share", "n": len(read), "n_candidate": len(read)}
    if not len(read):
        note = "whether the candidate was read was not recorded" if ours.any() else ""
        return Quality(row("compliance", UNKNOWN, note, **facts), True), []
    share, span = float(read.mean()), clopper_pearson(int(read.sum()), len(read))
    facts |= {"estimate": share, "low": span.low, "high": span.high, "interval_kind": "Clopper-Pearson, 95 %"}
    note = f"the candidate was read in {int(read.sum())} of {len(read)} replays of failing cases"
    low = share < policy.min_compliance
    if low:
        more = max(policy.compliance_after - len(read), 0) or None
        facts |= {"reason": "candidate_not_exercised", "runs_needed": more}
    rows = [] if not share or not np.isfinite(benefit.delta) else [_where_read(trial, benefit, share)]
    return Quality(row("compliance", UNKNOWN if low else MET, note, **facts), not low), rows


def _where_read(trial: Trial, benefit: Benefit, share: float) -> dict[str, Any]:
    low, high = benefit.low / share, benefit.high / share
    return row(
        "effect_when_read", MET if low > 0 else UNKNOWN, f"effect on all runs / {share:.2f}", metric=trial.target,
        estimate=benefit.delta / share, low=low, high=high, bar=0.0, interval_kind=benefit.kind,
        n=len(trial.failures), n_cases=len(trial.failures),
    )  # fmt: skip


def missing_data(trial: Trial, benefit: Benefit, *, compared: bool) -> Quality:
    """Return whether the verdict on the failing cases may rest on the scores there are (METHODS 11).

    Where more than 30 % of the attempts gave no score, or the arms differ by more than 20 points, a promotion must
    hold with the candidate's missing scores at their worst and the control's at their best, a retirement with both the
    other way round. Where nothing can be compared anyhow (`compared` is false) the row only informs.
    """
    replays = trial.replays((*trial.failures, *trial.left_out), "failure")
    lost = ~np.isfinite(trial.target_scores[replays.row]) | trial.runs.flag("failed")[replays.row]
    facts, excessive, note = shares_missing(trial, lost, replays)
    if not excessive:
        return Quality(row("missing_data", MET, note, metric=trial.target, **facts), True)
    if not compared:
        return Quality(row("missing_data", UNKNOWN, note, metric=trial.target, **facts), False)
    verdict = benefit.looks.verdict
    holds = verdict is not None and _holds(trial, verdict)
    if holds:
        end = "worst" if verdict == "efficacy" else "best"
        text = f"{note}; the verdict holds with the missing scores at their {end}"
        return Quality(row("missing_data", MET, text, metric=trial.target, **facts), True)
    text = note if verdict is None else f"{note}; with them at their worst the verdict would be another"
    return Quality(row("missing_data", UNKNOWN, text, metric=trial.target, reason="missing_data", **facts), False)


def shares_missing(trial: Trial, lost: Flags, replays: Replays) -> tuple[dict[str, Any], bool, str]:
    """Return the share of attempts without a score, whether it is too large to go by the others, and words."""
    policy = trial.policy
    arms = [lost[~replays.candidate], lost[replays.candidate]]
    share = float(lost.mean()) if len(lost) else 0.0
    each = [float(arm.mean()) if len(arm) else 0.0 for arm in arms]
    both = all(len(arm) for arm in arms)
    apart = both and abs(each[1] - each[0]) > policy.max_missing_gap + 1e-9
    alone = not both and max(each) > policy.max_missing_gap + 1e-9
    excessive = bool(share > policy.max_missing + 1e-9 or apart or alone)
    told = [
        f"{int(arm.sum())} of {len(arm)} {side} replays"
        for arm, side in zip(arms[::-1], ("candidate", "control"), strict=True)
        if len(arm)
    ]
    note = f"{' and '.join(told)} gave no score" if lost.any() else ""
    facts = {
        "estimate": share, "bar": policy.max_missing, "scale": "share", "n": len(lost),
        "n_control": len(arms[0]), "n_candidate": len(arms[1]),
    }  # fmt: skip
    return facts, excessive, note


def _holds(trial: Trial, verdict: str) -> bool:
    """Whether the same verdict comes out with the missing scores at the end that speaks against it."""
    if trial.left_out:
        return False
    values = imputed(trial, trial.target, against_candidate=verdict == "efficacy")
    if values is None:
        return False
    found = benefit_of(trial, values).looks.verdict
    return found == "efficacy" if verdict == "efficacy" else found in ("futility", "harmful")


def imputed(trial: Trial, metric: str, *, against_candidate: bool) -> Floats | None:
    """Return the scores with the missing ones of replays at an end of the range; None where the range is open."""
    runs, table = trial.runs, trial.runs.table
    low, high = (float(runs.scale[end][metric]) for end in ("low", "high"))
    if not (np.isfinite(low) and np.isfinite(high)):
        return None
    values = runs.score(metric).copy()
    lost = (~np.isfinite(values) | runs.flag("failed")) & runs.flag("tried") & ~runs.flag("captured") & ~trial.banked
    candidate = (table["arm"] == CANDIDATE).to_numpy(dtype=bool)
    worst, best = (low, high) if against_candidate else (high, low)
    values[lost & candidate], values[lost & ~candidate] = worst, best
    return values
