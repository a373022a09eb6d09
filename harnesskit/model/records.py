"""Records of a workspace that people handle one at a time: rules and notices."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

RuleStatus = Literal["candidate", "active", "retired", "unknown"]
Applicability = Literal["global", "topical", "task"]
Severity = Literal["breach", "trend", "needs_human", "unknown"]
NoticeStatus = Literal["pending", "acknowledged", "unknown"]
ResolutionKind = Literal["candidate", "duplicate", "already_covered", "no_proposal", "unactionable"]


class RuleRecord(BaseModel):
    """The latest record of one rule: the columns of the table ``rules``, and the trial as it stands in the file.

    Examples
    --------
    >>> rule = RuleRecord(rule_id="r-1", status="candidate")
    >>> rule.scope, rule.tags, rule.baseline_sessions
    ('global', (), None)
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    rule_id: str
    status: RuleStatus
    metric: str | None = None
    scope: str = "global"
    applicability: Applicability = "global"
    tags: tuple[str, ...] = ()
    failure_signatures: tuple[str, ...] = ()
    rule: str | None = None
    rationale: str | None = None
    source_notice_id: str | None = None
    created_at: datetime | None = None
    trial_started_at: datetime | None = None
    baseline_sessions: int | None = None
    baseline_breached_sessions: int | None = None
    baseline_window: int | None = None
    observed_sessions: tuple[str, ...] = ()
    breached_sessions: tuple[str, ...] = ()
    replay_attempts: int | None = None
    trial_verdict: str | None = None
    records: int = 1
    trial: dict[str, Any] | None = None


class NoticeRecord(BaseModel):
    """One notice: the columns of the table ``notices``; `metrics` and `resolution` are JSON text.

    Examples
    --------
    >>> NoticeRecord(notice_id="n-1", severity="breach", status="pending").metrics
    '[]'
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    notice_id: str
    session_id: str | None = None
    created_at: datetime | None = None
    turn_index: int | None = None
    severity: Severity
    signatures: tuple[str, ...] = ()
    status: NoticeStatus
    summary: str | None = None
    metrics: str = "[]"
    flagged_traces: tuple[str, ...] = ()
    recommended_scope: str | None = None
    applicability_hint: Applicability | None = None
    resolution: str | None = None
    resolution_kind: ResolutionKind | None = None
    resolution_rule_id: str | None = None
    observe_only: bool = False
    file: str | None = None
