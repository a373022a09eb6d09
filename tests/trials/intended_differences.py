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


ENV_WAIT = "a plain crash or timeout is no environment wait: none of these functions signals, and no wait was granted"
SESSION = "the session of a replay that could not be scored is kept: it exists, and can be looked at"
IMPOSSIBLE = "5 of 2 baseline sessions cannot have breached: the rate 2.50 decides nothing"
UNKNOWN = "a status that nobody defined is not active: the rule cannot be found, so nothing exercises it"


def replay_verdict(theirs: dict[str, Any], script: dict[str, Step], calls: list[str]) -> dict[str, Any]:
    """The reference's verdict with ENV_WAIT and SESSION applied."""
    details = dict(theirs["details"])
    if "cases" not in details:
        return theirs
    cases = []
    for case in details["cases"]:
        do = script[case["case_id"]]["do"]
        session = case["session_id"]
        if do in ("no_trace", "failed_status", "disjoint"):
            session = f"re-{calls.index(case['case_id']) + 1:03d}-{case['case_id']}"
        outcome = "inconclusive" if case["outcome"] == "env_wait_timeout" else case["outcome"]
        cases.append({**case, "outcome": outcome, "session_id": session})
    details |= {"cases": cases, "env_wait_timeouts": 0}
    found = {**theirs, "details": details}
    if theirs["pending_reason"] == "env_wait_timeout":
        word, said = "replay_inconclusive", "no failing case produced comparable scores"
        if details["unexercised"]:
            word, said = "candidate_not_exercised", "the candidate was never read"
        found |= {"pending_reason": word, "reason": f"replay inconclusive: {said}"}
    return found


FORWARD = {
    ("messy", "r-x06"): (
        {
            "details": {"baseline_breached_sessions": 5, "baseline_sessions": 2},
            "outcome": "pending",
            "pending_reason": "missing_data",
            "reason": "forward-trial: the baseline says 5 of 2 sessions breached, which cannot be",
            "rule_id": "r-x06",
            "validator": "forward_trial",
        },
        IMPOSSIBLE,
    ),
}
"""Forward trials that are judged otherwise: our verdict, and why."""

NOT_EXERCISED = {("messy", rule): UNKNOWN for rule in ("r-x01", "r-x02", "r-x03")}
"""Rules that no replay can find here, while the reference takes them for active."""

MESSY_CASES = {
    "c-m12": ({"baseline_scores": {"task_completion": 0.4}}, "a score that is no number is no baseline"),
    "c-m13": ({"baseline_scores": {}, "status": "inconclusive"}, "an infinite score is no baseline"),
    "c-m14": ({"baseline_scores": {"task_completion": 0.4}}, "an infinite score is no baseline"),
    "c-m16": (
        {
            "baseline_scores": {},
            "deltas": {},
            "reason": "no score of the replay has a counterpart in the baseline",
            "status": "inconclusive",
        },
        "true, text and a score without a metric are no baseline",
    ),
    "c-m19": (
        {
            "deltas": {},
            "reason": "two files hold this id; which case is meant is not known",
            "replay_scores": {},
            "status": "skipped",
            "replay_session_id": None,
        },
        "an id in two files names no case",
    ),
    "c-m33": ({"status": "inconclusive"}, "it was replayed; it could not be scored"),
}
"""Results on the messy workspace that differ because its files are read otherwise."""

MESSY_READ = {"ours": {"c-m04"}, "theirs": {"None", "c-m31-second", "c-m43"}}
"""Cases that only one of the two loads; the reasons are those of reading (tests/reference/departures.py)."""
