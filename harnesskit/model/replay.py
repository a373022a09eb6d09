"""What a replay may return and how an attempt may end: the closed sets of statuses and reasons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from harnesskit.model.errors import HarnesskitError

ReplayStatus = Literal["scored", "inconclusive", "skipped", "error", "timeout"]
STATUSES: tuple[ReplayStatus, ...] = ("scored", "inconclusive", "skipped", "error", "timeout")

REASONS: dict[str, str] = {
    "no_replay_function": "no replay function was given",
    "no_replay_input": "the case has no replay input; attach one",
    "raised": "the replay raised an exception",
    "timed_out": "the replay took longer than its time limit",
    "env_wait_timeout": "the environment was not ready within its time limit",
    "bad_session_id": "the replay did not return a new session id",
    "no_scores": "the replayed session has no score",
    "scoring_failed": "the scorer raised an exception",
    "no_shared_metric": "no score of the replay has a counterpart in the baseline",
    "not_exercised": "the replay never read the candidate rule",
    "interrupted": "the run was stopped before the replay ended",
}
"""Reason of an attempt that is not scored, and what it means; free text follows after a colon."""


@dataclass(frozen=True)
class ReplayResult:
    """What a replay function may return instead of the new session id alone.

    Attributes
    ----------
    session_id
        The new session; never the original one, never one used before.
    output, steps
        What the agent answered, and the steps it took, as plain data.
    scores
        Metric to score, when the replay knows them itself; the scorer is then not asked.
    input_tokens, output_tokens, cost_usd
        What it cost.
    """

    session_id: str
    output: Any = None
    steps: Any = None
    scores: Mapping[str, float | None] | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None


class ReplayError(HarnesskitError, ValueError):
    """A replay function, or what it returned, cannot be used (the message says what was found)."""
