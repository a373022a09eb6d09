"""Graders of structured output: equal JSON, and JSON that follows a schema."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

from harnesskit.graders.grader import Grader, build
from harnesskit.graders.json_paths import compared, rules_of, whole_json
from harnesskit.graders.wordings import brief
from harnesskit.model.errors import GraderError
from harnesskit.model.grade import Grade
from harnesskit.model.metrics import Metric

SHOWN = 3
"""Differences that a reason names."""
FENCE = "```"


def json_equal(
    *,
    tolerances: Mapping[str, float | Mapping[str, float]] | None = None,
    ignore: Iterable[str] = (),
    any_order: Iterable[str] = (),
    partial: bool = False,
    fenced: bool = False,
    metric: str | Metric = "json_equal",
    name: str = "json_equal",
) -> Grader:
    """Return a grader: is the JSON of `output` that of `expected`? 1 or 0. Reads ``output, expected``.

    Numbers are equal by value (1 and 1.0); true is no number; the order of keys does not count. Output that is not
    JSON is wrong, with a reason; an expected value that is not JSON is unscored.

    Parameters
    ----------
    tolerances
        Path to the largest difference that does not count: a number, or ``{"absolute": …, "relative": …}``
        (relative to the expected number). A path is ``items.*.price``, where ``*`` stands for one key or place.
    ignore
        Paths that are not compared, with all that is below them.
    any_order
        Paths of lists whose order does not count.
    partial
        The share of equal leaves instead of 1 or 0.
    fenced
        True to accept JSON inside one Markdown code fence.

    Raises
    ------
    GraderError
        A tolerance cannot be used.

    Examples
    --------
    >>> json_equal(tolerances={"total": 0.01}, ignore=["id"])('{"id": 7, "total": 9.99}', {"id": 1, "total": 9.995})
    True
    """
    rules = rules_of(tolerances or {}, list(ignore), list(any_order))

    def equal(output: Any, expected: Any) -> bool | Grade:
        try:
            wanted = _value(expected, fenced=False)
        except ValueError as error:
            return Grade.unscored(f"expected is not JSON: {error}")
        try:
            found = _value(output, fenced)
        except ValueError as error:
            return Grade(False, f"the output is not JSON: {error}")
        leaves = list(compared(wanted, found, rules))
        wrong = [leaf for leaf in leaves if leaf.difference]
        if not wrong:
            return True
        told = [f"{brief('.'.join(leaf.path) or '$')} {leaf.difference}" for leaf in wrong[:SHOWN]]
        more = f" and {len(wrong) - SHOWN} more" if len(wrong) > SHOWN else ""
        return Grade(1 - len(wrong) / len(leaves) if partial else False, "; ".join(told) + more)

    settings = {"rules": repr(rules), "partial": partial, "fenced": fenced}
    return build(equal, name=name, metric=metric, settings=settings)


def json_schema(
    schema: dict[str, Any],
    *,
    fenced: bool = False,
    metric: str | Metric = "json_schema",
    name: str = "json_schema",
) -> Grader:
    """Return a grader: is `output` JSON that follows `schema`? 1 or 0. Reads ``output``.

    The draft is that of ``$schema``, else the newest. References outside the schema are not fetched.

    Parameters
    ----------
    schema
        A JSON Schema.
    fenced
        True to accept JSON inside one Markdown code fence.

    Raises
    ------
    GraderError
        The schema itself is not valid.

    Examples
    --------
    >>> total = {"type": "object", "required": ["total"], "properties": {"total": {"type": "number"}}}
    >>> json_schema(total)('{"total": "9.99"}')
    Grade(value=False, reason="at 'total': '9.99' is not of type 'number'", status=None, details=None)
    """
    from jsonschema import validators
    from jsonschema.exceptions import SchemaError
    from referencing import Registry

    kind = validators.validator_for(schema)
    try:
        kind.check_schema(schema)
    except SchemaError as error:
        raise GraderError(f"json_schema() needs a valid schema: {error.message}.") from error
    validator = kind(schema, registry=Registry())

    def follows(output: Any) -> bool | Grade:
        try:
            found = _value(output, fenced)
        except ValueError as error:
            return Grade(False, f"the output is not JSON: {error}")
        wrong = list(islice(validator.iter_errors(found), SHOWN))
        told = [f"at {brief('.'.join(map(str, one.absolute_path)) or '$')}: {one.message[:200]}" for one in wrong]
        return Grade(False, "; ".join(told)) if wrong else True

    return build(follows, name=name, metric=metric, settings={"schema": schema, "fenced": fenced})


def _value(given: Any, fenced: bool) -> Any:
    """Return the JSON value of a cell: text is read, anything else is one already."""
    if not isinstance(given, str):
        return given
    text = given.strip()
    if fenced and text.startswith(FENCE) and text.endswith(FENCE) and len(text) >= 2 * len(FENCE):
        inside = text[len(FENCE) : -len(FENCE)]
        text = inside.removeprefix("json")
    return whole_json(text)
