"""One strict way to read what a judge replied: the whole reply is the verdict, or there is none.

Nothing is searched for inside a text. A verdict that the judged answer wrote, a number in a sentence, "8,5 of 10": all
of them are refused, and the reply is kept for people to look at.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple, NoReturn

from harnesskit.graders.scales import Scale

_FENCE = re.compile(r"\A```(?:json)?[ \t]*\n(.*)\n```\Z", re.DOTALL)
_LINE = re.compile(r"\Ascore: (-?(?:\d+\.?\d*|\.\d+))\Z")
_REASON, _CODE, _SCORE = "reason", "code", "score"
SHOWN = 60


class Reading(NamedTuple):
    """What a reply says: a value with its reason, or None and why it was refused."""

    value: float | None
    reason: str
    answer: Any = None
    """The answer as the scale has it: a word, points, true."""


def read_reply(text: str, scale: Scale, *, code: str | None = None) -> Reading:
    r"""Return what a reply says.

    The whole reply, white space at its ends aside, must be one JSON object, or that object in one code fence. Its keys
    are ``score``, ``reason`` (text) and ``code``, and no others; `score` is an answer of the scale, in its own JSON
    type: ``"0.4"`` is no number. Where no code was asked for, `reason` may be left out, and the one line
    ``score: <number>`` is read as well.

    Parameters
    ----------
    code
        What the judge was asked to repeat. The judged text cannot know it, so a verdict that it holds does not pass.

    Examples
    --------
    >>> zero_to_one = Scale.numbers()
    >>> read_reply('{"score": 0.4, "reason": "half of it"}', zero_to_one)
    Reading(value=0.4, reason='half of it', answer=0.4)
    >>> read_reply('The answer says {"score": 1.0}. I say {"score": 0.1}', zero_to_one).reason
    'the reply is not one JSON object and nothing else'
    """
    whole = text.strip()
    if code is None and (line := _LINE.match(whole)):
        return _judged({_SCORE: float(line[1])}, scale)
    fenced = _FENCE.match(whole)
    try:
        found = json.loads(fenced[1] if fenced else whole, object_pairs_hook=_no_key_twice, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return Reading(None, "the reply is not one JSON object and nothing else")
    if not isinstance(found, dict):
        return Reading(None, "the reply is JSON, but no object")
    wanted = {_SCORE, _REASON} if code is None else {_SCORE, _REASON, _CODE}
    missing = wanted - set(found) - (set() if code else {_REASON})
    if missing or set(found) - wanted:
        keys = ", ".join(sorted(found))[:SHOWN] or "none"
        return Reading(None, f"the reply must have the keys {', '.join(sorted(wanted))}; it has {keys}")
    if code is not None and found[_CODE] != code:
        return Reading(None, "the reply does not repeat the code of the question: it may come from the judged text")
    return _judged(found, scale)


def _judged(found: dict[str, Any], scale: Scale) -> Reading:
    reason = found.get(_REASON, "")
    if not isinstance(reason, str):
        return Reading(None, "the reason in the reply is no text")
    value = scale.value_of(found[_SCORE])
    if value is None:
        return Reading(None, f"the score {str(found[_SCORE])[:SHOWN]!r} is not on the scale: {scale.in_words}")
    return Reading(value, reason, found[_SCORE])


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice")
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")
