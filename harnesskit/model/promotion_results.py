"""The contracts of the frames that the review of a guard hands out."""

from __future__ import annotations

from harnesskit.model.contract import Contract
from harnesskit.model.results import CHECKS

PROMOTION_EVIDENCE = Contract(
    name="promotion evidence",
    grain="check",
    key=("check",),
    columns={
        **CHECKS.columns,
        "metric": "metric, or the metrics together, that the check is about; missing when it is about none",
        "interval_kind": "how the interval was made; missing when there is none",
        "scale": "scale of `evidence` and `bound`: z, e (e-value), lambda (likelihood ratio of harm), chance or share",
        "evidence": "where the evidence stands on that scale at the last look",
        "bound": "value at which the check is decided; missing when it cannot be",
        "n_control": "scored control runs behind it, the bank included",
        "n_candidate": "scored candidate runs behind it",
        "n_cases": "cases behind it",
        "looks": "times the evidence was looked at so far",
        "runs_needed": "further replays that would about settle it; missing when settled or not known",
        "reason": "word of the closed set that the verdict gets when this check decides it; missing when none",
        "policy": "policy the check was made under",
    },
)

EVIDENCE_PATH = Contract(
    name="evidence path",
    grain="check and look",
    key=("check", "look"),
    columns={
        "check": "benefit, futility or harm",
        "look": "number of the look, from 1",
        "replays": "replays spent up to this look, both arms, without the bank",
        "n_control": "scored control runs so far, the bank included",
        "n_candidate": "scored candidate runs so far",
        "estimate": "mean change so far on the common scale, positive is better",
        "scale": "z, e, lambda or share (of its bound)",
        "evidence": "where the evidence stands on that scale",
        "bound": "where it must stand to decide at this look",
        "decided": "true at the look that decided",
    },
)

GUARD_WINS = Contract(
    name="guard wins",
    grain="win",
    key=("case_id",),
    columns={
        "case_id": "protected win",
        "replayed": "whether the candidate was replayed on it",
        "n_control": "scored control runs, the bank included; a captured score counts as one where it is all there is",
        "n_candidate": "scored candidate runs",
        "delta": "mean change over the metrics on the common scale, positive is better",
        "low": "lower end of its interval",
        "high": "upper end of its interval",
        "harm": "likelihood ratio of harm against no change, 1 when not replayed; `classic`: largest z of a drop",
        "baseline_source": "control, captured or none",
        "note": "what to know of this win; missing when nothing",
    },
)

PAIRS = Contract(
    name="replay pairs",
    grain="control run and candidate run of a case",
    key=("case_id", "control_sample", "candidate_sample"),
    columns={
        "case_id": "case replayed",
        "kind": "failure or win",
        "metric": "metric compared",
        "control": "score of the control run",
        "candidate": "score of the candidate run",
        "delta": "candidate minus control on the common scale, positive is better",
        "read": "whether the candidate run read the rule; missing when not known",
        "control_sample": "sample of the control run",
        "candidate_sample": "sample of the candidate run",
        "control_output": "output of the control run",
        "candidate_output": "output of the candidate run",
        "input": "input of the case",
    },
)

GUARDS = Contract(
    name="guards",
    grain="guard",
    key=("id",),
    columns={
        "id": "rule id, case id, or grader",
        "kind": "rule, case or check",
        "verdict": "promote, retire or pending",
        "reason": "word of the closed set, or the check that decided",
        "runs_needed": "further replays (sessions, for a check) that would about settle it; missing when not known",
        "cost_estimate": "what these would cost at the mean cost of a stored replay; missing when no cost is known",
        "looks": "times the evidence was looked at so far",
        "last_decision": "newest signed decision about it; missing when none",
        "status": "status of the rule or case in the workspace, in its own words",
        "note": "first sentence of the verdict",
    },
)
