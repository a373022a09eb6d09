"""Run the trials of a list of cases: so many at once, each attempt handed to a sink as it ends, row order fixed."""

from __future__ import annotations

import asyncio
import threading
import warnings
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from harnesskit.model.case import EvalCase
from harnesskit.model.replay import ReplayError
from harnesskit.replays.attempt import Attempt
from harnesskit.replays.bounded import Calls, LoopCalls, WorkerCalls
from harnesskit.replays.progress import progress as progress_bar
from harnesskit.replays.setup import Interrupted, Record, ReplayFunction, Setup, Trial
from harnesskit.replays.workers import POOL
from harnesskit.workspace.rows import SampleRow, ScoreRow
from harnesskit.workspace.run_records import UNFINISHED

MOST_AT_ONCE = 256
"""Highest concurrency: every replay at work has a thread and an event loop of its own."""

Sink = Callable[[SampleRow, list[ScoreRow]], None]
"""Takes each attempt as it ends; called from one thread at a time."""

_T = TypeVar("_T")


def replay_cases(
    cases: Sequence[EvalCase],
    replay: ReplayFunction | None,
    *,
    trials: int = 1,
    concurrency: int = 1,
    retries: int = 0,
    earlier: Iterable[SampleRow] = (),
    sink: Sink | None = None,
    progress: bool = False,
    **setup: Any,
) -> list[Record]:
    """Replay cases and return one record per new attempt, by case, trial and attempt.

    Works in a script, in a thread, and while an event loop is running (it blocks the caller, not the replays). Replays
    run in worker threads, so that a function that blocks is bounded too; each thread has an event loop of its own,
    which lives on and is used again.

    Parameters
    ----------
    cases
        What to replay.
    replay
        Takes ``(case, context)`` or ``(case)``, sync or async; without one every case is skipped, with one warning.
    trials
        Independent repeats of each case, from 1 up.
    concurrency
        Replays at work at once, from 1 to `MOST_AT_ONCE`.
    retries
        Further attempts of a trial that ended in an error or a timeout.
    earlier
        Attempts that the run has already; their finished trials are not run again.
    sink
        Called with each attempt and its scores as it ends; when it raises, the run stops.
    progress
        Show a progress bar where there is a terminal or a notebook.
    **setup
        The fields of `Setup`: ``run_id`` (required), ``arm``, ``rule``, ``rules``, ``scorer``, ``verifier``,
        ``timeout_s``, ``env_wait_s``, ``scoring_timeout_s``, ``seed``.

    Raises
    ------
    ReplayError
        A number is out of its range, or a case is given twice.
    KeyboardInterrupt
        The user stopped the run, or a replay did; what had ended has gone to the sink, what was at work as
        ``interrupted``.
    """
    check_counts(trials=trials, concurrency=concurrency, retries=retries)
    made = Setup(replay=replay, **setup)
    run = _Run(made, WorkerCalls(), sink, retries)
    todo = _todo(made, cases, trials, list(earlier))
    try:
        with progress_bar(len(todo), wanted=progress) as step:
            return _blocking(run.go(todo, concurrency, step))
    except Interrupted:
        raise KeyboardInterrupt from None
    finally:
        POOL.trim()


async def areplay_cases(
    cases: Sequence[EvalCase],
    replay: ReplayFunction | None,
    *,
    trials: int = 1,
    concurrency: int = 1,
    retries: int = 0,
    earlier: Iterable[SampleRow] = (),
    sink: Sink | None = None,
    progress: bool = False,
    **setup: Any,
) -> list[Record]:
    """Replay cases on the running event loop and return one record per new attempt; parameters as `replay_cases`.

    What awaits runs on the caller's own loop, with its clients and locks, and is bounded as long as it awaits: a call
    that blocks inside it blocks the loop. A function that is not async goes to a worker thread.
    """
    check_counts(trials=trials, concurrency=concurrency, retries=retries)
    made = Setup(replay=replay, **setup)
    run = _Run(made, LoopCalls(), sink, retries)
    todo = _todo(made, cases, trials, list(earlier))
    try:
        with progress_bar(len(todo), wanted=progress) as step:
            return await run.go(todo, concurrency, step)
    except Interrupted:
        raise KeyboardInterrupt from None


def replay_trials(
    setup: Setup, trials: Sequence[Trial], *, concurrency: int = 1, sink: Sink | None = None
) -> list[Record]:
    """Run these trials and no others, one attempt each, and return their records in the order given.

    For a caller that decides after every round what to replay next; it keeps one `Setup` for the whole run, so that
    no session id comes twice. Blocks as `replay_cases` does.

    Raises
    ------
    KeyboardInterrupt
        As `replay_cases`.
    """
    check_counts(trials=1, concurrency=concurrency, retries=0)
    run = _Run(setup, WorkerCalls(), sink, 0)
    try:
        return _blocking(run.go(_placed(trials), concurrency, _no_step))
    except Interrupted:
        raise KeyboardInterrupt from None
    finally:
        POOL.trim()


async def areplay_trials(
    setup: Setup, trials: Sequence[Trial], *, concurrency: int = 1, sink: Sink | None = None
) -> list[Record]:
    """Do the same as `replay_trials` on the running event loop; bounded as `areplay_cases` is."""
    check_counts(trials=1, concurrency=concurrency, retries=0)
    try:
        return await _Run(setup, LoopCalls(), sink, 0).go(_placed(trials), concurrency, _no_step)
    except Interrupted:
        raise KeyboardInterrupt from None


