"""Graders made of graders: weighted, all of, any of, the first that can say, and several metrics at once.

Parts are asked one after another, and no further than needed. A part without a value is never taken for a zero; one
that does not apply is left out.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from harnesskit.graders.grader import Grader, as_grader, build
from harnesskit.graders.keys import GraderCall
from harnesskit.graders.parts import Part, Sample
from harnesskit.graders.verdicts import Verdict
from harnesskit.model.errors import GraderError, listed
from harnesskit.model.grade import Grade, GradeStatus
from harnesskit.model.metrics import Metric

GraderLike = Grader | Callable[..., Any]
Told = list[tuple[Part, Verdict]]


def weighted(
    parts: Mapping[GraderLike, float] | Iterable[tuple[GraderLike, float]],
    *,
    missing: str = "unscored",
    metric: str | Metric = "weighted",
    name: str = "weighted",
) -> Grader:
    """Return a grader: the weighted mean of its parts, each on the 0-to-1 scale of its metric, higher being better.

    Reads what the parts read. A part that does not apply to a sample is left out, and so is its weight.

    Parameters
    ----------
    parts
        Graders and their weights above 0; weights need not add up to 1.
    missing
        What a part without a value makes of the whole: ``unscored``, or ``leave_out`` for the mean of the rest.

    Raises
    ------
    GraderError
        A weight or a part cannot be used.

    Examples
    --------
    >>> short = build(lambda output: len(output) < 9, name="short")
    >>> polite = build(lambda output: "please" in output, name="polite")
    >>> weighted({short: 3, polite: 1})({"output": "No."}).value
    0.75
    """
    pairs = list(parts.items() if isinstance(parts, Mapping) else parts)
    weights = [weight for _, weight in pairs]
    if not all(isinstance(one, (int, float)) and math.isfinite(one) and one > 0 for one in weights):
        raise GraderError(f"weighted() needs weights above 0; found {weights!r}.")
    if missing not in ("unscored", "leave_out"):
        raise GraderError(f"weighted() needs missing 'unscored' or 'leave_out'; found {missing!r}.")
    made = _parts("weighted()", [one for one, _ in pairs])

    def mean(told: Told) -> Grade:
        lost = [(part, said) for part, said in told if said.status not in ("ok", "not_applicable")]
        known = [(said, w, part) for (part, said), w in zip(told, weights, strict=True) if said.status == "ok"]
        if (lost and missing == "unscored") or not known:
            return _no_value(told)
        total = sum(weight for _, weight, _ in known)
        value = sum(_scaled(part, said) * weight for said, weight, part in known) / total
        return Grade(value, _reasons(told) if len(known) < len(told) or value < 1 else None, details=_details(told))

    settings = {"weights": weights, "missing": missing}
    return _composed(made, mean, lambda part, said: False, settings, name, metric)


def all_of(*parts: GraderLike, pass_at: float = 1.0, metric: str | Metric = "all_of", name: str = "all_of") -> Grader:
    """Return a grader: does every part pass? 1 or 0. Reads what the parts read.

    One part that fails decides, whatever the others would say; else a part without a value leaves it unscored.

    Parameters
    ----------
    pass_at
        Least value, on the 0-to-1 scale, at which a part passes.

    Examples
    --------
    >>> short = build(lambda output: len(output) < 9, name="short")
    >>> polite = build(lambda output: "please" in output, name="polite")
    >>> all_of(short, polite)({"output": "No."}).reason
    'polite: 0'
    """
    made = _parts("all_of()", parts)

    def fails(part: Part, said: Verdict) -> bool:
        return said.status == "ok" and not _passes(part, said, pass_at)

    def every(told: Told) -> Grade:
        if any(fails(part, said) for part, said in told):
            return Grade(False, _reasons(told[-1:]), details=_details(told))
        open_or_empty = any(said.status not in ("ok", "not_applicable") for _, said in told)
        return _no_value(told) if open_or_empty or not _any_value(told) else Grade(True, details=_details(told))

    return _composed(made, every, fails, {"pass_at": pass_at}, name, metric)


def any_of(*parts: GraderLike, pass_at: float = 1.0, metric: str | Metric = "any_of", name: str = "any_of") -> Grader:
    """Return a grader: does any part pass? 1 or 0. Reads what the parts read; `pass_at` as in `all_of`.

    One part that passes decides; else a part without a value leaves it unscored.

    Examples
    --------
    >>> short = build(lambda output: len(output) < 9, name="short")
    >>> polite = build(lambda output: "please" in output, name="polite")
    >>> any_of(short, polite)({"output": "No."}).value
    True
    """
    made = _parts("any_of()", parts)

    def passes(part: Part, said: Verdict) -> bool:
        return said.status == "ok" and _passes(part, said, pass_at)

    def some(told: Told) -> Grade:
        if any(passes(part, said) for part, said in told):
            return Grade(True, details=_details(told))
        open_or_empty = any(said.status not in ("ok", "not_applicable") for _, said in told)
        if open_or_empty or not _any_value(told):
            return _no_value(told)
        return Grade(False, _reasons(told), details=_details(told))

    return _composed(made, some, passes, {"pass_at": pass_at}, name, metric)


def first_that_can_say(
    *parts: GraderLike, metric: str | Metric | None = None, name: str = "first_that_can_say"
) -> Grader:
    """Return a grader: the value of the first part that has one. Reads what the parts read.

    A cheap rule first and a judge for what it leaves open: later parts are not asked once one has spoken. All parts
    must measure on one range; the metric is that of the first part unless given.

    Examples
    --------
    >>> rule = build(lambda output: True if output == "42" else None, name="rule")
    >>> loose = build(lambda output: 0.5 if "42" in output else 0.0, name="loose")
    >>> first_that_can_say(rule, loose)({"output": "about 42"}).value
    0.5
    """
    made = _parts("first_that_can_say()", parts)
    ranges = {(part.metric.low, part.metric.high, part.metric.higher_is_better) for part in made}
    if len(ranges) > 1:
        told = listed([f"{part.name} {part.metric.low} to {part.metric.high}" for part in made])
        raise GraderError(f"first_that_can_say() needs parts on one range, in one direction; found {told}.")

    def has_value(part: Part, said: Verdict) -> bool:
        return said.status == "ok"

    def first(told: Told) -> Grade:
        part, said = told[-1]
        if said.status != "ok":
            return _no_value(told)
        return Grade(said.value, f"{part.name}: {said.reason}" if said.reason else part.name, details=_details(told))

    return _composed(made, first, has_value, {}, name, metric or made[0].metric)


def by_metric(graders: Mapping[str, GraderLike], *, name: str = "by_metric") -> Grader:
    """Return a grader of several metrics: one row for each, said by the grader beside it. Reads what the parts read.

    Parameters
    ----------
    graders
        Metric to grader; the metric takes over the range of the grader's own.

    Examples
    --------
    >>> short = build(lambda output: len(output) < 9, name="short")
    >>> by_metric({"brevity": short})({"output": "No."})["brevity"].value
    1.0
    """
    made = _parts("by_metric()", list(graders.values()))
    metrics = [replace(part.metric, name=metric) for metric, part in zip(graders, made, strict=True)]

    def each(told: Told) -> dict[str, Grade]:
        return {metric: _whole(part, said) for metric, (part, said) in zip(graders, told, strict=True)}

    settings = {"metrics": list(graders)}
    return _composed(made, each, lambda part, said: False, settings, name, metrics)


def _parts(who: str, graders: Sequence[GraderLike]) -> list[Part]:
    if not graders:
        raise GraderError(f"{who} needs graders; found none.")
    made = [Part(as_grader(one)) for one in graders]
    for part in made:
        if hasattr(part.grader, "grade_table"):
            raise GraderError(
                f"{who} asks its parts sample by sample, and {part.name!r} sees the whole table; "
                "combine expressions in SQL, or grade with both."
            )
        if part.grader.unset:
            raise GraderError(f"{who}: {part.name!r} needs the settings {listed(list(part.grader.unset))} first.")
        if part.metric.span is None and who != "by_metric()" and who != "first_that_can_say()":
            raise GraderError(f"{who} needs parts with a range; {part.name!r} measures {part.metric.name!r} without.")
    return made


def _composed(
    parts: list[Part],
    combine: Callable[[Told], Any],
    enough: Callable[[Part, Verdict], bool],
    settings: Mapping[str, Any],
    name: str,
    metric: str | Metric | Iterable[Metric],
) -> Grader:
    """Return a grader that asks `parts` in turn, until one says `enough`, and combines what they said."""

    def now(sample: Sample, *, call: GraderCall | None = None) -> Any:
        """Ask the parts in turn and combine what they say."""
        told: Told = []
        for part in parts:
            told.append((part, part.now(sample, call)))
            if enough(*told[-1]):
                break
        return combine(told)

    async def later(sample: Sample, *, call: GraderCall | None = None) -> Any:
        """Ask the parts in turn, waiting for each, and combine what they say."""
        told: Told = []
        for part in parts:
            told.append((part, await part.later(sample, call)))
            if enough(*told[-1]):
                break
        return combine(told)

    graders = tuple(part.grader for part in parts)
    function = later if any(part.waits for part in parts) else now
    told = {**settings, "parts": list(graders)}
    return build(function, name=name, metric=metric, settings=told, takes_call=True, parts=graders)


def _scaled(part: Part, said: Verdict) -> float:
    """Return the value on the 0-to-1 scale of the metric, higher being better."""
    low, span = part.metric.low or 0.0, part.metric.span or 1.0
    share = min(1.0, max(0.0, ((said.value or 0.0) - low) / span))
    return 1.0 - share if part.metric.higher_is_better is False else share


def _passes(part: Part, said: Verdict, pass_at: float) -> bool:
    return _scaled(part, said) >= pass_at - 1e-9


def _any_value(told: Told) -> bool:
    return any(said.status == "ok" for _, said in told)


def _no_value(told: Told) -> Grade:
    status: GradeStatus = "not_applicable" if all(said.status == "not_applicable" for _, said in told) else "unscored"
    lost = [(part, said) for part, said in told if said.status != "ok"]
    return Grade(None, _reasons(lost), status, _details(told))


def _reasons(told: Told) -> str:
    return listed([
        f"{part.name}: {said.reason or ('' if said.value is None else format(said.value, 'g'))}" for part, said in told
    ])  # fmt: skip


def _details(told: Told) -> dict[str, Any]:
    rows = [
        {"grader": part.name, "version": part.grader.version, "value": said.value, "status": said.status}
        | ({} if said.reason is None else {"reason": said.reason})
        | ({} if said.details is None else {"details": json.loads(said.details)})
        for part, said in told
    ]
    return {"parts": rows}


def _whole(part: Part, said: Verdict) -> Grade:
    status: Any = None if said.status in ("ok", "out_of_range") else said.status
    if said.status == "out_of_range":
        return Grade.error(f"{part.name}: {said.reason}")
    return Grade(said.value, said.reason, status, None if said.details is None else json.loads(said.details))
