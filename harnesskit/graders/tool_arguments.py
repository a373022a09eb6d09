"""The arguments of a call against those expected, one by one, each by its own rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import regex as patterns

from harnesskit.graders.json_paths import Rules, compared
from harnesskit.graders.tool_calls import ToolCall
from harnesskit.graders.wordings import brief
from harnesskit.model.errors import GraderError

TIMEOUT_S = 0.5
Compare = Callable[[Any, Any], bool]


class Judged(NamedTuple):
    """What is right of one call: arguments right, arguments judged, and the first that is wrong, in words."""

    right: int
    judged: int
    wrong: str | None

    @property
    def share(self) -> float:
        """Share of the arguments that is right; 1 when there was none to judge."""
        return self.right / self.judged if self.judged else 1.0


class ArgumentRules:
    """How arguments are compared: by ``tool.argument``, else by ``argument``, else exactly.

    Parameters
    ----------
    rules
        To ``"exact"``, ``"ignore"``, ``{"tolerance": …}``, ``{"relative": …}``, ``{"pattern": …}`` or a function of
        the expected and the found value.
    extra
        Whether an argument that was not expected is ``wrong`` or to ``ignore``.

    Raises
    ------
    GraderError
        There is no such rule.

    Examples
    --------
    >>> rules = ArgumentRules({"amount": {"tolerance": 0.01}, "refund.note": "ignore"}, "wrong")
    >>> rules.judge(ToolCall("refund", {"amount": 19, "id": 7}), ToolCall("refund", {"amount": 18.99, "id": 8}))
    Judged(right=1, judged=2, wrong="refund: 'id' is 8, expected 7")
    """

    def __init__(self, rules: Mapping[str, Any], extra: str) -> None:
        if extra not in ("wrong", "ignore"):
            raise GraderError(f"extra arguments are 'wrong' or to 'ignore'; found {extra!r}.")
        self._rules = {name: _compare(name, rule) for name, rule in rules.items()}
        self._extra = extra == "wrong"

    def judge(self, expected: ToolCall, made: ToolCall) -> Judged:
        """Return what is right of `made`."""
        wanted, given = expected.arguments or {}, made.arguments or {}
        right = judged = 0
        wrong: str | None = None
        for name in [*wanted, *(name for name in given if name not in wanted and self._extra)]:
            compare = self._rules.get(f"{made.tool}.{name}", self._rules.get(name, same))
            if compare is None:
                continue
            judged += 1
            fault = _fault(name, wanted, given, compare)
            right += fault is None
            wrong = wrong or (None if fault is None else f"{made.tool}: {fault}")
        return Judged(right, judged, wrong)


def same(expected: Any, found: Any) -> bool:
    """Whether two JSON values are equal: numbers by value, true and false are no numbers."""
    return all(leaf.difference is None for leaf in compared(expected, found, Rules()))


def _fault(name: str, wanted: Mapping[str, Any], given: Mapping[str, Any], compare: Compare) -> str | None:
    if name not in given:
        return f"{brief(name)} is missing"
    if name not in wanted:
        return f"{brief(name)} was not expected"
    if compare(wanted[name], given[name]):
        return None
    return f"{brief(name)} is {_shown(given[name])}, expected {_shown(wanted[name])}"


def _shown(value: Any) -> str:
    return brief(value) if isinstance(value, str) else brief(repr(value)).strip("'\"")


def _compare(name: str, rule: Any) -> Compare | None:
    """Return the comparison that a rule stands for; None to ignore."""
    if rule == "exact":
        return same
    if rule == "ignore":
        return None
    if callable(rule):
        return lambda expected, found: bool(rule(expected, found))
    if isinstance(rule, Mapping) and len(rule) == 1:
        ((kind, value),) = rule.items()
        if kind in ("tolerance", "relative") and isinstance(value, (int, float)) and value >= 0:
            return _near(float(value), relative=kind == "relative")
        if kind == "pattern":
            try:
                compiled = patterns.compile(value)
            except (patterns.error, TypeError) as error:
                raise GraderError(f"the pattern of argument {name!r} is not valid: {error}.") from error
            return lambda expected, found: (
                isinstance(found, str) and compiled.fullmatch(found, timeout=TIMEOUT_S) is not None
            )
    raise GraderError(
        f"argument {name!r} can be compared by 'exact', 'ignore', {{'tolerance': …}}, {{'relative': …}}, "
        f"{{'pattern': …}} or a function; found {rule!r}."
    )


def _near(most: float, *, relative: bool) -> Compare:
    def near(expected: Any, found: Any) -> bool:
        numbers = all(isinstance(one, (int, float)) and not isinstance(one, bool) for one in (expected, found))
        if not numbers:
            return same(expected, found)
        allowed = most * abs(expected) if relative else most
        return bool(abs(expected - found) <= allowed + 1e-9 * max(abs(expected), abs(found)))

    return near