def _placed(trials: Sequence[Trial]) -> _Todo:
    return [((place, trial.trial), trial) for place, trial in enumerate(trials)]


def _no_step() -> None:
    """Show no progress: the caller does."""


def check_counts(*, trials: int, concurrency: int, retries: int) -> None:
    """Raise `ReplayError` for a number out of its range."""
    ranges = {"trials": (trials, 1, None), "concurrency": (concurrency, 1, MOST_AT_ONCE), "retries": (retries, 0, None)}
    for name, (value, low, high) in ranges.items():
        fits = isinstance(value, int) and not isinstance(value, bool) and low <= value <= (high or value)
        if not fits:
            wanted = f"from {low} up" if high is None else f"from {low} to {high}"
            raise ReplayError(f"{name} must be a whole number {wanted}; found {value!r}.")


_Todo = list[tuple[tuple[int, int], Trial]]
"""Place in the result, and what is to be run there."""


def _todo(setup: Setup, cases: Sequence[EvalCase], trials: int, earlier: list[SampleRow]) -> _Todo:
    """Return the trials that have no finished attempt yet: the first trial of every case, then the second, ..."""
    ids = [case.id for case in cases]
    if len(set(ids)) < len(ids):
        raise ReplayError(f"a run needs each case once; {max(ids, key=ids.count)!r} was given more than once.")
    if setup.replay is None and cases:
        message = "No replay function was given, so every case is skipped; pass one as replay=."
        warnings.warn(message, UserWarning, stacklevel=4)
    known: dict[tuple[str | None, int | None], list[SampleRow]] = {}
    for row in earlier:
        if row.arm == setup.arm:
            known.setdefault((row.case_id, row.trial), []).append(row)
        if row.session_id is not None:
            setup.sessions.used.add(row.session_id)
    todo: _Todo = []
    for trial in range(1, trials + 1):
        for place, case in enumerate(cases):
            made = known.get((case.id, trial), [])
            if all(row.status in UNFINISHED for row in made):
                todo.append(((place, trial), Trial(case, trial, max((row.attempt for row in made), default=0) + 1)))
    return todo


class _Run:
    """The lanes of one run, all on one event loop: nothing here is called by two threads."""

    def __init__(self, setup: Setup, calls: Calls, sink: Sink | None, retries: int) -> None:
        self._setup = setup
        self._calls = calls
        self._sink = sink
        self._retries = retries
        self._records: dict[tuple[int, int], list[Record]] = {}

    async def go(self, todo: _Todo, concurrency: int, step: Callable[[], None]) -> list[Record]:
        """Run the trials in so many lanes and return the records, by place."""
        waiting = iter(todo)
        lanes = [asyncio.ensure_future(self._lane(waiting, step)) for _ in range(min(concurrency, len(todo)))]
        try:
            if lanes:
                await asyncio.wait(lanes, return_when=asyncio.FIRST_EXCEPTION)
        finally:
            for lane in lanes:
                lane.cancel()
            ends = await asyncio.gather(*lanes, return_exceptions=True)
        failed = [end for end in ends if isinstance(end, BaseException) and not _is_cancelled(end)]
        if failed:
            raise failed[0]
        return [record for place in sorted(self._records) for record in self._records[place]]

    async def _lane(self, waiting: Iterator[tuple[tuple[int, int], Trial]], step: Callable[[], None]) -> None:
        for place, trial in waiting:
            await self._trial(place, trial)
            step()

    async def _trial(self, place: tuple[int, int], trial: Trial) -> None:
        for number in range(trial.attempt, trial.attempt + self._retries + 1):
            attempt = Attempt(self._setup, trial._replace(attempt=number))
            try:
                record = await attempt.run(self._calls)
            except (asyncio.CancelledError, Interrupted):
                self._keep(place, attempt.interrupted())
                raise
            self._keep(place, record)
            if record.sample.status not in UNFINISHED:
                return

    def _keep(self, place: tuple[int, int], record: Record) -> None:
        if self._sink is not None:
            self._sink(record.sample, record.scores)
        self._records.setdefault(place, []).append(record)


def _is_cancelled(end: BaseException) -> bool:
    return isinstance(end, asyncio.CancelledError)


def _blocking(coroutine: Coroutine[Any, Any, _T]) -> _T:
    """Run our own coroutine on an event loop in a thread of its own and wait for its end; Ctrl-C cancels it first."""
    loop = asyncio.new_event_loop()
    task = loop.create_task(coroutine)  # with the context variables of the caller, which replays may read
    over = threading.Event()

    def work() -> None:
        try:
            loop.run_until_complete(asyncio.wait([task]))
        finally:
            over.set()

    thread = threading.Thread(target=work, name="harnesskit-run", daemon=True)
    thread.start()
    try:
        while not over.wait(1.0):  # with a limit, so that Ctrl-C is heard on every system
            pass
    except KeyboardInterrupt:
        loop.call_soon_threadsafe(task.cancel)
        over.wait()
        raise
    finally:
        if over.is_set():
            thread.join()
            loop.close()
    return task.result()
