"""A verdict with its reasons, and the one rule that turns an interval and a bar into met, unmet or unknown."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    import pandas as pd

State = Literal["met", "unmet", "unknown"]

CASE_STATUSES = ("regressed", "improved", "unchanged", "inconclusive", "skipped")
REGRESSION_VERDICTS = ("pass", "fail", "inconclusive")
GUARD_VERDICTS = ("promote", "retire", "pending")
PENDING_REASONS = (
    "no_matching_replayable_case",
    "replay_inconclusive",
    "candidate_not_exercised",
    "env_wait_timeout",
    "round_budget_exhausted",
    "trial_in_progress",
    "insufficient_evidence",
    "guard_incomplete",
    "thin_guard",
    "missing_data",
    "stale_control",
    "fingerprint_mismatch",
    "labels_missing",
)
EXIT_CODES = {"pass": 0, "promote": 0, "fail": 1, "retire": 1, "inconclusive": 3, "pending": 3}


def judge(low: float | None, high: float | None, bar: float, *, at_least: bool = False, at_most: bool = False) -> State:
    """Return the state of a check: where an interval lies against a bar.

    ``met`` if all of the interval is on the good side, ``unmet`` if all of it is on the bad side, else ``unknown``.
    A missing end is unknown on that side.

    Examples
    --------
    >>> judge(0.02, 0.08, 0.10, at_most=True)
    'met'
    >>> judge(0.12, 0.30, 0.10, at_most=True), judge(0.05, 0.30, 0.10, at_most=True)
    ('unmet', 'unknown')
    """
    if at_least == at_most:
        raise ValueError("judge() needs exactly one of at_least=True and at_most=True")
    lo, hi = _number(low), _number(high)
    if at_most:
        lo, hi, bar = (None if hi is None else -hi), (None if lo is None else -lo), -bar
    if lo is not None and lo >= bar:
        return "met"
    if hi is not None and hi < bar:
        return "unmet"
    return "unknown"


def _number(value: float | None) -> float | None:
    return None if value is None or value != value else float(value)  # NaN is not equal to itself


class Encoded(NamedTuple):
    """A part of the evidence that is strict, sorted JSON already."""

    text: str


def evidence_hash(*parts: Any) -> str:
    """Return the SHA-256 of `parts` as strict, sorted JSON: equal evidence, equal hash.

    Examples
    --------
    >>> evidence_hash({"b": 1, "a": 2}) == evidence_hash({"a": 2, "b": 1})
    True
    """
    texts = [
        part.text
        if isinstance(part, Encoded)
        else json.dumps(part, sort_keys=True, ensure_ascii=True, allow_nan=False, default=str)
        for part in parts
    ]
    return hashlib.sha256(f"[{', '.join(texts)}]".encode("ascii")).hexdigest()


@dataclass(frozen=True)
class Decision:
    """A verdict and why.

    Attributes
    ----------
    subject
        What was decided on: a run id, a rule id, a case id, a grader.
    guard_kind
        ``rule``, ``case`` or ``check``; None for a regression run.
    verdict
        ``pass | fail | inconclusive`` for a regression run, ``promote | retire | pending`` for a guard.
    reason
        One word of the closed set (guards), or the name of the check that decided.
    detail
        What the reason leaves open.
    reasons
        Sentences, the deciding one first.
    checks
        One row per check (`harnesskit.model.results.CHECKS`).
    runs_needed
        Further replays that would settle what is open; None when nothing is open or it is not known.
    policy
        The policy as plain data.
    evidence_hash
        SHA-256 of the evidence and the policy.
    """

    subject: str
    guard_kind: str | None
    verdict: str
    reason: str
    detail: str
    reasons: list[str]
    checks: pd.DataFrame = field(repr=False, compare=False)
    runs_needed: int | None
    policy: dict[str, Any] = field(repr=False)
    evidence_hash: str = field(repr=False)

    @property
    def exit_code(self) -> int:
        """0 pass or promote, 1 fail or retire, 3 inconclusive or pending."""
        return EXIT_CODES[self.verdict]

    def __str__(self) -> str:
        """Return the verdict and the first reason on one line."""
        first = self.reasons[0] if self.reasons else self.reason
        return f"{self.subject}: {self.verdict.upper()}: {first}"
