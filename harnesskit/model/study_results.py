"""The contracts of the frames of a study: pass rates over repeats, differences between arms, and what trials cost."""

from __future__ import annotations

from harnesskit.model.contract import Contract
from harnesskit.model.frames import SCORES

PASS_RATES = Contract(
    name="pass rates",
    grain="group and k",
    key=("metric", "k"),
    columns={
        "metric": SCORES.columns["metric"],
        "grader": "who scored it; there when one metric has several graders",
        "k": "trials drawn of each case",
        "pass_at_k": "mean over all cases of the chance that at least one of k trials passes; a case with fewer than k "
        "scored trials is not solved",
        "at_low": "lower end of its 95 % interval, cases (or clusters of cases) as the unit",
        "at_high": "upper end of that interval",
        "pass_hat_k": "mean over all cases of the chance that all of k trials pass; a case with fewer than k scored "
        "trials is not solved",
        "hat_low": "lower end of its 95 % interval",
        "hat_high": "upper end of that interval",
        "n_cases": "cases of the group, those without a scored trial included",
        "n_trials": "scored trials behind the row",
        "n_short": "cases with fewer than k scored trials: counted as not solved",
        "n_unscored": "trials without a score; neither pass nor fail, unless asked otherwise",
        "n_extra": "rows that repeat a trial (retries, a sample that stands twice): they are not further trials",
        "pass_at_k_enough": "pass_at_k over the cases with k trials only",
        "pass_hat_k_enough": "pass_hat_k over the cases with k trials only",
        "n_units": "cases or clusters behind the interval",
        "pass_at": "score from which a trial passes; missing when there is none",
        "note": "what to know about the row, in words",
    },
)

PASS_DIFFERENCES = Contract(
    name="pass differences",
    grain="group, arm and k",
    key=("metric", "baseline", "arm", "k"),
    columns={
        "metric": SCORES.columns["metric"],
        "grader": PASS_RATES.columns["grader"],
        "baseline": "arm that is compared with",
        "arm": "arm that is compared",
        "k": "trials drawn of each case",
        "at_baseline": "pass@k of the baseline over the cases compared",
        "at_arm": "pass@k of the arm over the cases compared",
        "at_delta": "mean over these cases of the change of pass@k",
        "at_low": "lower end of its 95 % interval over cases (over clusters when cases have them)",
        "at_high": "upper end of that interval",
        "hat_baseline": "pass^k of the baseline over the cases compared",
        "hat_arm": "pass^k of the arm over the cases compared",
        "hat_delta": "mean over these cases of the change of pass^k",
        "hat_low": "lower end of its 95 % interval",
        "hat_high": "upper end of that interval",
        "n_paired": "cases with k scored trials in both arms: those compared",
        "n_short": "cases in both arms with fewer than k scored trials in one: left out of the difference",
        "n_one_sided": "cases in one arm only: left out of the difference",
        "improved": "cases that pass more often in the arm, over the trials that both arms have",
        "worse": "cases that pass less often in the arm",
        "p_value": "two-sided exact p-value of improved against worse: McNemar's with one trial per case, the sign "
        "test over cases with more",
        "note": "what to know about the row, in words",
    },
)

TRIAL_COSTS = Contract(
    name="trial costs",
    grain="arm and quantity",
    key=("arm", "quantity"),
    columns={
        "arm": "arm of the trials",
        "quantity": "cost_usd, duration_s, input_tokens or output_tokens",
        "n_cases": "cases with a known value",
        "n_trials": "trials with a known value",
        "n_missing": "trials without one; they are in no figure of the row",
        "mean": "mean over cases of the mean of their trials",
        "low": "lower end of its 95 % interval over cases",
        "high": "upper end of that interval",
        "median": "median over trials",
        "p90": "90th percentile over trials",
        "total": "sum over all attempts, retries included: what was spent",
        "baseline": "arm that is compared with; missing in its own rows",
        "delta": "mean over the cases of both arms of the change of the mean",
        "delta_low": "lower end of its 95 % interval",
        "delta_high": "upper end of that interval",
        "n_paired": "cases in both arms",
    },
)
