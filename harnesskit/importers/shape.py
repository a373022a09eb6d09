"""What every importer hands over: samples with their scores, and what was refused, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from harnesskit.workspace.reading import to_json


class Score(NamedTuple):
    """One value of one metric; without a value it is unscored (or an error) for the stated reason."""

    metric: str
    grader: str
    value: float | None
    reason: str | None = None
    status: str | None = None
    grader_version: str | None = None


class Sample(NamedTuple):
    """One attempt as a tool recorded it.

    Attributes
    ----------
    key
        What tells it from every other sample of the same source.
    line
        Where it stands in the file: a line number, or the place in its list, from 1.
    fields
        Columns of `harnesskit.workspace.online.ONLINE_SCHEMA`; JSON columns as any value.
    scores
        Its scores.
    """

    key: str
    line: int | None
    fields: dict[str, Any]
    scores: list[Score]


class Refused(NamedTuple):
    """One thing that was left out, or read by a rule (`severity` note)."""

    line: int | None
    field: str
    kind: str
    message: str
    severity: str = "problem"


Found = Iterator[Sample | Refused]
Reader = Callable[[Path], Found]


class Trials:
    """Counts the repeats of a case in an arm, in the order of the file.

    Examples
    --------
    >>> trials = Trials()
    >>> trials.next("win-1", "base"), trials.next("win-1", "base"), trials.next("win-1", "new")
    (1, 2, 1)
    """

    def __init__(self) -> None:
        self._seen: dict[tuple[str | None, str | None], int] = {}

    def next(self, case_id: str | None, arm: str | None) -> int:
        """Return the number of this repeat, from 1."""
        count = self._seen.get((case_id, arm), 0) + 1
        self._seen[case_id, arm] = count
        return count


def number_of(value: object) -> float | None:
    """Return a JSON value as a score: numbers as they are, true and false as 1 and 0; None for anything else.

    Examples
    --------
    >>> number_of(True), number_of(0.5), number_of("0.5"), number_of(float("nan"))
    (1.0, 0.5, None, None)
    """
    if isinstance(value, (bool, int, float)):
        try:
            number = float(value)
        except OverflowError:
            return None
        return number if abs(number) < float("inf") else None
    return None


def scored(metric: str, grader: str, raw: object, reason: str | None = None, version: str | None = None) -> Score:
    """Return the score of a value as it stands in a file; what is no number is unscored, and the reason says why."""
    value = number_of(raw)
    if value is None:
        said = "no value was given" if raw is None else f"the value was {to_json(raw)[:80]}"
        return Score(metric, grader, None, f"{said}; {reason}" if reason else said, "unscored", version)
    return Score(metric, grader, value, reason, "ok", version)


def failed(metric: str, grader: str, error: str, version: str | None = None) -> Score:
    """Return the score of a grader that raised."""
    return Score(metric, grader, None, error, "error", version)


def obj(value: object) -> dict[str, Any]:
    """Return `value` when it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def items(value: object) -> list[Any]:
    """Return `value` when it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def text(value: object) -> str | None:
    """Return `value` as text: texts as they are, numbers written out, anything else as JSON; None stays None."""
    return value if isinstance(value, str) or value is None else to_json(value)
