"""Graders of what a sample took: seconds, dollars, tokens and steps within a budget, and whether it came to an end."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from harnesskit.graders.grader import Grader, build
from harnesskit.graders.tool_calls import steps_of
from harnesskit.model.errors import GraderError
from harnesskit.model.grade import Grade
from harnesskit.model.metrics import Metric


def latency_within(
    seconds: float,
    *,
    zero_at: float | None = None,
    metric: str | Metric = "latency_within",
    name: str = "latency_within",
) -> Grader:
    """Return a grader: did the sample take at most `seconds`? 1 or 0. Reads ``duration_s``.

    Parameters
    ----------
    seconds
        The budget; time spent waiting for an environment is not in ``duration_s``.
    zero_at
        When given, the value falls in a straight line from 1 at the budget to 0 here.

    Examples
    --------
    >>> latency_within(10, zero_at=20)(15.0).value
    0.5
    """
    within = _budget("latency_within()", seconds, zero_at, "s")

    def latency(duration_s: float) -> float | Grade:
        return within(duration_s)

    return build(latency, name=name, metric=metric, settings={"budget": seconds, "zero_at": zero_at})


def cost_within(
    usd: float, *, zero_at: float | None = None, metric: str | Metric = "cost_within", name: str = "cost_within"
) -> Grader:
    """Return a grader: did the sample cost at most `usd` dollars? 1 or 0. Reads ``cost_usd``.

    `zero_at` as in `latency_within`.

    Examples
    --------
    >>> cost_within(0.01)(0.004)
    1.0
    """
    within = _budget("cost_within()", usd, zero_at, "USD")

    def cost(cost_usd: float) -> float | Grade:
        return within(cost_usd)

    return build(cost, name=name, metric=metric, settings={"budget": usd, "zero_at": zero_at})


def tokens_within(
    tokens: float, *, zero_at: float | None = None, metric: str | Metric = "tokens_within", name: str = "tokens_within"
) -> Grader:
    """Return a grader: did the sample use at most `tokens`, read and written? 1 or 0.

    Reads ``input_tokens, output_tokens``. `zero_at` as in `latency_within`.

    Examples
    --------
    >>> tokens_within(1000)(900, 200).reason
    '1100 tokens, of 1000'
    """
    within = _budget("tokens_within()", tokens, zero_at, "tokens")

    def used(input_tokens: float, output_tokens: float) -> float | Grade:
        return within(input_tokens + output_tokens)

    return build(used, name=name, metric=metric, settings={"budget": tokens, "zero_at": zero_at})


def steps_within(
    steps: float, *, zero_at: float | None = None, metric: str | Metric = "steps_within", name: str = "steps_within"
) -> Grader:
    """Return a grader: did the sample take at most `steps` steps, of any kind? 1 or 0. Reads ``steps``.

    `zero_at` as in `latency_within`.

    Examples
    --------
    >>> steps_within(2)([{"tool": "find"}, {"tool": "refund"}])
    1.0
    """
    within = _budget("steps_within()", steps, zero_at, "steps")
    settings = {"budget": steps, "zero_at": zero_at}

    def taken(steps: list[Any]) -> float | Grade:
        return within(len(steps_of(steps)))

    return build(taken, name=name, metric=metric, settings=settings)


def finished(*, metric: str | Metric = "finished", name: str = "finished") -> Grader:
    """Return a grader: did the agent come to an end of its own? 0 for an error or a timeout. Reads ``status``.

    The other graders leave such samples unscored, so that a crash would drop out of their means: this one counts it.

    Examples
    --------
    >>> finished()("timeout")
    Grade(value=False, reason='the sample ended with timeout', status=None, details=None)
    """

    def ended(status: str) -> bool | Grade:
        if status == "skipped":
            return Grade.not_applicable("the sample was skipped")
        return Grade(False, f"the sample ended with {status}") if status in ("error", "timeout") else True

    return build(ended, name=name, metric=metric)


def _budget(who: str, budget: float, zero_at: float | None, unit: str) -> Callable[[Any], float | Grade]:
    usable = isinstance(budget, (int, float)) and math.isfinite(budget) and budget >= 0
    if not usable or (zero_at is not None and not budget < zero_at < math.inf):
        raise GraderError(f"{who} needs a budget from 0, and zero_at above it; found {budget!r} and {zero_at!r}.")

    def within(used: Any) -> float | Grade:
        if isinstance(used, bool) or not isinstance(used, (int, float)) or used < 0:
            return Grade.unscored(f"{used!r} {unit} is no amount")
        if used <= budget:
            return 1.0
        value = 0.0 if zero_at is None else max(0.0, (zero_at - used) / (zero_at - budget))
        return Grade(value, f"{used:g} {unit}, of {budget:g}")

    return within
