"""Scores of one trace as a scorer of traces returns them: the value, or why there is none."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable


@dataclass(frozen=True)
class MetricScore:
    """One metric of one trace.

    Attributes
    ----------
    value
        A finite number; None when unscored.
    threshold
        What the scorer itself calls the bar; None when it names none.
    reason
        The grader's explanation, or why there is no value.
    pending
        The scorer was still working when it was last asked.
    """

    value: float | None
    threshold: float | None = None
    reason: str = ""
    pending: bool = False


@dataclass(frozen=True)
class TraceScores:
    """The scores of one trace, by metric; an empty trace id means that no trace is known."""

    trace_id: str
    scores: Mapping[str, MetricScore] = field(default_factory=dict)


@runtime_checkable
class TraceScorer(Protocol):
    """A scorer that is asked tier by tier, so that the expensive metrics are paid for only when the gate fires."""

    def new_traces(self, session_id: str, known: Collection[str]) -> list[str]:
        """Return the completed traces of a session that are not in `known`, oldest first."""
        ...

    def score_traces(self, trace_ids: Sequence[str], metrics: Sequence[str]) -> list[TraceScores]:
        """Return the scores of each trace, in the order of `trace_ids`."""
        ...
