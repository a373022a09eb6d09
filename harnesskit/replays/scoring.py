"""Scores of a replayed session: what a scorer, a verifier or the replay itself says, checked value by value."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from numbers import Real
from typing import Any, NamedTuple

from harnesskit.model.case import EvalCase
from harnesskit.workspace.fields import read_score
from harnesskit.workspace.problems import shown
from harnesskit.workspace.reading import clean_text
from harnesskit.workspace.rows import ScoreRow, score_row

Scorer = Callable[[str], Any]
"""Takes a session id and returns ``{metric: value or None}``, or an awaitable of that."""

Verifier = Callable[..., Any]
"""Takes ``(case, session_id)``, ``(session_id, payload)`` or ``(payload)``; returns whether it went well, or None."""

OUTCOME = "outcome_correct"
REPLAY_GRADER = "replay"
VERIFIER_GRADER = "verifier"


class NotScoresError(Exception):
    """A scorer returned something other than scores; the text says what."""


class Scored(NamedTuple):
    """Scores of one session, and why scoring failed when it did."""

    scores: list[ScoreRow]
    failure: str | None = None


def grader_name(scorer: Any) -> str:
    """Return the name under which the scores of `scorer` are kept: its ``grader``, else its own name.

    Examples
    --------
    >>> grader_name(functools.partial(max, 1))
    'max'
    """
    given = getattr(scorer, "grader", None)
    if isinstance(given, str) and given:
        return given
    while isinstance(scorer, functools.partial):
        scorer = scorer.func
    return str(getattr(scorer, "__name__", None) or type(scorer).__name__)


def checked_scores(sample_id: str, values: Any, grader: str) -> list[ScoreRow]:
    """Return one row per metric of `values`, sorted by metric: ``ok``, or ``unscored`` with why.

    Only finite numbers are scores: None, true and false, text, NaN and infinities are unscored.

    Raises
    ------
    NotScoresError
        `values` is no mapping of metric names.

    Examples
    --------
    >>> [(row.metric, row.value, row.reason) for row in checked_scores("s", {"b": True, "a": 1}, "judge")]
    [('a', 1.0, None), ('b', None, 'true is not a number')]
    """
    if not isinstance(values, Mapping):
        raise NotScoresError(f"scores must be a mapping of metric to number; found {_found(values)}")
    odd = [name for name in values if not isinstance(name, str) or not name]
    if odd:
        raise NotScoresError(f"a metric must be named by text; found {_found(odd[0])}")
    rows = []
    for metric in sorted(values):
        value, reason = as_score(values[metric])
        rows.append(score_row(sample_id, clean_text(metric), value, reason, grader))
    return rows


def as_score(value: Any) -> tuple[float | None, str | None]:
    """Return the score that `value` stands for, or None and why it is none; numbers of numpy are numbers.

    Examples
    --------
    >>> as_score(float("nan")), as_score("0.9")
    ((None, 'the value is not a finite number'), (None, "the text '0.9' is not a number"))
    """
    if isinstance(value, Real) and not isinstance(value, (bool, int, float)):
        value = float(value)
    if value is None or isinstance(value, (bool, int, float, str, list, dict)):
        return read_score(value)
    return None, f"{_found(value)} is not a number"


def _found(value: object) -> str:
    return shown(value) if isinstance(value, (str, int, float)) else f"a value of type {type(value).__name__}"


def outcome_score(sample_id: str, verdict: Any) -> list[ScoreRow]:
    """Return the row of `OUTCOME` for what a verifier said: none for None, 1 or 0 for true or false, else a number."""
    if verdict is None:
        return []
    value, reason = as_score(float(verdict) if isinstance(verdict, bool) else verdict)
    return [score_row(sample_id, OUTCOME, value, reason, VERIFIER_GRADER)]


def verifier_call(verifier: Verifier, case: EvalCase, session_id: str) -> Callable[[], Any]:
    """Return the call of `verifier` for one replay, by what it takes.

    Two parameters are the case and the session; a first one named after the session makes it the reference's
    ``(session_id, payload)``; a single one is the payload. The payload is the replay input, or ``{}`` when that is no
    object.
    """
    payload = case.replay_input if isinstance(case.replay_input, Mapping) else {}
    names = positional(verifier)
    if names is not None and len(names) == 1:
        return functools.partial(verifier, payload)
    if names and "session" in names[0]:
        return functools.partial(verifier, session_id, payload)
    return functools.partial(verifier, case, session_id)


def positional(function: Callable[..., Any]) -> list[str] | None:
    """Return the names of the parameters that can be given by position and have no default; None when not known.

    Examples
    --------
    >>> positional(lambda case, context, *, tries=3: None)
    ['case', 'context']
    """
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    if any(one.kind is one.VAR_POSITIONAL for one in parameters):
        return None
    by_position = [one for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    return [one.name for one in by_position if one.default is one.empty]
