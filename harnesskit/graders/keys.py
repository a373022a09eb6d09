"""The key and the record of a kept verdict: everything that matters is in the key, and failures are not kept."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import Any, NamedTuple

from harnesskit.graders.grader import Grader
from harnesskit.graders.verdicts import verdict
from harnesskit.model.grade import Grade
from harnesskit.model.metrics import Metric

Cache = MutableMapping[str, str]
"""Kept verdicts: a key (SHA-256, hexadecimal) to JSON text. A dict is one; so is whatever keeps them in a file."""


class GraderCall(NamedTuple):
    """What a grader that asks for its call is told besides the cells of its columns."""

    sample_id: str
    case_id: str | None
    trial: int | None
    cache: Cache | None


def call_key(grader: Grader, values: Sequence[Any], trial: int | None, *more: str | int) -> str:
    """Return the key of one verdict: grader, version, settings, code, what it reads, trial, and `more` (a vote).

    Examples
    --------
    >>> from harnesskit.graders.grader import build
    >>> short = build(lambda output: len(output) < 9, name="short")
    >>> call_key(short, ["Paris"], 1) == call_key(short, ["Paris"], 2)
    False
    """
    columns = [(one.name, one.column) for one in grader.parameters]
    told = [grader.identity, columns, list(values), trial, list(more)]
    text = json.dumps(told, sort_keys=True, default=repr, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()


def remembering(function: Callable[..., Any], grader: Grader, cache: Cache, *, awaits: bool) -> Callable[..., Any]:
    """Return `function` taking the trial first, asking `cache` before it is called; only values are kept, at once."""

    def store(key: str, result: Any) -> Any:
        text = _record(result, grader.metrics)
        if text is not None:
            cache[key] = text
        return result

    async def later(trial: int | None, *values: Any) -> Any:
        key = call_key(grader, values, trial)
        kept = cache.get(key)
        return store(key, await function(*values)) if kept is None else _result(kept)

    def now(trial: int | None, *values: Any) -> Any:
        key = call_key(grader, values, trial)
        kept = cache.get(key)
        return store(key, function(*values)) if kept is None else _result(kept)

    return later if awaits else now


def _record(result: Any, metrics: tuple[Metric, ...]) -> str | None:
    """Return the record of a result whose every value is usable, else None: failures are asked for again."""
    ranges = {metric.name: metric for metric in metrics}
    parts = result if isinstance(result, Mapping) else {"": result}
    kept = {}
    for name, one in parts.items():
        metric = ranges.get(str(name)) if name else (metrics[0] if metrics else None)
        told = verdict(one, metric or Metric(str(name) or "value", declared=False))
        if told.status != "ok" or not isinstance(name, str):
            return None
        kept[name] = [told.value, told.reason, told.details]
    return json.dumps(kept) if kept else None


def _result(text: str) -> Any:
    kept = {
        name: Grade(value, reason, None, None if details is None else json.loads(details))
        for name, (value, reason, details) in json.loads(text).items()
    }
    return kept[""] if set(kept) == {""} else kept
