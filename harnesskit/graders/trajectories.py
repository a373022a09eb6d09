"""Graders of tool calls against expected calls: the right tools, with the right arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

from harnesskit.graders.grader import Grader, build
from harnesskit.graders.tool_arguments import ArgumentRules, Judged
from harnesskit.graders.tool_calls import ToolCall, calls_of, collapsed
from harnesskit.graders.tool_match import MODES, MOST_PAIRS, Mode, match_tools, pair_calls
from harnesskit.graders.wordings import brief
from harnesskit.model.errors import GraderError, listed
from harnesskit.model.grade import Grade
from harnesskit.model.metrics import Metric

Repeats = Literal["count", "collapse"]
Calls = Iterable[str | Mapping[str, Any]]


def tool_correctness(
    calls: Calls | None = None,
    *,
    mode: Mode = "exact",
    repeats: Repeats = "count",
    partial: bool = False,
    metric: str | Metric = "tool_correctness",
    name: str = "tool_correctness",
) -> Grader:
    """Return a grader: were the expected tools called? 1 or 0. Reads ``steps``, and ``expected_calls`` without `calls`.

    Arguments are not looked at: see `argument_correctness`. Where no call is expected, ``in_order`` and ``superset``
    do not apply; the other modes want no call then.

    Parameters
    ----------
    calls
        Expected calls of every sample: names, or ``{"tool": …, "arguments": {…}}``.
    mode
        ``exact``: the same tools in the same places; ``in_order``: those, with others between; ``any_order``: the
        same tools as often; ``superset``: at least those; ``subset``: none but those.
    repeats
        ``count``: a repeated call is a further call; ``collapse``: a call that repeats the one directly before,
        arguments included, is none.
    partial
        The share of right calls instead of 1 or 0 (of the longer list; of the expected in ``in_order`` and
        ``superset``; of the made in ``subset``).

    Raises
    ------
    GraderError
        A setting cannot be used.

    Examples
    --------
    >>> grader = tool_correctness(["find", "refund"], mode="in_order", partial=True)
    >>> grader([{"tool": "find", "arguments": {"id": 7}}])
    Grade(value=0.5, reason="1 of 2 right in_order; expected 'find', 'refund'; made 'find'", status=None, details=None)
    """
    _require("tool_correctness()", mode, repeats)

    def judge(made: list[ToolCall], expected: list[ToolCall]) -> float | bool | Grade:
        wanted, given = [call.tool for call in expected], [call.tool for call in made]
        if mode == "in_order" and len(wanted) * len(given) > MOST_PAIRS:
            return Grade.unscored(f"{len(given)} calls against {len(wanted)}: too many to put in order")
        match = match_tools(wanted, given, mode)
        if match.total is None:
            return Grade.not_applicable("no call is expected")
        if match.right == match.total:
            return True
        told = f"{match.right} of {match.total} right {mode}; expected {_tools(wanted)}; made {_tools(given)}"
        return Grade(match.right / match.total if partial else False, told)

    settings = {"mode": mode, "repeats": repeats, "partial": partial}
    return _call_grader(judge, calls, repeats, settings, metric, name)


def argument_correctness(
    calls: Calls | None = None,
    *,
    mode: Mode = "in_order",
    arguments: Mapping[str, Any] | None = None,
    extra: Literal["wrong", "ignore"] = "wrong",
    repeats: Repeats = "count",
    partial: bool = True,
    metric: str | Metric = "argument_correctness",
    name: str = "argument_correctness",
) -> Grader:
    """Return a grader: did the expected calls have the right arguments? 0 to 1. Reads ``steps, expected_calls``.

    Each expected call is paired with a made call of its tool, the one with the most right arguments; a call that was
    not made has none right (except in ``subset``, where it is left out). Further calls are not looked at. Expected
    calls without arguments are not judged; without any to judge, the grader does not apply.

    Parameters
    ----------
    calls, mode, repeats
        As in `tool_correctness`; the mode says which pairs there may be.
    arguments
        How to compare, by ``tool.argument`` or ``argument``: ``"exact"`` (the default), ``"ignore"``,
        ``{"tolerance": 0.01}``, ``{"relative": 0.01}``, ``{"pattern": "…"}`` (the whole text), or a function of the
        expected and the found value.
    extra
        Whether arguments that were not expected are wrong.
    partial
        The mean share of right arguments per expected call; False: 1 when all are right, else 0.

    Raises
    ------
    GraderError
        A setting cannot be used.

    Examples
    --------
    >>> expected = [{"tool": "refund", "arguments": {"amount": 19}}]
    >>> made = [{"tool": "refund", "arguments": {"amount": 18.99}}]
    >>> argument_correctness()(made, expected).reason
    "refund: 'amount' is 18.99, expected 19"
    >>> argument_correctness(arguments={"amount": {"tolerance": 0.01}})(made, expected)
    1.0
    """
    _require("argument_correctness()", mode, repeats)
    rules = ArgumentRules(arguments or {}, extra)

    def judge(made: list[ToolCall], expected: list[ToolCall]) -> float | Grade:
        wanted = [call for call in expected if call.arguments is not None] if mode != "exact" else expected
        if len(wanted) * len(made) > MOST_PAIRS:
            return Grade.unscored(f"{len(made)} calls against {len(wanted)}: too many to pair")
        pairs = pair_calls(wanted, made, mode, lambda one, other: rules.judge(one, other).share)
        judged = [
            Judged(0, 1, f"{brief(call.tool)} was not called") if place is None else rules.judge(call, made[place])
            for call, place in zip(wanted, pairs, strict=True)
            if call.arguments is not None and not (place is None and mode == "subset")
        ]
        if not judged:
            return Grade.not_applicable("no expected call has arguments to judge")
        wrong = [one.wrong for one in judged if one.wrong]
        value = sum(one.share for one in judged) / len(judged)
        return Grade(value if partial else float(not wrong), listed(wrong, 3)) if wrong else 1.0

    settings = {"mode": mode, "arguments": arguments or {}, "extra": extra, "repeats": repeats, "partial": partial}
    return _call_grader(judge, calls, repeats, settings, metric, name)


def _call_grader(
    judge: Callable[[list[ToolCall], list[ToolCall]], float | bool | Grade],
    calls: Calls | None,
    repeats: str,
    settings: Mapping[str, Any],
    metric: str | Metric,
    name: str,
) -> Grader:
    """Return a grader of `judge`, with the calls of the settings or of a column."""

    def read(cell: Any) -> list[ToolCall]:
        return collapsed(calls_of(cell)) if repeats == "collapse" else calls_of(cell)

    if calls is None:

        def against_column(steps: list[Any], expected_calls: list[Any]) -> float | bool | Grade:
            """Judge the calls that were made by those in a column."""
            return judge(read(steps), read(expected_calls))

        return build(against_column, name=name, metric=metric, settings=settings)
    fixed = list(calls)
    expected = calls_of(fixed)
    if len(expected) < len(fixed):
        raise GraderError(f"{name}() needs calls that name a tool: a text or {{'tool': …}}; found {fixed!r}.")

    def against_settings(steps: list[Any]) -> float | bool | Grade:
        """Judge the calls that were made by those of the settings."""
        return judge(read(steps), expected)

    return build(against_settings, name=name, metric=metric, settings={**settings, "calls": fixed})


def _require(who: str, mode: str, repeats: str) -> None:
    if mode not in MODES:
        raise GraderError(f"{who} needs one of the modes {', '.join(MODES)}; found {mode!r}.")
    if repeats not in ("count", "collapse"):
        raise GraderError(f"{who} needs repeats 'count' or 'collapse'; found {repeats!r}.")


def _tools(names: Sequence[str]) -> str:
    return listed([brief(name, 40) for name in names]) or "none"
