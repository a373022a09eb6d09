"""What a grader returned, made into a value or into why there is none, by one rule for every grader."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from harnesskit.model.grade import STATUSES, Grade
from harnesskit.model.metrics import Metric
from harnesskit.workspace.problems import shown
from harnesskit.workspace.reading import clean_text

LONGEST = 1000
"""Characters of a reason that are kept."""

SCALE_HINT = "; declare its range: metric=hk.Metric({name!r}, low=…, high=…)"


class Failed(NamedTuple):
    """A call that gave nothing: the status it has, and why."""

    status: str
    reason: str


class Verdict(NamedTuple):
    """Value, status, reason and details of one sample, metric and grader."""

    value: float | None
    status: str
    reason: str | None
    details: str | None = None


def failed(error: BaseException) -> Failed:
    """Return what is said of a call that raised.

    Examples
    --------
    >>> failed(KeyError("total"))
    Failed(status='error', reason="KeyError: 'total'")
    """
    try:
        text = str(error)
    except Exception:  # an exception of other people's code may be unable to say what it is
        text = ""
    kind = type(error).__name__
    return Failed("error", f"{kind}: {text}" if text else kind)


def verdict(result: Any, metric: Metric) -> Verdict:
    """Return what `result` says of `metric`.

    Examples
    --------
    >>> verdict(True, Metric("q")), verdict(None, Metric("q")).reason
    (Verdict(value=1.0, status='ok', reason=None, details=None), 'the grader cannot say')
    >>> verdict(9, Metric("q")).reason
    '9 is outside 0 to 1 of the metric'
    """
    if isinstance(result, Failed):
        return Verdict(None, result.status, _text(result.reason))
    if result is None:
        return Verdict(None, "unscored", "the grader cannot say")
    if not isinstance(result, Grade):
        return _number(result, metric, None, None)
    details = None if result.details is None else _json(result.details)
    reason = None if result.reason is None else _text(result.reason)
    if result.status is not None and result.status not in STATUSES:
        return Verdict(None, "error", f"the grader gave the status {shown(result.status)}, which there is not", details)
    if result.status in (None, "ok"):
        if result.value is None:
            return Verdict(None, "unscored", reason or "the grader cannot say", details)
        return _number(result.value, metric, reason, details)
    return Verdict(None, str(result.status), reason or "the grader gives no reason", details)


def _number(value: Any, metric: Metric, reason: str | None, details: str | None) -> Verdict:
    if not isinstance(value, (Real, np.bool_)):
        found = f"the text {shown(value)}" if isinstance(value, str) else f"a value of type {type(value).__name__}"
        return Verdict(None, "error", f"{found} is no score: True, False, a number, a Grade or None is", details)
    try:
        number = float(value)
    except (OverflowError, ValueError, TypeError):
        return Verdict(None, "out_of_range", "the number is too large for a score", details)
    if math.isnan(number):
        return Verdict(None, "unscored", reason or "the value is not a number (NaN)", details)
    if math.isinf(number) or not metric.holds(number):
        low, high = ("any" if end is None else f"{end:g}" for end in (metric.low, metric.high))
        hint = "" if metric.declared else SCALE_HINT.format(name=metric.name)
        return Verdict(None, "out_of_range", f"{number:g} is outside {low} to {high} of the metric{hint}", details)
    return Verdict(number, "ok", reason, details)


def _text(reason: object) -> str:
    text = clean_text(str(reason))
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}... ({len(text)} characters)"


def _json(details: Mapping[str, Any]) -> str:
    try:
        return clean_text(json.dumps(details, ensure_ascii=False, default=str, allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        return clean_text(json.dumps({"unreadable": type(details).__name__}))
