"""The contracts of the frames that set both arms of a trial side by side."""

from __future__ import annotations

from harnesskit.model.contract import Contract

ARM_LEDGER = Contract(
    name="arm ledger",
    grain="arm and kind of case",
    key=("arm", "kind"),
    columns={
        "arm": "control bank (runs from before the trial), control or candidate",
        "kind": "failure or win",
        "n_cases": "cases run",
        "n_runs": "runs made",
        "n_scored": "runs that gave scores",
        "n_failed": "runs that ended in an error or a timeout",
        "n_other": "runs that proved nothing: inconclusive, skipped",
        "n_read": "runs in which the guard was read; missing when it is not known",
    },
)

ARM_COSTS = Contract(
    name="arm costs",
    grain="quantity",
    key=("quantity",),
    columns={
        "quantity": "duration, tokens in or tokens out of a run, or cost of 1,000 runs",
        "unit": "s, tokens or USD",
        "n_cases": "cases with runs of both kinds; only these are compared",
        "control": "mean over cases without the guard",
        "candidate": "mean over cases with it",
        "delta": "candidate minus control",
        "low": "lower end of its 95 % interval over cases",
        "high": "upper end of its 95 % interval over cases",
    },
)

CASE_EFFECTS = Contract(
    name="case effects",
    grain="case",
    key=("case_id",),
    columns={
        "case_id": "failing case",
        "metric": "metric compared",
        "role": "gave rise to it, or other",
        "n_control": "scored runs without the guard",
        "n_candidate": "scored runs with it",
        "control": "mean score without the guard",
        "candidate": "mean score with it",
        "delta": "candidate minus control, in the metric's own unit",
    },
)
