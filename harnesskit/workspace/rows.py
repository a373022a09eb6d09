"""Rows of the tables runs, samples, scores and events, as readers hand them to the store.

Fields are the columns of the contracts in `harnesskit.model.frames`, in order; JSON columns are text, times are aware
and UTC.
"""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

REFERENCE_GRADER = "harness"
"""Grader of the scores found in the reference harness's own files, which do not say who scored."""


class RunRow(NamedTuple):
    """One row of the table ``runs``."""

    run_id: str
    role: str
    label: str | None = None
    rule_id: str | None = None
    agent: str | None = None
    version: str | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    parameters: str | None = None
    policy: str | None = None
    fingerprint: str | None = None


class SampleRow(NamedTuple):
    """One row of the table ``samples``."""

    sample_id: str
    run_id: str
    case_id: str | None = None
    session_id: str | None = None
    trace_id: str | None = None
    turn_index: int | None = None
    arm: str | None = None
    trial: int | None = None
    attempt: int = 1
    counts: bool = True
    pair: str | None = None
    round: int | None = None
    cluster: str | None = None
    occurred_at: datetime | None = None
    status: str = "scored"
    reason: str | None = None
    input: str | None = None
    output: str | None = None
    steps: str | None = None
    error: str | None = None
    duration_s: float | None = None
    env_wait_s: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    candidate_surfaced: bool | None = None
    attributes: str | None = None


class ScoreRow(NamedTuple):
    """One row of the table ``scores``."""

    sample_id: str
    metric: str
    grader: str
    grader_version: str | None
    value: float | None
    status: str
    reason: str | None


class EventRow(NamedTuple):
    """One row of the table ``events``."""

    offset: int
    line: int | None
    type: str
    ts: datetime | None
    rule_id: str | None
    case_id: str | None
    session_id: str | None
    payload: str


def score_row(sample_id: str, metric: str, value: float | None, reason: str | None, grader: str) -> ScoreRow:
    """Return the score of one sample and metric: ``ok`` with a value, ``unscored`` with the reason without one."""
    return ScoreRow(sample_id, metric, grader, None, value, "unscored" if value is None else "ok", reason)
