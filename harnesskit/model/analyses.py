"""The contracts of the frames that say more about a regression run: flips, noise, missing scores, grader drift, A/A."""

from __future__ import annotations

from harnesskit.model.contract import Contract
from harnesskit.model.frames import CASES, RUNS, SCORES

CASE_FLIPS = Contract(
    name="case flips",
    grain="case and metric",
    key=("case_id", "metric"),
    columns={
        "case_id": "case compared",
        "kind": CASES.columns["kind"],
        "metric": SCORES.columns["metric"],
        "flip": "fixed, broken, both pass, both fail, flaky (a side both passes and fails), or not compared",
        "n_baseline": "scored baseline trials",
        "n_candidate": "scored candidate trials",
        "n_unscored": "candidate attempts that gave no score; they are neither pass nor fail",
        "passed_baseline": "baseline trials that pass",
        "passed_candidate": "candidate trials that pass",
        "rate_baseline": "share of the scored baseline trials that pass",
        "rate_candidate": "share of the scored candidate trials that pass",
        "pass_at": "score from which a trial passes, in the metric's own unit; missing when there is none",
        "higher_is_better": "true when a trial passes at or above pass_at, false when at or below",
        "baseline_source": "captured or control",
        "reason": "why the case was not compared",
    },
)

GRADER_DRIFT = Contract(
    name="grader drift",
    grain="metric, baseline grader and candidate grader",
    key=("metric", "grader_baseline", "grader_candidate"),
    columns={
        "metric": SCORES.columns["metric"],
        "grader_baseline": "grader of the baseline, with its version when there is one",
        "grader_candidate": "grader of the candidate, with its version when there is one",
        "n_same_output": "outputs (case and text) that both graded",
        "n_changed_value": "of these, outputs with another score",
        "n_changed_verdict": "of these, outputs that pass with one grader only; missing without a threshold",
        "changed_share": "share of the outputs with another verdict (another score without a threshold)",
        "low": "lower end of the 95 % interval of that share (Clopper-Pearson)",
        "high": "upper end of that interval",
        "mean_change": "mean change of the score on the same output, in the metric's own unit",
        "mean_low": "lower end of its 95 % interval over cases; missing for fewer than two cases",
        "mean_high": "upper end of that interval",
        "pass_at": "score from which an output passes; missing when there is none",
        "warning": "what the row means for a comparison, in words",
    },
)

NOISE = Contract(
    name="noise",
    grain="metric",
    key=("metric",),
    columns={
        "metric": SCORES.columns["metric"],
        "sd": "standard deviation of one run that comparisons use, in the metric's own unit",
        "low": "lower end of its 90 % chi-square interval; missing unless the noise was measured",
        "high": "upper end of that interval",
        "source": "measured, partly assumed or assumed (0.10 of the range)",
        "df": "degrees of freedom behind the measured part",
        "prior_df": "degrees of freedom that a case borrows from the others",
        "floor": "smallest standard deviation believed",
        "grid": "step on which the grader's scores lie; 0 when there is none",
        "n_cases": "cases with at least two scored runs of one condition",
        "n_runs": "scored runs of these",
        "clipped": "share of these runs more than 3 robust standard deviations from the median of their case",
        "judge_sd": "part of sd that comes from judging the same output again; missing unless it was judged again",
        "agent_sd": "part of sd that comes from running the agent again",
        "judge_share": "share of the variance of a run, judged once, that is the judge's",
        "judge_calls": "best number of judge calls per replay at the stated cost, 1 to 5",
        "warning": "doubt about this row, in words",
    },
)

MISSING = Contract(
    name="missing-score bounds",
    grain="kind and metric",
    key=("kind", "metric"),
    columns={
        "kind": CASES.columns["kind"],
        "metric": SCORES.columns["metric"],
        "n_cases": "cases attempted on both sides",
        "n_baseline": "baseline attempts, scored or not",
        "n_candidate": "candidate attempts, scored or not",
        "missing_baseline": "share of the baseline attempts without a score",
        "missing_candidate": "share of the candidate attempts without a score",
        "missing": "share of all attempts without a score",
        "excessive": "true when the verdict must hold with the missing scores at their worst",
        "drop": "mean drop of the scored attempts, 0-to-1 scale, positive when worse",
        "drop_worst": "mean drop with every missing candidate score at its worst and every missing baseline score "
        "at its best; missing without a range",
        "drop_worst_bound": "one-sided 95 % bound of that mean drop",
        "drop_best": "mean drop with every missing score at the other end",
        "tolerance": "largest mean drop on that scale that still counts as no change",
    },
)

CLUSTERS = Contract(
    name="comparison by clusters",
    grain="kind, metric and unit",
    key=("kind", "metric", "over"),
    columns={
        "kind": CASES.columns["kind"],
        "metric": SCORES.columns["metric"],
        "over": "cases (as if each stood alone) or clusters (cases of one cluster may depend on each other)",
        "n": "cases or clusters",
        "delta": "mean of the paired changes of cases, in the metric's own unit; the same for both units",
        "low": "lower end of its 95 % interval",
        "high": "upper end of its 95 % interval",
        "se": "standard error of delta",
        "df": "degrees of freedom of the t interval",
        "design_effect": "variance of the mean over that of independent cases; above 1 when cases of a cluster move "
        "together",
        "used": "true for the interval that the comparison and the decision use",
        "warning": "doubt about this row, in words",
    },
)

AA_CHECK = Contract(
    name="A/A check",
    grain="verdict",
    key=("verdict",),
    columns={
        "verdict": "pass, fail or inconclusive; of a promotion: promote, retire or pending",
        "n": "draws that ended so",
        "draws": "draws made: control runs split at random, or drawn anew, so that nothing changed",
        "share": "share of the draws",
        "low": "lower end of its 95 % interval (Clopper-Pearson)",
        "high": "upper end of that interval",
        "blamed": "for fail: the cases called regressed, the most frequent first, with their number of draws",
        "n_cases": "wins that took part",
        "trials_baseline": "mean trials per win that stood for the baseline",
        "trials_candidate": "mean trials per win that stood for the candidate",
        "policy": "policy of the gate",
        "warning": "what the check leaves open, in words",
    },
)

LOOKS = Contract(
    name="looks",
    grain="case and look",
    key=("case_id", "look"),
    columns={
        "case_id": "case looked at",
        "look": "number of the look, from 1",
        "z": "evidence at this look, in standard errors, positive when worse",
        "bound": "value of z at which the case would be called regressed at this look; missing when it cannot be",
        "status": "status after this look",
        "n_candidate": "candidate runs in use at this look",
        "n_baseline": "control runs in use at this look",
        "metrics": "the metrics, taken together, whose evidence this is",
    },
)

FINGERPRINTS = Contract(
    name="run fingerprints",
    grain="run",
    key=("run_id",),
    columns={
        "run_id": "the run",
        "role": RUNS.columns["role"],
        "label": RUNS.columns["label"],
        "agent": "agent, by the fingerprint, else by the run",
        "version": "version, by the fingerprint, else by the run",
        "prompt": "prompt",
        "model": "model",
        "tools": "tools",
        "judge": "judge",
        "grader": "grader",
        "rules_hash": "hash of the rules that could be found",
        "other": "other fields of the fingerprint, as JSON",
        "recorded": "true when the run has a fingerprint",
        "same_as_baseline": "true when it is exactly the baseline's: the run is a control for it; missing when one of "
        "the two is not recorded",
        "differs": "the fields that differ, baseline → run",
    },
)
