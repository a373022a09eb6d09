"""The contracts of the frames that measures and decisions hand out."""

from __future__ import annotations

from harnesskit.model.contract import Contract
from harnesskit.model.frames import CASES, SCORES

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
        "n_inconclusive": "cases whose status is inconclusive",
        "n_skipped": "cases whose status is skipped",
        "baseline": "mean over the paired cases, baseline side",
        "candidate": "mean over the paired cases, candidate side",
        "delta": "mean of the paired changes, in the metric's own unit",
        "low": "lower end of the 95 % interval of delta",
        "high": "upper end of the 95 % interval of delta",
        "interval_kind": "how the interval was made; missing when there is none",
        "drop_bound": "one-sided 95 % bound of the mean drop, scaled to the metric's range and positive when worse",
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
