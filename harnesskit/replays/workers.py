"""Daemon threads, each with an event loop of its own that lives on, in which other people's code is run."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import os
import queue
import threading
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

KEPT_IDLE = 8
"""Idle workers kept for the next run, so that what is bound to their event loops (an HTTP client) stays usable."""


class Ended(NamedTuple):
    """How a call ended: with a value, or with an exception of any kind, and when (monotonic seconds)."""

    value: Any
    error: BaseException | None
    at: float


class Job:
    """One call of a function in a worker.

    Parameters
    ----------
    function
        What to call; an awaitable that it returns is awaited on the event loop of the worker.
    deliver
        Called in the worker with how the call ended.
    """

    def __init__(self, function: Callable[[], Any], deliver: Callable[[Ended], None]) -> None:
        self._function = function
        self._deliver = deliver
        self._context = contextvars.copy_context()
        self._task: asyncio.Task[Any] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._cancelled = False

    def cancel(self) -> None:
        """Ask the call to end; only an awaitable can hear it."""
        self._cancelled = True
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._cancel_task)

    def _cancel_task(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def run(self, runner: Callable[[Coroutine[Any, Any, Ended], contextvars.Context], Ended]) -> None:
        """Make the call, in the worker, and deliver how it ended."""
        try:
            value = self._context.run(self._function)
            ended = runner(self._await(value), self._context) if inspect.isawaitable(value) else None
            ended = ended or Ended(value, None, time.monotonic())
        except BaseException as error:  # whatever other people's code raises ends its call, never the worker
            ended = Ended(None, error, time.monotonic())
        self._deliver(ended)

    async def _await(self, value: Any) -> Ended:
        self._task = asyncio.current_task()
        self._loop = asyncio.get_running_loop()
        if self._cancelled and self._task is not None:
            self._task.cancel()
        return await settle(value)


async def settle(value: Any) -> Ended:
    """Await `value` and return how it ended; nothing but the end of the event loop escapes."""
    try:
        result = await value
    except GeneratorExit:
        raise
    except BaseException as error:
        return Ended(None, error, time.monotonic())
    return Ended(result, None, time.monotonic())


class DaemonExecutor(ThreadPoolExecutor):
    """The executor behind ``asyncio.to_thread`` in a worker: a stuck call must not keep the interpreter alive."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run the call in a daemon thread of its own."""
        future: Future[Any] = Future()

        def run() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(fn(*args, **kwargs))
            except BaseException as error:
                future.set_exception(error)

        threading.Thread(target=run, name="harnesskit-replay-call", daemon=True).start()
        return future


class Worker:
    """One daemon thread; its event loop is made when it is first needed and lives as long as the thread."""

    def __init__(self) -> None:
        self._inbox: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._work, name="harnesskit-replay", daemon=True)
        self._thread.start()

    def submit(self, job: Job) -> None:
        """Run `job` when the worker is free."""
        self._inbox.put(job)

    def stop(self) -> None:
        """End the thread after what it is doing now."""
        self._inbox.put(None)

    def _work(self) -> None:
        while (job := self._inbox.get()) is not None:
            job.run(self._run)
            del job  # an idle worker holds on to nothing of the last replay
        if self._loop is not None:
            close(self._loop)

    def _run(self, coroutine: Coroutine[Any, Any, Ended], context: contextvars.Context) -> Ended:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._loop.set_default_executor(DaemonExecutor(max_workers=1))
            asyncio.set_event_loop(self._loop)
        task = self._loop.create_task(coroutine, context=context)
        try:
            return self._loop.run_until_complete(task)
        finally:
            if task.done() and not task.cancelled():
                task.exception()  # seen here, so that asyncio does not report it again


def close(loop: asyncio.AbstractEventLoop) -> None:
    """Cancel what is left on `loop`, give it a moment, and close it."""
    left = asyncio.all_tasks(loop)
    for task in left:
        task.cancel()
    if left:
        loop.run_until_complete(asyncio.wait(left, timeout=1))
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.close()


class _Pool:
    """The workers of this process: the last one used is the first one used again."""

    def __init__(self) -> None:
        self._idle: list[Worker] = []
        self._lock = threading.Lock()

    def take(self) -> Worker:
        with self._lock:
            return self._idle.pop() if self._idle else Worker()

    def give_back(self, worker: Worker) -> None:
        with self._lock:
            self._idle.append(worker)

    def trim(self) -> None:
        """End idle workers over `KEPT_IDLE`, the least used first."""
        with self._lock:
            for worker in self._idle[:-KEPT_IDLE]:
                worker.stop()
            del self._idle[:-KEPT_IDLE]

    def forget(self) -> None:
        """After a fork no thread of the parent is there."""
        self._idle, self._lock = [], threading.Lock()


POOL = _Pool()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=POOL.forget)
