"""What has to be called for one grader: its arguments sample by sample, and the samples it is not called for."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from harnesskit.graders.grader import Grader
from harnesskit.graders.keys import Cache, GraderCall, remembering
from harnesskit.graders.reading import Cells
from harnesskit.graders.signature import WHOLE, Parameter
from harnesskit.graders.verdicts import Failed
from harnesskit.model.errors import GraderError, listed
from harnesskit.model.frames import SAMPLES

ENDED_BADLY = ("error", "timeout", "skipped")
"""Statuses of a sample that has nothing to grade, except for a grader that reads ``status`` or ``error``."""


class Work(NamedTuple):
    """The calls of one grader.

    Parameters
    ----------
    function
        What to call.
    rows
        Its arguments, one row per place.
    places
        Samples that it is called for; None for all.
    rest
        What is said of the other samples, by place.
    """

    grader: Grader
    function: Callable[..., Any]
    rows: Iterable[tuple[Any, ...]]
    places: list[int] | None
    rest: dict[int, Failed]

    @property
    def waits(self) -> bool:
        """Whether the calls wait for something outside, so that several are made at once."""
        return self.grader.awaits or self.grader.blocking

    def results(self, called: Sequence[Any], n: int) -> list[Any]:
        """Return one result per sample, those of the calls in their places."""
        if self.places is None:
            return list(called)
        results: list[Any] = [None] * n
        for place, result in zip(self.places, called, strict=True):
            results[place] = result
        for place, said in self.rest.items():
            results[place] = said
        return results


def require_columns(samples: pd.DataFrame, graders: Sequence[Grader]) -> None:
    """Raise unless the frame has what every grader reads, and every grader has its settings."""
    SAMPLES.require(samples, "sample_id", by="grade()")
    for one in graders:
        if one.unset:
            raise GraderError(
                f"grader {one.name!r} needs the settings {listed(list(one.unset))}; "
                f"give them first: {one.name}.configured({one.unset[0]}=…)."
            )
        needed = [column for column in one.columns if column != WHOLE or column in samples.columns]
        SAMPLES.require(samples, *needed, by=f"grade() with grader {one.name!r}")


def work_of(grader: Grader, samples: pd.DataFrame, cells: Cells, cache: Cache | None) -> Work:
    """Return the calls of `grader` on `samples`."""
    n = len(samples)
    rest = {} if grader.sees_failures else ended_badly(samples, cells)
    columns = [_column(one, samples, cells, rest, raw=bool(grader.parts)) for one in grader.parameters]
    places = None if not rest else [place for place in range(n) if place not in rest]
    if places is not None:
        columns = [[column[place] for place in places] for column in columns]
    count = n if places is None else len(places)
    function = grader.function
    if grader.takes_call:
        columns.insert(0, _calls(samples, places, cache))
        function = functools.partial(_with_call, function)
    elif cache is not None:
        columns.insert(0, [call.trial for call in _calls(samples, places, None)])
        function = remembering(function, grader, cache, awaits=grader.awaits)
    rows: Iterable[tuple[Any, ...]] = zip(*columns, strict=True) if columns else [()] * count
    return Work(grader, function, rows, places, rest)


def _with_call(function: Callable[..., Any], call: GraderCall, *values: Any) -> Any:
    return function(*values, call=call)


def ended_badly(samples: pd.DataFrame, cells: Cells) -> dict[int, Failed]:
    """Return the samples that have nothing to grade, by place, and why."""
    if "status" not in samples:
        return {}
    bad = np.flatnonzero(samples["status"].isin(ENDED_BADLY).to_numpy(dtype=bool))
    if not len(bad):
        return {}
    status = cells.values("status")
    reasons = cells.values("reason") if "reason" in samples else [None] * len(samples)
    return {place: no_sample(status[place], reasons[place]) for place in bad.tolist()}


def no_sample(status: Any, reason: Any) -> Failed:
    """Return what is said of a sample that has nothing to grade.

    Examples
    --------
    >>> no_sample("timeout", None).reason
    'the sample ended with timeout: no reason given'
    """
    return Failed("unscored", f"the sample ended with {status}: {reason or 'no reason given'}")


def _column(one: Parameter, samples: pd.DataFrame, cells: Cells, rest: dict[int, Failed], *, raw: bool) -> list[Any]:
    """Return the cells of one parameter; samples that cannot be graded without it are added to `rest`."""
    if one.column == WHOLE and (raw or WHOLE not in samples):
        return cells.rows("raw" if raw else "json")
    if one.column not in samples:
        return [one.default] * len(cells)
    values, missing = cells.values(one.column, one.reading), cells.missing(one.column)
    if one.nullable or not missing.any():
        return values
    if one.required:
        for place in np.flatnonzero(missing).tolist():
            rest.setdefault(place, Failed("unscored", f"{one.column} is missing"))
        return values
    return [one.default if gone else value for value, gone in zip(values, missing.tolist(), strict=True)]


def _calls(samples: pd.DataFrame, places: list[int] | None, cache: Cache | None) -> list[GraderCall]:
    names = ("sample_id", "case_id", "trial")
    lists = [_plain(samples[name]) if name in samples else [None] * len(samples) for name in names]
    rows = list(zip(*lists, strict=True))
    chosen: Iterable[tuple[Any, ...]] = rows if places is None else [rows[place] for place in places]
    return [
        GraderCall(str(sample), None if case is None else str(case), None if trial is None else int(trial), cache)
        for sample, case, trial in chosen
    ]


def _plain(column: pd.Series[Any]) -> list[Any]:
    gone: NDArray[np.bool_] = column.isna().to_numpy(dtype=bool)
    return [None if missing else value for value, missing in zip(column.tolist(), gone.tolist(), strict=True)]
