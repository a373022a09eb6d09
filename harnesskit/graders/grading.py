"""The public verb: grade samples with any number of graders and return one row per sample, metric and grader."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import pandas as pd

from harnesskit.graders import loops
from harnesskit.graders.calling import acall_each, call_each
from harnesskit.graders.grader import Grader, as_grader
from harnesskit.graders.keys import Cache
from harnesskit.graders.reading import Cells
from harnesskit.graders.table import Block, blocks_of, grades_frame
from harnesskit.graders.work import Work, require_columns, work_of
from harnesskit.model.errors import FrameError, GraderError, listed
from harnesskit.model.metrics import Metric, Metrics

GraderLike = Grader | Callable[..., Any]


@runtime_checkable
class WholeTable(Protocol):
    """A grader that sees all samples at once, e.g. an expression in SQL."""

    def prepare(self, samples: pd.DataFrame) -> None:
        """Raise for what is missing, before any work."""

    def grade_table(self, samples: pd.DataFrame, metrics: Metrics) -> list[Block]:
        """Return what it says of every sample."""


class _Plan(NamedTuple):
    samples: pd.DataFrame
    graders: list[Grader]
    metrics: Metrics
    cells: Cells


def grade(
    samples: pd.DataFrame,
    graders: GraderLike | Iterable[GraderLike],
    *,
    metrics: Iterable[Metric] | None = None,
    concurrency: int = 8,
    timeout_s: float | None = None,
    cache: Cache | None = None,
) -> pd.DataFrame:
    """Return one row per sample, metric and grader (`GRADES`), in the order of the samples.

    Every row has a status: ``ok`` with a value; else ``unscored`` (the grader cannot say, a cell it needs is missing,
    or the sample ended in an error), ``error`` (the grader failed), ``out_of_range`` or ``not_applicable``, with the
    reason. One bad sample or grader never costs another. Works in a script, in a notebook cell and in a thread.

    Parameters
    ----------
    samples
        A samples frame, or one made by hand: ``sample_id`` and the columns that the graders read. What identifies a
        sample (case, trial, arm, ...) is taken over. Attempts that do not count (``counts`` false) have no row.
    graders
        Graders, or plain functions whose parameter names are columns. Names must differ.
    metrics
        Ranges of metrics, where they should differ from what a grader declares.
    concurrency
        Calls at once of graders that are async or ``blocking``; the others run one after another.
    timeout_s
        Seconds for one call of such a grader.
    cache
        Kept verdicts, by a key of everything that matters (cells, grader, version, settings, code, trial); only
        values are kept, each as it is made.

    Raises
    ------
    FrameError
        A column is missing, or a sample id stands twice; nothing has been called then.
    GraderError
        Two graders have one name and metric, or a grader cannot be used.
    PolicyError
        Two graders declare one metric differently.
    KeyboardInterrupt
        Grading was stopped; what is in `cache` stays there.

    Examples
    --------
    >>> samples = pd.DataFrame({"sample_id": ["s-1", "s-2"], "output": ["Paris", None]})
    >>> def short(output: str) -> bool:
    ...     return len(output) < 9
    >>> grade(samples, short)[["sample_id", "metric", "value", "status", "reason"]]
      sample_id metric  value    status             reason
    0       s-1  short    1.0        ok               None
    1       s-2  short    NaN  unscored  output is missing
    """
    plan = _planned(samples, graders, metrics, concurrency)
    blocks: list[Block] = []
    for one in plan.graders:
        if isinstance(one, WholeTable):
            blocks += one.grade_table(plan.samples, plan.metrics)
            continue
        work = work_of(one, plan.samples, plan.cells, cache)
        if work.waits:
            called = loops.run(_waited(work, concurrency, timeout_s))
        else:
            called = call_each(work.function, work.rows)
            if _open_ends(called):
                called = loops.run(_settled(called, concurrency, timeout_s))
        blocks += blocks_of(one, work.results(called, len(plan.samples)), plan.metrics)
    return grades_frame(plan.samples, blocks)


async def agrade(
    samples: pd.DataFrame,
    graders: GraderLike | Iterable[GraderLike],
    *,
    metrics: Iterable[Metric] | None = None,
    concurrency: int = 8,
    timeout_s: float | None = None,
    cache: Cache | None = None,
) -> pd.DataFrame:
    """Return the same as `grade`, with async graders on the event loop that is running: with its clients and locks.

    Examples
    --------
    >>> import asyncio
    >>> samples = pd.DataFrame({"sample_id": ["s-1"], "output": ["Paris"]})
    >>> async def short(output: str) -> bool:
    ...     return len(output) < 9
    >>> asyncio.run(agrade(samples, short))["value"].tolist()
    [1.0]
    """
    plan = _planned(samples, graders, metrics, concurrency)
    blocks: list[Block] = []
    for one in plan.graders:
        if isinstance(one, WholeTable):
            blocks += one.grade_table(plan.samples, plan.metrics)
            continue
        work = work_of(one, plan.samples, plan.cells, cache)
        if work.waits:
            called = await _waited(work, concurrency, timeout_s)
        else:
            called = call_each(work.function, work.rows)
            if _open_ends(called):
                called = await _settled(called, concurrency, timeout_s)
        blocks += blocks_of(one, work.results(called, len(plan.samples)), plan.metrics)
    return grades_frame(plan.samples, blocks)


def _open_ends(called: Sequence[Any]) -> bool:
    """Whether a plain function returned something to await, e.g. a lambda over an async function."""
    return any(hasattr(kind, "__await__") for kind in set(map(type, called)))


async def _waited(work: Work, concurrency: int, timeout_s: float | None) -> list[Any]:
    return await acall_each(
        work.function,
        list(work.rows),
        concurrency=concurrency,
        timeout_s=timeout_s,
        threads=work.grader.blocking and not work.grader.awaits,
    )


async def _settled(called: Sequence[Any], concurrency: int, timeout_s: float | None) -> list[Any]:
    """Await what is to be awaited among the results of a plain function."""
    places = [place for place, result in enumerate(called) if hasattr(result, "__await__")]
    rows = [(called[place],) for place in places]
    ended = await acall_each(lambda one: one, rows, concurrency=concurrency, timeout_s=timeout_s, threads=False)
    results = list(called)
    for place, result in zip(places, ended, strict=True):
        results[place] = result
    return results


def _planned(samples: pd.DataFrame, graders: Any, metrics: Iterable[Metric] | None, concurrency: int) -> _Plan:
    """Check everything before anything is called."""
    if isinstance(concurrency, bool) or not isinstance(concurrency, int) or concurrency < 1:
        raise GraderError(f"grade() needs concurrency as a whole number from 1; found {concurrency!r}.")
    chosen = _graders(graders)
    require_columns(samples, [one for one in chosen if not isinstance(one, WholeTable)])
    _require_ids(samples)
    for one in chosen:
        if isinstance(one, WholeTable):
            one.prepare(samples)
    given = Metrics.of(metrics)
    Metrics(metric for one in chosen for metric in one.metrics if metric.declared and metric.name not in given)
    if "counts" in samples:
        samples = samples[~samples["counts"].isin([False])]
    samples = samples.reset_index(drop=True)
    return _Plan(samples, chosen, given, Cells(samples))


def _graders(given: Any) -> list[Grader]:
    several = [given] if callable(given) else list(given) if isinstance(given, Iterable) else None
    if not several or isinstance(given, str):
        raise GraderError(f"grade() needs a grader or a list of them; found {given!r}.")
    graders = [as_grader(one) for one in several]
    seen: set[tuple[str, str | None]] = set()
    for one in graders:
        names: list[str | None] = [metric.name for metric in one.metrics]
        for key in [(one.name, metric) for metric in names or [None]]:
            open_clash = key[1] is None and any(name == one.name for name, _ in seen)
            if key in seen or open_clash or (one.name, None) in seen:
                raise GraderError(
                    f"grade() needs graders that can be told apart; found two named {one.name!r} with the metric "
                    f"{key[1] or one.name!r}. Give one another name: .named('{one.name}_2')."
                )
            seen.add(key)
    return graders


def _require_ids(samples: pd.DataFrame) -> None:
    ids = samples["sample_id"]
    if not ids.is_unique or ids.hasnans:
        twice = ids[ids.duplicated(keep="first") | ids.isna()]
        shown = [repr(one) for one in twice.drop_duplicates().tolist()]
        raise FrameError(
            "grade() needs a samples frame with one row per sample_id; "
            f"found missing or repeated ids: {listed(shown)}. Drop the repeats, or number the rows."
        )
