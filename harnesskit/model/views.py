"""The contracts of the views that join the tables of a workspace, the shapes that every measure takes."""

from __future__ import annotations

from harnesskit.model.contract import Contract
from harnesskit.model.frames import CASES, RUNS, SAMPLES, SCORES

CASE_SCORES = Contract(
    name="case_scores",
    grain="counting sample, metric and grader",
    key=("sample_id", "metric", "grader"),
    columns={
        **{
            c: (SAMPLES.columns | RUNS.columns | CASES.columns)[c]
            for c in ("sample_id", "run_id", "role", "arm", "case_id", "kind", "session_id", "cluster")
        },
        **{c: SAMPLES.columns[c] for c in ("trial", "pair", "round")},
        **{c: SCORES.columns[c] for c in ("metric", "grader", "grader_version", "value", "status", "reason")},
        **{c: SAMPLES.columns[c] for c in ("occurred_at", "candidate_surfaced")},
    },
)

BASELINES = Contract(
    name="baselines",
    grain="case and metric (and trial, for control runs)",
    key=("case_id", "metric", "source", "trial"),
    columns={
        "case_id": CASES.columns["case_id"],
        "kind": CASES.columns["kind"],
        "metric": SCORES.columns["metric"],
        "value": "captured score, or the score of one control trial",
        "source": "captured (biased: it is why the case was kept) or control (measured again without the change)",
        "trial": "trial of the control run; missing for a captured score",
        "n": "scored control trials of this case and metric; 1 for a captured score",
        "sd": "standard deviation over those trials; missing for fewer than two",
        "measured_at": "when it was measured, UTC",
    },
)

REPLAYS = Contract(
    name="replays",
    grain="replayed sample",
    key=("sample_id",),
    columns={
        **SAMPLES.columns,
        **{c: RUNS.columns[c] for c in ("role", "label", "rule_id", "agent", "version", "fingerprint")},
    },
)

ONLINE_SAMPLES = Contract(
    name="online_samples",
    grain="online sample and metric",
    key=("sample_id", "metric", "grader"),
    columns={
        "sample_id": SAMPLES.columns["sample_id"],
        "session_id": "production session",
        "trace_id": SAMPLES.columns["trace_id"],
        "cluster": SAMPLES.columns["cluster"],
        "occurred_at": SAMPLES.columns["occurred_at"],
        "metric": SCORES.columns["metric"],
        "grader": SCORES.columns["grader"],
        "value": SCORES.columns["value"],
        "status": SCORES.columns["status"],
        "reason": SCORES.columns["reason"],
        "source": "where the sample came from, e.g. history or the name given at import",
        "version": RUNS.columns["version"],
        "arm": SAMPLES.columns["arm"],
        "attributes": SAMPLES.columns["attributes"],
    },
)

VIEWS: dict[str, Contract] = {c.name: c for c in (CASE_SCORES, BASELINES, REPLAYS, ONLINE_SAMPLES)}
