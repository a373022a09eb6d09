"""Scorers as graders: a function from a session to its scores, as replays use it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from harnesskit.graders.grader import Grader, build
from harnesskit.graders.signature import awaits
from harnesskit.model.grade import Grade
from harnesskit.model.metrics import Metric


def from_scorer(
    scorer: Callable[[str], Any],
    *,
    metrics: str | Metric | Iterable[str | Metric] | None = None,
    name: str | None = None,
    version: str = "1",
) -> Grader:
    """Return a grader of a scorer: one row per metric that it scores. Reads ``session_id``.

    A scorer takes a session id and returns ``{metric: number or None}``, sync or async; a sync one is called in
    threads. As in replays, true and false are no scores.

    Parameters
    ----------
    metrics
        What it scores, so that a sample that it fails on has a row for each even when it fails on all.
    name
        Who scores; the ``grader`` of the scorer, or its own name, when None.

    Raises
    ------
    GraderError
        It is no function.

    Examples
    --------
    >>> scorer = from_scorer(lambda session: {"quality": 0.9, "tone": None}, name="nightly")
    >>> scorer("s-1")
    {'quality': 0.9, 'tone': None}
    """
    waits = callable(scorer) and awaits(scorer)

    async def later(session_id: str) -> Any:
        return _scores(await scorer(session_id))

    def now(session_id: str) -> Any:
        return _scores(scorer(session_id))

    given = getattr(scorer, "grader", None)
    called = name or (given if isinstance(given, str) and given else None)
    if called is None or not callable(scorer):
        called = build(scorer, name=called).name  # refuses what is no function
    return build(
        later if waits else now, name=called, metric=metrics, version=version, settings={"scorer": scorer},
        blocking=not waits,
    )  # fmt: skip


def _scores(values: Any) -> Any:
    if not isinstance(values, Mapping):
        return Grade.error(
            f"scores must be a mapping of metric to number; found a value of type {type(values).__name__}"
        )
    return {
        metric: Grade.unscored(f"{str(value).lower()} is not a number") if isinstance(value, bool) else value
        for metric, value in values.items()
    }
