"""What the hook did with a turn, and what it needs of the eval set and the journal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Protocol

from harnesskit.model.case import EvalCase


class CaseSink(Protocol):
    """Where captured cases go: the eval set."""

    def capture(
        self,
        *,
        session_id: str,
        kind: Literal["failure", "win"],
        signature: tuple[str, ...] = (),
        baseline_scores: dict[str, float] | None = None,
        replay_input: Any = None,
        notes: str = "",
    ) -> EvalCase | None:
        """Store a case; None when the set is full."""
        ...


class Append(Protocol):
    """Appends one event to the journal."""

    def __call__(self, event_type: str, /, **fields: Any) -> None:
        """Append the event, and return when it is on disk."""
        ...


@dataclass(frozen=True)
class TurnOutcome:
    """What the hook did with one turn.

    Attributes
    ----------
    status
        ``scored``, ``unscored`` (scoring failed: says nothing about the session) or ``skipped`` (not looked at).
    reason
        Why a turn is not scored, or why an alert led to no notice.
    signatures
        Conditions that alerted; empty for a healthy turn.
    notice_id, case_id
        The notice posted (or only journaled, when observing) and the case captured, if any.
    """

    session_id: str
    turn_index: int
    status: Literal["scored", "unscored", "skipped"]
    reason: str = ""
    signatures: tuple[str, ...] = ()
    severity: Literal["breach", "trend", "needs_human"] | None = None
    notice_id: str | None = None
    case_id: str | None = None
