"""The verdict on a candidate rule, in the reference's terms."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

import pandas as pd

from harnesskit.model.decision import EXIT_CODES, Decision, evidence_hash
from harnesskit.model.results import CHECKS

Outcome = Literal["promote", "retire", "pending"]
Validator = Literal["replay", "forward_trial"]


@dataclass(frozen=True)
class Verdict:
    """What one validator says of one rule.

    Attributes
    ----------
    rule_id
        The rule.
    outcome
        ``promote``, ``retire`` or ``pending``.
    validator
        ``replay`` or ``forward_trial``.
    reason
        One sentence, as the reference words it.
    pending_reason
        A word of the closed set when pending, else None.
    details
        The evidence, as the reference writes it.
    replay
        The pending verdict of the replays that came before a forward trial in the same round.
    applied
        Whether the rule was promoted or retired by it.
    """

    rule_id: str
    outcome: Outcome
    validator: Validator
    reason: str
    pending_reason: str | None = None
    details: dict[str, Any] = field(default_factory=dict)
    replay: Verdict | None = None
    applied: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as the reference writes it."""
        names = ("rule_id", "outcome", "validator", "reason", "pending_reason", "details")
        return {name: getattr(self, name) for name in names}

    @property
    def decision(self) -> Decision:
        """The verdict as a `Decision` on a guard of kind ``rule``."""
        policy = {"name": "reference", "validator": self.validator}
        state = {"promote": "met", "retire": "unmet", "pending": "unknown"}[self.outcome]
        row: dict[str, Any] = dict.fromkeys(CHECKS.columns)
        row |= {"check": self.validator, "state": state, "n": _evidence_size(self.details), "note": self.reason}
        earlier = [] if self.replay is None else [self.replay.reason]
        return Decision(
            subject=self.rule_id,
            guard_kind="rule",
            verdict=self.outcome,
            reason=self.pending_reason or self.validator,
            detail="harm" if self.outcome == "retire" and "regression on" in self.reason else "",
            reasons=[self.reason, *earlier],
            checks=pd.DataFrame([row], columns=list(CHECKS.columns)).astype(
                {"estimate": float, "low": float, "high": float, "bar": float, "n": "Int64"}
            ),
            runs_needed=None,
            policy=policy,
            evidence_hash=evidence_hash(self.details, policy),
        )


def _evidence_size(details: dict[str, Any]) -> int:
    cases = details.get("cases")
    return len(cases) if isinstance(cases, list) else int(details.get("observed_sessions") or 0)


def verdicts_exit_code(verdicts: Iterable[Verdict]) -> int:
    """Return the exit code of a round: 1 when a rule was retired, else 3 when one is pending or there is none, else 0.

    Examples
    --------
    >>> verdicts_exit_code([]), verdicts_exit_code([Verdict("r-1", "promote", "replay", "")])
    (3, 0)
    """
    codes = {EXIT_CODES[verdict.outcome] for verdict in verdicts} or {3}
    return 1 if 1 in codes else max(codes)
