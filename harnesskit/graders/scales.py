"""The scales that a judge may answer on: declared before the question, so that an answer can be told from talk."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from harnesskit.model.errors import GraderError

SEVERAL = 2
"""Levels that a scale has at least."""


@dataclass(frozen=True)
class Scale:
    """What a judge may answer, and the value from 0 to 1 that each answer stands for.

    Made by `pass_fail`, `levels`, `points` or `numbers`.

    Parameters
    ----------
    answers
        The allowed answers and their values; empty for `numbers`.
    low, high
        The ends of `numbers`.
    words
        What a judge is told about the scale, where the usual words do not fit.
    """

    answers: tuple[tuple[str | int | bool, float], ...] = ()
    low: float = 0.0
    high: float = 1.0
    words: str | None = None

    @classmethod
    def pass_fail(cls) -> Scale:
        """Return the scale of true and false.

        Examples
        --------
        >>> Scale.pass_fail().value_of(True), Scale.pass_fail().value_of(1)
        (1.0, None)
        """
        return cls(((True, 1.0), (False, 0.0)))

    @classmethod
    def levels(cls, values: Mapping[str, float]) -> Scale:
        """Return a scale of words, each with its value.

        Examples
        --------
        >>> Scale.levels({"wrong": 0, "partly": 0.5, "right": 1}).value_of("partly")
        0.5
        """
        if len(values) < SEVERAL or any(not (math.isfinite(v) and 0 <= v <= 1) for v in values.values()):
            raise GraderError(
                f"a scale of words needs two words at least, each with a value from 0 to 1; found {dict(values)!r}."
            )
        return cls(tuple((str(word), float(value)) for word, value in values.items()))

    @classmethod
    def points(cls, low: int, high: int) -> Scale:
        """Return the scale of whole points from `low` to `high`, mapped evenly to 0 to 1.

        Examples
        --------
        >>> Scale.points(1, 5).value_of(4), Scale.points(1, 5).value_of(4.5)
        (0.75, None)
        """
        if not low < high:
            raise GraderError(f"a scale of points needs low below high; found {low} and {high}.")
        return cls(tuple((point, (point - low) / (high - low)) for point in range(low, high + 1)))

    @classmethod
    def numbers(cls, low: float = 0.0, high: float = 1.0) -> Scale:
        """Return the scale of all numbers from `low` to `high`, mapped evenly to 0 to 1.

        Examples
        --------
        >>> Scale.numbers(0, 10).value_of(7), Scale.numbers().value_of(7)
        (0.7, None)
        """
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise GraderError(f"a scale of numbers needs low below high, both finite; found {low} and {high}.")
        return cls((), float(low), float(high))

    def value_of(self, answer: Any) -> float | None:
        """Return the value from 0 to 1 of an answer; None when it is not one of this scale (``1`` is not ``true``)."""
        if self.answers:
            return next((v for one, v in self.answers if type(one) is type(answer) and one == answer), None)
        if isinstance(answer, bool) or not isinstance(answer, (int, float)):
            return None
        if not self.low <= answer <= self.high:  # false for NaN, too
            return None
        return (float(answer) - self.low) / (self.high - self.low)

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of an answer."""
        if not self.answers:
            return {"type": "number", "minimum": self.low, "maximum": self.high}
        first = self.answers[0][0]
        if isinstance(first, bool):
            return {"type": "boolean"}
        kind = "integer" if isinstance(first, int) else "string"
        return {"type": kind, "enum": [answer for answer, _ in self.answers]}

    @property
    def in_words(self) -> str:
        """What a judge is told about the scale."""
        if self.words is not None:
            return self.words
        if not self.answers:
            return f"a number from {self.low:g} (worst) to {self.high:g} (best)"
        first, last = self.answers[0][0], self.answers[-1][0]
        if isinstance(first, bool):
            return "true when the rubric is met, false when it is not"
        if isinstance(first, int):
            return f"a whole number from {first} (worst) to {last} (best)"
        ordered = sorted(self.answers, key=lambda one: one[1])
        return "one of the words " + ", ".join(f'"{word}"' for word, _ in ordered) + " (from worst to best)"


def scale_of(given: Scale | Mapping[str, float] | tuple[float, float] | str) -> Scale:
    """Return what a user declares as a scale: a `Scale`, words with values, ``(1, 5)`` for points, or "pass_fail".

    Raises
    ------
    GraderError
        It is none of these.

    Examples
    --------
    >>> scale_of((1, 3)).answers
    ((1, 0.0), (2, 0.5), (3, 1.0))
    """
    if isinstance(given, Scale):
        return given
    if isinstance(given, Mapping):
        return Scale.levels(given)
    if given == "pass_fail":
        return Scale.pass_fail()
    if isinstance(given, tuple) and len(given) == SEVERAL:
        low, high = given
        whole = type(low) is int and type(high) is int
        return Scale.points(int(low), int(high)) if whole else Scale.numbers(low, high)
    raise GraderError(
        'a judge needs a scale: "pass_fail", words with values such as {"wrong": 0, "right": 1}, points such as '
        f"(1, 5), numbers such as (0.0, 1.0), or a Scale; found {given!r}."
    )
