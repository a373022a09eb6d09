"""The evaluation of one turn: its scores, what alerts, and the forms it takes in notices, dumps and cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from harnesskit.model.text import shorten, visible

Severity = Literal["breach", "trend"]
SHOWN_TRACES = 5
"""Traces that a summary names; the notice lists them all."""


@dataclass(frozen=True)
class LiveScore:
    """One metric of one trace in one turn.

    Attributes
    ----------
    value
        None when unscored; `reason` then says why.
    below
        Whether the value lies on the bad side of the threshold (strictly).
    breached
        Whether that counts: outcome (tier 0), and tier 2 once the gate has fired.
    stalled, regressed
        What the gate said (tier 1).
    """

    metric: str
    value: float | None
    threshold: float
    tier: int
    trace_id: str = ""
    reason: str = ""
    below: bool = False
    breached: bool = False
    stalled: bool = False
    regressed: bool = False
    pending: bool = False

    @property
    def conditions(self) -> list[str]:
        """What alerts about this score: breach, stall, regression."""
        flags = (("breach", self.breached), ("stall", self.stalled), ("regression", self.regressed))
        return [name for name, on in flags if on]

    def as_dumped(self) -> dict[str, Any]:
        """Return the score as an evaluation dump has it."""
        return {
            "metric": self.metric,
            "value": self.value,
            "threshold": self.threshold,
            "breached": self.breached,
            "below_threshold": self.below,
            "stalled": self.stalled,
            "regressed": self.regressed,
            "pending": self.pending,
            "reason": self.reason,
            "trace_id": self.trace_id,
            "tier": self.tier,
            "flagged_traces": [],
            "aggregation": {},
        }

    def as_noticed(self) -> dict[str, Any]:
        """Return the score as a notice lists it."""
        return {
            "name": self.metric,
            "value": self.value,
            "threshold": self.threshold,
            "reason": self.reason,
            "conditions": self.conditions,
            "trace_id": self.trace_id,
            "tier": self.tier,
        }


@dataclass(frozen=True)
class TurnReport:
    """Everything that was scored in one turn, traces oldest first, the outcome last.

    Examples
    --------
    >>> low = LiveScore("tool_correctness", 0.1, 0.5, tier=2, trace_id="t", below=True, breached=True)
    >>> report = TurnReport("s-1", 1, (low,), gate_fired=True)
    >>> report.signatures, report.severity
    (('breach:tool_correctness',), 'breach')
    >>> report.summary(200)
    'tool_correctness=0.10 [breach, threshold 0.50]; flagged traces: t'
    """

    session_id: str
    turn_index: int
    scores: Sequence[LiveScore]
    gate_fired: bool = False
    scope_hints: Sequence[Mapping[str, Any]] = ()

    @cached_property
    def alerting(self) -> list[LiveScore]:
        """The scores that alert, in order."""
        return [score for score in self.scores if score.conditions]

    @property
    def scored(self) -> bool:
        """Whether at least one metric has a value; a turn without one is unscored, never healthy."""
        return any(score.value is not None for score in self.scores)

    @property
    def unscored_metrics(self) -> frozenset[str]:
        """The metrics that were asked for and have no value in this turn."""
        named = {score.metric for score in self.scores}
        return frozenset(named - {score.metric for score in self.scores if score.value is not None})

    @property
    def severity(self) -> Severity:
        """``breach`` when a score breached, else ``trend``."""
        return "breach" if any(score.breached for score in self.scores) else "trend"

    @cached_property
    def signatures(self) -> tuple[str, ...]:
        """The conditions of the turn, ``condition:metric``, sorted and each once."""
        return tuple(sorted({f"{name}:{score.metric}" for score in self.alerting for name in score.conditions}))

    @property
    def flagged_traces(self) -> list[str]:
        """The traces with a score that alerts, in order."""
        return list(dict.fromkeys(score.trace_id for score in self.alerting if score.trace_id))

    @property
    def breakdown(self) -> dict[str, dict[str, float]]:
        """Trace to metric to value; scores without a trace stand under the empty name."""
        found: dict[str, dict[str, float]] = {}
        for score in self.scores:
            if score.value is not None:
                found.setdefault(score.trace_id, {})[score.metric] = score.value
        return found

    @property
    def baseline(self) -> dict[str, float]:
        """Metric to its last value in the turn: the baseline of a case captured from it."""
        return {score.metric: score.value for score in self.scores if score.value is not None}

    def summary(self, limit: int) -> str:
        """Return one line about what alerts, in at most `limit` characters; what cannot be seen is named."""
        parts = [
            f"{score.metric}={score.value:.2f} [{'+'.join(score.conditions)}, threshold {score.threshold:.2f}]"
            for score in self.alerting
            if score.value is not None  # what has no value never alerts
        ]
        if self.flagged_traces:
            parts.append(f"flagged traces: {', '.join(self.flagged_traces[:SHOWN_TRACES])}")
        line = visible("; ".join(parts))
        return shorten(line, limit) if limit > 0 else line

    def as_dumped(self) -> dict[str, Any]:
        """Return the evaluation dump."""
        return {
            "session_id": self.session_id,
            "turn_index": self.turn_index,
            "any_breach": self.severity == "breach",
            "any_alert": bool(self.alerting),
            "gate_breached": self.gate_fired,
            "flagged_traces": self.flagged_traces,
            "signal_breakdown": self.breakdown,
            "scores": [score.as_dumped() for score in self.scores],
        }
