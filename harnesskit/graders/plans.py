"""Graders of the way: repeated calls and loops, steps beyond the best way, and an order that must be kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import Any

from harnesskit.graders.grader import Grader, build
from harnesskit.graders.tool_calls import calls_of, steps_of
from harnesskit.graders.wordings import brief
from harnesskit.model.errors import GraderError, listed
from harnesskit.model.grade import Grade
from harnesskit.model.metrics import Metric


def no_repeated_calls(
    *,
    allowed: int = 0,
    longest_loop: int = 5,
    partial: bool = False,
    metric: str | Metric = "no_repeated_calls",
    name: str = "no_repeated_calls",
) -> Grader:
    """Return a grader: was no call made twice? 1 or 0. Reads ``steps``.

    A call repeats when the same tool was called before with the same arguments in this sample; a sequence of up to
    `longest_loop` calls that comes several times in a row is named as a loop. Without a call it does not apply.

    Parameters
    ----------
    allowed
        Repeats that do not count against it.
    partial
        The share of calls that are no repeats beyond `allowed`, instead of 1 or 0.

    Examples
    --------
    >>> twice = [{"tool": "find", "arguments": {"id": 7}}] * 2
    >>> no_repeated_calls(partial=True)(twice)
    Grade(value=0.5, reason="1 repeat of 2 calls: 'find' 2 times; a loop of 1, 2 times", status=None, details=None)
    """
    if allowed < 0 or longest_loop < 1:
        raise GraderError(f"no_repeated_calls() needs allowed from 0 and longest_loop from 1; found {allowed}.")

    def fresh(steps: list[Any]) -> float | bool | Grade:
        calls = calls_of(steps)
        if not calls:
            return Grade.not_applicable("no tool was called")
        keys = [call.key for call in calls]
        often = [(key, n) for key, n in Counter(keys).items() if n > 1]
        repeats = sum(n - 1 for _, n in often)
        if repeats <= allowed:
            return True
        tools = listed([f"{brief(key.partition(' ')[0])} {n} times" for key, n in often], 3)
        loop = _loop(keys, longest_loop)
        told = f"{repeats} repeat{'s' if repeats > 1 else ''} of {len(keys)} calls: {tools}"
        return Grade(1 - (repeats - allowed) / len(keys) if partial else False, told + loop)

    settings = {"allowed": allowed, "longest_loop": longest_loop, "partial": partial}
    return build(fresh, name=name, metric=metric, settings=settings)


def step_efficiency(
    best: int | None = None,
    *,
    count: str = "calls",
    metric: str | Metric = "step_efficiency",
    name: str = "step_efficiency",
) -> Grader:
    """Return a grader: the best number of steps over those taken, at most 1. Reads ``steps``, and ``best_steps``.

    Parameters
    ----------
    best
        Steps of the best way for every sample; the column ``best_steps`` when None.
    count
        ``calls`` counts tool calls, ``steps`` everything in the list.

    Examples
    --------
    >>> step_efficiency(2)([{"tool": "find"}, {"tool": "look"}, {"tool": "look"}, {"tool": "refund"}]).value
    0.5
    """
    if count not in ("calls", "steps"):
        raise GraderError(f"step_efficiency() counts 'calls' or 'steps'; found {count!r}.")
    if best is not None and (isinstance(best, bool) or not isinstance(best, int) or best < 1):
        raise GraderError(f"step_efficiency() needs best as a whole number from 1; found {best!r}.")

    def share(steps: Any, fewest: Any) -> float | Grade:
        taken = len(calls_of(steps)) if count == "calls" else len(steps_of(steps))
        if isinstance(fewest, bool) or not isinstance(fewest, (int, float)) or fewest < 0:
            return Grade.unscored(f"best_steps is {fewest!r}")
        if not taken:
            return Grade.not_applicable(f"there are no {count}") if fewest else 1.0
        return 1.0 if taken <= fewest else Grade(fewest / taken, f"{taken} {count} where {fewest:g} are enough")

    if best is not None:
        return build(
            lambda steps: share(steps, best), name=name, metric=metric, settings={"best": best, "count": count}
        )

    def against_column(steps: list[Any], best_steps: float) -> float | Grade:
        return share(steps, best_steps)

    return build(against_column, name=name, metric=metric, settings={"count": count})


def plan_adherence(
    order: Iterable[Sequence[str]] = (),
    *,
    required: Iterable[str] = (),
    partial: bool = True,
    metric: str | Metric = "plan_adherence",
    name: str = "plan_adherence",
) -> Grader:
    """Return a grader: which share of a plan was kept? 0 to 1. Reads ``steps``.

    A pair ``(first, then)`` of `order` is broken when ``then`` was called without ``first`` before it; it does not
    apply when ``then`` was not called. A `required` tool is missing when it was not called. Tools outside the plan
    are free.

    Parameters
    ----------
    order
        Pairs of tools, the first before the second; longer sequences stand for their neighbours.
    required
        Tools that must be called.
    partial
        False: 1 when everything was kept, else 0.

    Raises
    ------
    GraderError
        The plan is empty, or its order runs in a circle.

    Examples
    --------
    >>> plan = plan_adherence([("find", "refund")], required=["notify"])
    >>> plan([{"tool": "refund"}, {"tool": "find"}, {"tool": "notify"}])
    Grade(value=0.5, reason="'refund' without 'find' before it", status=None, details=None)
    """
    rows = [list(row) if not isinstance(row, str) else [row] for row in order]
    pairs = list(dict.fromkeys(pair for row in rows for pair in pairwise(row)))
    needed = [required] if isinstance(required, str) else list(required)
    if any(len(row) < 2 for row in rows) or not (pairs or needed):
        raise GraderError("plan_adherence() needs pairs of tools, or required tools.")
    sorter: TopologicalSorter[str] = TopologicalSorter()
    for before, after in pairs:
        sorter.add(after, before)
    try:
        sorter.prepare()
    except CycleError as error:
        raise GraderError(f"the order of plan_adherence() runs in a circle: {' -> '.join(error.args[1])}.") from error

    def kept(steps: list[Any]) -> float | Grade:
        first: dict[str, int] = {}
        for place, call in enumerate(calls_of(steps)):
            first.setdefault(call.tool, place)
        told = [(before, after) for before, after in pairs if after in first]
        broken = [
            f"{brief(after)} without {brief(before)} before it"
            for before, after in told
            if first.get(before, len(first) + first[after]) > first[after]
        ]
        broken += [f"{brief(tool)} was not called" for tool in needed if tool not in first]
        total = len(told) + len(needed)
        if not total:
            return Grade.not_applicable("no tool of the plan was called")
        return Grade(1 - len(broken) / total if partial else 0.0, listed(broken, 3)) if broken else 1.0

    return build(kept, name=name, metric=metric, settings={"order": pairs, "required": needed, "partial": partial})


def _loop(keys: list[str], longest: int) -> str:
    """Return the shortest sequence that comes again and again, as words; empty when there is none."""
    for size in range(1, min(longest, len(keys) // 2) + 1):
        best = run = 0
        for place in range(size, len(keys)):
            run = run + 1 if keys[place] == keys[place - size] else 0
            best = max(best, run)
        if best >= size:
            return f"; a loop of {size}, {best // size + 1} times"
    return ""
