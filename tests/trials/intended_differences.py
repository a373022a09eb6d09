"""Where the reference policy answers otherwise than the reference harness, on purpose: what, ours, theirs, and why.

Every row is held to: the tests derive our answer from the reference's by these rows, and by nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from trials.scripted_replays import LIMIT_S

Result = dict[str, Any]
Step = dict[str, Any]


class Difference(NamedTuple):
    """One difference in the result of one case."""

    do: str
    ours: str
    theirs: str
    why: str
    change: Callable[[Result, Step], Result]


def _inconclusive(reason: str | None = None, **more: Any) -> Callable[[Result, Step], Result]:
    def change(result: Result, step: Step) -> Result:
        said = result["reason"] if reason is None else reason.format(**result)
        return {**result, "status": "inconclusive", "reason": said, **more}

    return change


def _boom(result: Result, step: Step) -> Result:
    return {
        **result,
        "status": "inconclusive",
        "reason": result["reason"].replace("failed: ", "failed: RuntimeError: "),
    }


def _partial(result: Result, step: Step) -> Result:
    left = sorted(set(result["baseline_scores"]) - set(result["replay_scores"]))
    return {**result, "reason": f"not scored: {', '.join(left)}"}


def _judged(result: Result, step: Step) -> Result:
    """The result of a plain function, which the reference cannot call: its scores, judged by the margin of .05."""
    base, scores = result["baseline_scores"], step["scores"]
    deltas = {metric: scores[metric] - base[metric] for metric in base if metric in scores}
    status = "unchanged"
    if any(delta >= 0.05 for delta in deltas.values()):
        status = "improved"
    if any(delta <= -0.05 for delta in deltas.values()):
        status = "regressed"
    found = {"deltas": deltas, "replay_scores": scores, "status": status, "reason": ""}
    return {**result, **found, "replay_session_id": ...}  # the reference never got one


TIMED_OUT = _inconclusive(f"replay failed: timed out after {LIMIT_S:g} s")
NO_TEXT = {"replay_session_id": None, "replay_scores": {}, "deltas": {}}
BAD_SESSION = "replay failed: the replay must return the id of its new session as text; found {}"

CASES = (
    Difference("timeout", "inconclusive, and how long", "skipped, empty reason", "a timeout is no skip", TIMED_OUT),
    Difference(
        "cancel_inside", "inconclusive, and how long", "skipped, empty reason",
        "a function that turns its cancellation into an error ran out of time all the same", TIMED_OUT,
    ),
    Difference(
        "raise", "inconclusive, with the type", "skipped, text only",
        "a crash is no skip; many exceptions have no text", _boom,
    ),
    Difference(
        "sync", "replayed", "skipped: cannot be awaited", "a plain function is a replay function too", _judged,
    ),
    Difference(
        "none", "inconclusive: no session id", "skipped, session 'None'",
        "None is no session", _inconclusive(BAD_SESSION.format("None"), **NO_TEXT),
    ),
    Difference(
        "int", "inconclusive: no session id", "judged, session '7'",
        "a number is no session id: whose session 7 is scored is not known",
        _inconclusive(BAD_SESSION.format("7 (int)"), **NO_TEXT),
    ),
    *(
        Difference(do, "inconclusive", "skipped", "it was replayed; it could not be scored", _inconclusive())
        for do in ("no_trace", "failed_status", "disjoint")
    ),
    Difference(
        "partial", "says which metrics were not scored", "silent",
        "a metric that is not scored could hide a collapse", _partial,
    ),
)  # fmt: skip

RUNS = {
    "no_replay": ("not clean: nothing was compared", "clean", "nothing replayed proves nothing"),
}
"""Differences of whole runs: what is ours, what is theirs, and why."""


class VerdictDifference(NamedTuple):
    """One difference in the verdict on rules."""

    workspaces: str
    runs: str
    rules: str
    ours: str
    theirs: str
    why: str
