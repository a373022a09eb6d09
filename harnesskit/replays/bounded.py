"""Calls with a time limit that holds whatever the code called does: block, or swallow its cancellation."""

from __future__ import annotations

import asyncio
import functools
import inspect
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from harnesskit.replays.workers import POOL, Ended, Job, Worker, settle

GRACE_S = 0.25
"""Seconds given to a cancelled call to clean up before it is left behind."""

RECHECK_S = 0.05
"""How often a call that waits for its environment is looked at: its limit changes when the environment is ready."""


@dataclass
class Limit:
    """The time limit of one call; waiting for an environment has a limit of its own.

    Parameters
    ----------
    timeout_s
        Seconds for the call; from when it began or, with `env_wait_s`, from when its environment was ready.
    env_wait_s
        Seconds for the environment; 0 charges everything to `timeout_s`.
    started
        When the environment was ready, in monotonic seconds; None while it is not.
    """

    timeout_s: float
    env_wait_s: float = 0.0
    started: Callable[[], float | None] = lambda: None
    begun: float = field(default_factory=time.monotonic)

    @property
    def waiting(self) -> bool:
        """Whether the call is still charged to `env_wait_s`."""
        return self.env_wait_s > 0 and self.started() is None

    def due(self) -> float:
        """Return the monotonic time at which the call is over its limit, as things stand."""
        if self.env_wait_s <= 0:
            return self.begun + self.timeout_s
        started = self.started()
        return self.begun + self.env_wait_s if started is None else started + self.timeout_s


class Calls(Protocol):
    """A way to call a function with a time limit."""

    async def call(self, function: Callable[[], Any], limit: Limit, *, awaits: bool) -> Ended | None:
        """Return how the call ended, or None when it was over its limit; nothing that it raises escapes."""


class WorkerCalls:
    """Calls in worker threads: everything is bounded, a blocking function too."""

    async def call(self, function: Callable[[], Any], limit: Limit, *, awaits: bool) -> Ended | None:
        """Call `function` in a worker, whether it blocks or gives an awaitable."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[Ended] = loop.create_future()
        worker = POOL.take()

        def deliver(ended: Ended) -> None:  # in the worker
            try:
                loop.call_soon_threadsafe(_set, done, ended)
            except RuntimeError:  # the run is over, nobody waits for this call any more
                worker.stop()

        job = Job(function, deliver)
        worker.submit(job)
        try:
            return await _wait(done, limit)
        finally:
            await _let_go(worker, job, done)


async def _let_go(worker: Worker, job: Job, done: asyncio.Future[Ended]) -> None:
    """Give the worker back, or leave it behind: it ends by itself when its call does."""
    try:
        if not done.done():
            job.cancel()
            await asyncio.wait([done], timeout=GRACE_S)
    finally:
        if done.done():
            POOL.give_back(worker)
        else:
            worker.stop()


def _set(done: asyncio.Future[Ended], ended: Ended) -> None:
    if not done.done():
        done.set_result(ended)


class LoopCalls:
    """Calls on the running event loop: what awaits is bounded there, what does not goes to a worker thread."""

    def __init__(self) -> None:
        self._workers = WorkerCalls()
        self._left: set[asyncio.Task[Ended]] = set()  # asyncio itself holds tasks weakly

    async def call(self, function: Callable[[], Any], limit: Limit, *, awaits: bool) -> Ended | None:
        """Call `function` on the running loop when it `awaits`, else in a worker."""
        if not awaits:
            return await self._workers.call(function, limit, awaits=False)
        task = asyncio.ensure_future(settle(_called(function)))
        try:
            return await _wait(task, limit)
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait([task], timeout=GRACE_S)
            if not task.done():
                self._left.add(task)
                task.add_done_callback(self._left.discard)


async def _called(function: Callable[[], Any]) -> Any:
    value = function()
    return await value if inspect.isawaitable(value) else value


async def _wait(done: asyncio.Future[Ended], limit: Limit) -> Ended | None:
    while not done.done():
        left = limit.due() - time.monotonic()
        if left <= 0:
            return None
        if limit.waiting:
            left = min(left, RECHECK_S)
        await asyncio.wait([done], timeout=None if math.isinf(left) else left)
    ended = done.result()
    return ended if ended.at <= limit.due() else None


def awaits(function: Callable[..., Any]) -> bool:
    """Return whether calling `function` gives something to await: an async function, method, or object.

    Examples
    --------
    >>> async def later(case): ...
    >>> awaits(later), awaits(functools.partial(later)), awaits(print)
    (True, True, False)
    """
    while isinstance(function, functools.partial):
        function = function.func
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004
