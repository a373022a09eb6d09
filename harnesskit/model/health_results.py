"""The contracts of the frames on the health of an eval set: its cases, what happened to each, and what they cover."""

from __future__ import annotations

from harnesskit.model.contract import Contract
from harnesskit.model.frames import CASES, RUNS

ACTIONS = (
    "attach_input", "retire", "demote", "review", "repair", "replay", "re-baseline", "try_as_win", "keep",
)  # fmt: skip
"""What to do with a case, the most pressing first."""
COVERAGE_ACTIONS = ("add", "attach_input", "keep")
TOO_FEW = "too few runs to say"
STABILITIES = ("flaky", "steady", TOO_FEW)
INFORMS = ("tells", "says nothing", TOO_FEW)
EVENTS = ("born", "broke", "fixed", "flaky", "held", "not scored")
STATES = ("pass", "fail", "mixed", "none")

CASE_TIMELINE = Contract(
    name="case timeline",
    grain="case, run and arm",
    key=("case_id", "run_id", "arm"),
    columns={
        "case_id": CASES.columns["case_id"],
        "run_id": RUNS.columns["run_id"],
        "role": RUNS.columns["role"],
        "arm": "condition inside the run",
        "at": "time of the first trial of the case in the run, UTC",
        "n": "trials that pass or fail: every metric with a threshold scored, or one of them failed",
        "passed": "trials in which every metric with a threshold reached it",
        "n_unscored": "trials that are neither, because a score is missing",
        "state": "pass (all trials), fail (none), mixed, or none (no trial could be judged)",
        "event": "born (first seen), broke, fixed, flaky (mixed), held, or not scored: against the last "
        "run whose trials all agreed",
    },
)

CORPUS_HEALTH = Contract(
    name="corpus health",
    grain="case",
    key=("case_id",),
    columns={
        "case_id": CASES.columns["case_id"],
        "kind": CASES.columns["kind"],
        "action": "what to do: attach_input, retire, demote, review, repair, replay, re-baseline, try_as_win or keep",
        "reason": "why, in words, with the runs behind it",
        "created_at": CASES.columns["created_at"],
        "age_days": "days from its capture to the time the table is made for",
        "replayable": CASES.columns["replayable"],
        "signature_key": CASES.columns["signature_key"],
        "timeline": "state after each run, oldest first, the last twelve: ✓ pass, ✗ fail, ~ mixed, · not scored",
        "last_event": "last event of its timeline",
        "last_run": "newest run that judged it; missing when it was never replayed",
        "last_at": "when that run judged it, UTC",
        "n_runs": "runs that judged it, its capture not counted",
        "n_trials": "trials of these runs that pass or fail",
        "passed": "trials of these that pass",
        "n_unscored": "trials of these runs without a verdict, because a score is missing",
        "pass_low": "lower end of the 95 % interval of its pass rate over all of these runs (Clopper-Pearson)",
        "pass_high": "upper end of that interval; missing without a trial",
        "flip_rate": "chance that two trials of one run disagree, estimated over the runs with two trials or more",
        "n_repeats": "trials of the runs with two trials or more: what flip_rate and stability rest on",
        "stability": "flaky, steady, or too few runs to say",
        "information": "expected 4 p (1 - p) of its pass rate p under a flat prior: 1 tells most, 0 nothing",
        "informs": "tells (both outcomes seen), says nothing (always the same, at least 80 % of the time with 95 % "
        "confidence), or too few runs to say",
        "noise_metric": "metric that scatters most between trials of one run, in units of its range",
        "noise_sd": "standard deviation of that metric between trials of one run, in its own unit",
        "noise_df": "degrees of freedom behind it",
        "baseline_source": "control, captured, or none",
        "baseline_at": "when that baseline was measured, UTC",
        "duplicate_of": "older case of the same kind with exactly the same input",
        "similar_to": "case with the same signature and nearly the same words",
    },
)

COVERAGE = Contract(
    name="coverage",
    grain="slice value",
    key=("by", "value"),
    columns={
        "by": "traffic (all of it), signature, or the slice",
        "value": "signature as JSON, or value of the slice",
        "action": "add, attach_input or keep",
        "reason": "why, in words",
        "n_sessions": "sessions of the traffic",
        "share": "share of the scored sessions (of all sessions for a slice)",
        "low": "lower end of its 95 % interval, users as clusters where they are known",
        "high": "upper end of that interval",
        "n_cases": "cases that stand for it",
        "n_replayable": "of these, replayable ones",
        "n_failures": "of these, failures",
        "n_wins": "of these, wins",
    },
)
