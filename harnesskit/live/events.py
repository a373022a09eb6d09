"""The end of a turn as the agent's code reports it: read, and refused with a reason when it cannot be used."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from harnesskit.model.errors import HarnesskitError
from harnesskit.replays.scoring import as_score
from harnesskit.replays.trace_scores import MetricScore, TraceScores
from harnesskit.workspace.rules import APPLICABILITIES

MAX_HINTS = 16


class TurnEventError(HarnesskitError, ValueError):
    """The event of a turn's end cannot be used; the text says what was found."""


class TurnEvent(NamedTuple):
    """The end of one turn.

    Attributes
    ----------
    end_state
        Where the turn ended, a shallow copy; None when it brought none, or an empty one.
    traces
        The scores that came with it, traces oldest first; None when a scorer is to be asked.
    scope_hints
        Scopes that a rule against what alerts may belong to: key, description, applicability, recommended.
    """

    session_id: str
    turn_index: int | None
    end_state: Any
    traces: Sequence[TraceScores] | None
    scope_hints: Sequence[Mapping[str, Any]] = ()


def read_turn(event: Any) -> TurnEvent:
    """Return the event of a turn's end.

    Parameters
    ----------
    event
        A mapping with ``session_id`` and, all optional, ``turn_index``, ``end_state`` (any JSON value), ``scores``
        (metric to value, or to ``{"value": …, "threshold": …, "reason": …}``) with ``trace_id``, or ``traces`` (a list
        of mappings with ``trace_id`` and ``scores``, oldest first), ``scope_hints`` (a list of mappings with ``key``,
        ``description``, ``applicability`` and ``recommended``). Other keys are the caller's own.

    Raises
    ------
    TurnEventError
        There is no session id, or scores that are none.

    Examples
    --------
    >>> turn = read_turn({"session_id": "s-1", "end_state": {}, "scores": {"coherence": 0.9}})
    >>> turn.end_state is None, turn.traces[0].scores["coherence"].value
    (True, 0.9)
    """
    if not isinstance(event, Mapping):
        raise TurnEventError(f"on_turn_end() needs a mapping with session_id; found {type(event).__name__}.")
    session_id = event.get("session_id")
    if not isinstance(session_id, str) or not session_id:
        raise TurnEventError(f"on_turn_end() needs a session_id that is text and not empty; found {session_id!r}.")
    index = event.get("turn_index")
    if index is not None and (not isinstance(index, int) or isinstance(index, bool) or index < 0):
        raise TurnEventError(f"turn_index must be a whole number from 0 up; found {index!r}.")
    state = event.get("end_state")
    kept = copy.copy(state) if _holds(state) else None
    return TurnEvent(session_id, index, kept, read_traces(event), read_hints(event.get("scope_hints")))


def read_traces(event: Mapping[str, Any]) -> list[TraceScores] | None:
    """Return the scores in an event; None when it brings none.

    Raises
    ------
    TurnEventError
        ``scores`` or ``traces`` is something else.
    """
    traces = event.get("traces")
    if traces is None and event.get("scores") is None:
        return None
    if traces is None:
        traces = [{"trace_id": event.get("trace_id"), "scores": event["scores"]}]
    if not isinstance(traces, Sequence) or isinstance(traces, str) or not traces:
        raise TurnEventError(f"traces must be a list of mappings with trace_id and scores; found {traces!r:.80}.")
    return [_trace(trace) for trace in traces]


def read_hints(hints: Any) -> list[Mapping[str, Any]]:
    """Return the usable ones of some scope hints, at most `MAX_HINTS`: mappings with a key that is text.

    Examples
    --------
    >>> read_hints([{"key": "refunds", "recommended": True}, "refunds"])
    [{'key': 'refunds', 'description': '', 'applicability': 'topical', 'recommended': True}]
    """
    listed = hints if isinstance(hints, (list, tuple)) else ()
    usable = [hint for hint in listed if isinstance(hint, Mapping) and isinstance(hint.get("key"), str) and hint["key"]]
    return [
        {
            "key": hint["key"],
            "description": str(hint.get("description", "")),
            "applicability": hint["applicability"] if hint.get("applicability") in APPLICABILITIES else "topical",
            "recommended": hint.get("recommended") is True,
        }
        for hint in usable[:MAX_HINTS]
    ]


def _trace(trace: Any) -> TraceScores:
    scores = trace.get("scores") if isinstance(trace, Mapping) else None
    if not isinstance(scores, Mapping):
        raise TurnEventError(f"scores must be a mapping of metric to number; found {type(scores).__name__}.")
    odd = [name for name in scores if not isinstance(name, str) or not name]
    if odd:
        raise TurnEventError(f"a metric must be named by text; found {odd[0]!r}.")
    trace_id = trace.get("trace_id")
    return TraceScores("" if trace_id is None else str(trace_id), {name: _one(scores[name]) for name in scores})


def _one(found: Any) -> MetricScore:
    if isinstance(found, MetricScore):
        return found
    given = found if isinstance(found, Mapping) else {"value": found}
    value, why = as_score(given.get("value"))
    said = given.get("reason")
    reason = said if isinstance(said, str) else ""
    return MetricScore(value, as_score(given.get("threshold"))[0], reason or why or "")


def _holds(state: Any) -> bool:
    """Whether an end state is worth keeping; 0 and false are values, an empty collection or text is none."""
    return state is not None and not (hasattr(state, "__len__") and len(state) == 0)
