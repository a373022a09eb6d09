"""What a grader says of one sample, and the frame that grading hands out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from harnesskit.model.contract import Contract
from harnesskit.model.views import CASE_SCORES

GradeStatus = Literal["ok", "unscored", "error", "out_of_range", "not_applicable"]
STATUSES: tuple[GradeStatus, ...] = ("ok", "unscored", "error", "out_of_range", "not_applicable")
"""What can become of a sample, metric and grader; only ``ok`` has a value."""

IDENTITY: tuple[str, ...] = tuple(
    name
    for name in CASE_SCORES.columns
    if name not in ("metric", "grader", "grader_version", "value", "status", "reason")
)
"""Columns that a score takes over from its sample, so that no measure has to look the sample up."""

GRADES = Contract(
    name="grades",
    grain="sample, metric and grader",
    key=CASE_SCORES.key,
    columns={
        **CASE_SCORES.columns,
        "details": "JSON object of what else the grader said, e.g. the raw reply of a judge; missing when nothing",
    },
)


@dataclass(frozen=True, slots=True)
class Grade:
    """One verdict of a grader: a value, why, and what else there is to keep.

    Parameters
    ----------
    value
        True or false, or a number in the range of the metric; None when there is no score.
    reason
        Why, in words; kept beside the score.
    status
        Left out, it follows from the value. ``unscored``, ``error`` and ``not_applicable`` say why there is none.
    details
        What else to keep, as JSON: the raw reply of a judge, its votes.

    Examples
    --------
    >>> Grade(0.5, "one of two clauses is cited")
    Grade(value=0.5, reason='one of two clauses is cited', status=None, details=None)
    >>> Grade.not_applicable("no tool was expected").status
    'not_applicable'
    """

    value: float | bool | None
    reason: str | None = None
    status: GradeStatus | None = None
    details: Mapping[str, Any] | None = None

    @classmethod
    def unscored(cls, reason: str, details: Mapping[str, Any] | None = None) -> Grade:
        """Return "cannot say", with why.

        Examples
        --------
        >>> Grade.unscored("the reply could not be read").value is None
        True
        """
        return cls(None, reason, "unscored", details)

    @classmethod
    def not_applicable(cls, reason: str) -> Grade:
        """Return that the metric does not apply to this sample: there was nothing to judge.

        Examples
        --------
        >>> Grade.not_applicable("no tool was expected").reason
        'no tool was expected'
        """
        return cls(None, reason, "not_applicable")

    @classmethod
    def error(cls, reason: str, details: Mapping[str, Any] | None = None) -> Grade:
        """Return that grading itself failed, with why; the sample is not to blame.

        Examples
        --------
        >>> Grade.error("rate_limited: after 5 tries").status
        'error'
        """
        return cls(None, reason, "error", details)
