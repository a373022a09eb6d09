"""The contracts of the frames that measures and decisions hand out."""

from __future__ import annotations

from harnesskit.model.contract import Contract
from harnesskit.model.frames import CASES, SCORES

ONLY_BASELINE = "only in the baseline: not in the candidate run"
ONLY_CANDIDATE = "no baseline score: only in the candidate"
"""Reasons of cases on one side only: compared with nothing, and counted apart from what is inconclusive."""

GRADERS_DIFFER = "graders differ: "
"""How the reason begins where the two sides name different graders of a metric; nothing is compared then."""
PLANNED = "planned trials"
"""Name of the check that the trials of a fixed plan are there."""

CASE_DELTAS = Contract(
    name="case deltas",
    grain="case and metric",
    key=("case_id", "metric"),
    columns={
        "case_id": "case compared",
        "kind": CASES.columns["kind"],
        "metric": SCORES.columns["metric"],
        "n_baseline": "scored baseline trials behind the comparison",
        "n_candidate": "scored candidate trials behind the comparison",
        "baseline": "mean of the baseline trials, in the metric's own unit",
        "candidate": "mean of the candidate trials, in the metric's own unit",
        "delta": "candidate minus baseline, in the metric's own unit (not flipped for metrics where lower is better)",
        "low": "lower end of the interval of delta",
        "high": "upper end of the interval of delta",
        "interval_kind": "how the interval was made; 'assumed noise' when it rests on the cold-start sd alone; "
        "missing when there is none",
        "z": "evidence scale: positive means worse, in standard errors; missing when nothing could be tested",
        "bound": "value of z at which the case would be called regressed; missing when it cannot be",
        "status": "regressed, improved, unchanged, inconclusive or skipped",
        "suspect": "true when the evidence would be enough for this case alone, but not for all cases together",
        "reason": "why the status is inconclusive or skipped, or what decided",
        "runs_needed": "further candidate trials that would settle an inconclusive case; missing when not known",
        "baseline_source": "captured or control",
        "sd": "standard deviation of one run used for the comparison",
        "n_unscored": "candidate attempts of this case and metric that gave no score",
        "n_clipped": "runs so far from the others that the test used them clipped",
        "n_copies": "rows of both sides that are exact copies of another and have no trial: each counts as a trial",
        "n_averaged": "rows of both sides averaged into another row of the same trial",
        "n_unmatched": "rows of both sides without a case, left out; the same in every row",
        "note": "what to know about the scores besides the status, in words; missing when there is nothing",
        "higher_is_better": "direction used; missing when the metric has no declared direction",
        "unit": "amount of the metric's own unit that counts as 1 on the common scale; missing: no verdict possible",
        "tolerance": "largest drop, in the metric's own unit, that still counts as no change",
        "cluster": "what groups dependent cases; missing means the case stands alone",
        "policy": "policy the status was reached under",
    },
)

CASE_STATUSES = Contract(
    name="case statuses",
    grain="case",
    key=("case_id",),
    columns={
        "case_id": "case compared",
        "kind": CASES.columns["kind"],
        "status": "regressed, improved, unchanged, inconclusive or skipped, over all metrics of the case",
        "suspect": "true when a metric of the case is suspect",
        "metric": "metric that decided the status",
        "reason": "why, in words",
        "runs_needed": "further candidate trials that would settle an inconclusive case; missing when not known",
    },
)

ONE_SIDED = Contract(
    name="one-sided cases",
    grain="case and metric",
    key=("case_id", "metric"),
    columns={
        "case_id": "case that could not be compared",
        "kind": CASES.columns["kind"],
        "metric": SCORES.columns["metric"],
        "side": "baseline or candidate: the only side with a score; neither when there is none",
        "reason": "why the other side has no score, if that is known",
    },
)

LEDGER = Contract(
    name="evidence ledger",
    grain="side, kind, metric, state and reason",
    key=("side", "kind", "metric", "state", "reason"),
    columns={
        "side": "baseline or candidate",
        "kind": CASES.columns["kind"],
        "metric": SCORES.columns["metric"],
        "state": "scored, counted as failed (yes-or-no metric of a replay that ended early), unscored, skipped, "
        "absent (on the other side only), or unmatched (rows without a case)",
        "reason": "why there is no score; missing for scored and absent",
        "n_cases": "cases, each counted once per side and metric, by the first of these states that a trial of it has",
        "n_trials": "trials, each counted once",
    },
)

COMPARISON = Contract(
    name="comparison",
    grain="kind and metric",
    key=("kind", "metric"),
    columns={
        "kind": CASES.columns["kind"],
        "metric": SCORES.columns["metric"],
        "n_cases": "cases asked for",
        "n_paired": "cases with a score on both sides",
        "n_baseline_only": "cases scored in the baseline only",
        "n_candidate_only": "cases scored in the candidate only",
        "n_regressed": "cases whose status is regressed",
        "n_improved": "cases whose status is improved",
        "n_unchanged": "cases whose status is unchanged",
        "n_inconclusive": "cases of both sides whose status is inconclusive",
        "n_skipped": "cases whose status is skipped",
        "baseline": "mean over the paired cases, baseline side",
        "candidate": "mean over the paired cases, candidate side",
        "delta": "mean of the paired changes, in the metric's own unit",
        "low": "lower end of the 95 % interval of delta",
        "high": "upper end of the 95 % interval of delta",
        "interval_kind": "how the interval was made; missing when there is none",
        "cases_low": "lower end of the interval over cases, as if each stood alone",
        "cases_high": "upper end of that interval",
        "clusters_low": "lower end of the interval over clusters; missing when no case has a cluster",
        "clusters_high": "upper end of that interval",
        "n_clusters": "clusters of the paired cases, a case without one being its own; 0 when no case has a cluster",
        "drop_bound": "one-sided 95 % bound of the mean drop, scaled to the metric's range and positive when worse",
        "drop": "mean drop on that scale, positive when worse",
        "drop_p": "one-sided p-value of a mean drop (t over the paired cases); missing without an interval",
        "drop_all": "mean drop on that scale over cases, each the mean of its metrics; same for all metrics of a kind",
        "drop_all_p": "one-sided p-value of that drop",
        "tolerance": "largest mean drop on that scale that still counts as no change",
        "percent": "delta as a percentage of the baseline mean; missing when that is 0",
        "higher_is_better": "direction used; missing when the metric has no declared direction",
        "baseline_source": "captured, control or mixed",
        "warning": "doubt about this row, in words",
    },
)

CHECKS = Contract(
    name="checks",
    grain="check",
    key=("check",),
    columns={
        "check": "what was asked",
        "state": "met, unmet or unknown",
        "estimate": "point estimate",
        "low": "lower end of its interval",
        "high": "upper end of its interval",
        "bar": "what it is held against",
        "n": "units of evidence behind it",
        "note": "in words",
    },
)

RUN_VERDICTS = Contract(
    name="run verdicts",
    grain="run",
    key=("run_id",),
    columns={
        "run_id": "run judged",
        "ended": "when it ended, UTC",
        "baseline_id": "run it was compared with, or captured",
        "verdict": "pass, fail or inconclusive",
        "n_asked": "cases the run was asked to replay",
        "n_kept": "cases whose result is known",
        "n_scored": "cases with at least one score",
        "n_regressed": "cases whose status is regressed",
        "n_improved": "cases whose status is improved",
        "n_unchanged": "cases whose status is unchanged",
        "n_inconclusive": "cases whose status is inconclusive",
        "n_skipped": "cases whose status is skipped",
        "reason": "first reason of the verdict",
    },
)
