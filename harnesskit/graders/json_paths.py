"""Two JSON values compared leaf by leaf, with tolerances, ignored parts and lists in any order, by path."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

from harnesskit.graders.wordings import brief
from harnesskit.model.errors import GraderError

Path = tuple[str, ...]
MISSING = object()


class Rules(NamedTuple):
    """What does not count as a difference, by path pattern: ``items.*.price``; ``*`` is any one key or place."""

    tolerances: tuple[tuple[Path, float, float], ...] = ()
    ignored: tuple[Path, ...] = ()
    any_order: tuple[Path, ...] = ()


class Leaf(NamedTuple):
    """One compared place: where, and the difference in words; None when there is none."""

    path: Path
    difference: str | None


def rules_of(tolerances: Mapping[str, Any], ignore: Sequence[str], any_order: Sequence[str]) -> Rules:
    """Return the rules that settings stand for.

    Raises
    ------
    GraderError
        A tolerance is no number from 0, nor ``{"absolute": …, "relative": …}``.
    """
    found = []
    for path, tolerance in tolerances.items():
        given = tolerance if isinstance(tolerance, Mapping) else {"absolute": tolerance}
        absolute, relative = given.get("absolute", 0.0), given.get("relative", 0.0)
        numbers = all(isinstance(one, (int, float)) and not isinstance(one, bool) for one in (absolute, relative))
        if set(given) - {"absolute", "relative"} or not numbers or min(absolute, relative) < 0:
            raise GraderError(
                f"the tolerance of {path!r} must be a number from 0 or {{'absolute': …, 'relative': …}}; "
                f"found {tolerance!r}."
            )
        found.append((path_of(path), float(absolute), float(relative)))
    return Rules(tuple(found), tuple(map(path_of, ignore)), tuple(map(path_of, any_order)))


def path_of(text: str) -> Path:
    """Return a path as its parts.

    Examples
    --------
    >>> path_of("$.items[*].price"), path_of("total")
    (('items', '*', 'price'), ('total',))
    """
    plain = text.removeprefix("$").replace("[", ".").replace("]", "")
    return tuple(part.strip("'\"") for part in plain.split(".") if part)


def compared(expected: Any, found: Any, rules: Rules, path: Path = ()) -> Iterator[Leaf]:
    """Yield every leaf of both values; a key or place on one side only is a difference.

    Examples
    --------
    >>> rules = rules_of({"total": 0.01}, ["id"], [])
    >>> [leaf.difference for leaf in compared({"id": 1, "total": 9.5}, {"id": 2, "total": 9.504}, rules)]
    [None]
    """
    if _listed(path, rules.ignored):
        return
    if found is MISSING or expected is MISSING:
        yield Leaf(path, "is missing" if found is MISSING else "was not expected")
    elif isinstance(expected, Mapping) and isinstance(found, Mapping):
        for key in [*expected, *(key for key in found if key not in expected)]:
            yield from compared(expected.get(key, MISSING), found.get(key, MISSING), rules, (*path, str(key)))
        if not expected and not found:
            yield Leaf(path, None)
    elif isinstance(expected, list) and isinstance(found, list):
        if _listed(path, rules.any_order):
            expected, found = (sorted(one, key=_canonical) for one in (expected, found))
        for place in range(max(len(expected), len(found))):
            wanted, given = (one[place] if place < len(one) else MISSING for one in (expected, found))
            yield from compared(wanted, given, rules, (*path, str(place)))
        if not expected and not found:
            yield Leaf(path, None)
    elif _equal(expected, found, path, rules):
        yield Leaf(path, None)
    else:
        yield Leaf(path, f"expected {brief(_shown(expected))}, found {brief(_shown(found))}")


def whole_json(text: str) -> Any:
    """Return the value of JSON text; numbers must be finite.

    Raises
    ------
    ValueError
        It is not JSON, or nested too deeply.
    """

    def refuse(name: str) -> NoReturn:
        raise ValueError(f"{name} is no JSON")

    try:
        return json.loads(text, parse_constant=refuse)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _listed(path: Path, patterns: tuple[Path, ...]) -> bool:
    return any(
        len(path) == len(pattern) and all(part in ("*", here) for part, here in zip(pattern, path, strict=True))
        for pattern in patterns
    )


def _equal(expected: Any, found: Any, path: Path, rules: Rules) -> bool:
    numbers = [isinstance(one, (int, float)) and not isinstance(one, bool) for one in (expected, found)]
    if all(numbers):
        for pattern, absolute, relative in rules.tolerances:
            if _listed(path, (pattern,)):
                return bool(abs(expected - found) <= max(absolute, relative * abs(expected)))
        return bool(expected == found)
    return type(expected) is type(found) and bool(expected == found)


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)


def _shown(value: Any) -> str:
    if isinstance(value, (Mapping, list)):
        return f"{'an object' if isinstance(value, Mapping) else 'a list'} of {len(value)}"
    return value if isinstance(value, str) else json.dumps(value, default=str)
