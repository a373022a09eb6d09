"""One event loop for the async graders of this process, in a thread of its own that lives on.

What is bound to the loop (an HTTP client) stays usable from one call of ``hk.grade`` to the next, and a notebook, whose
own loop is running, is no different from a script.
"""

from __future__ import annotations

import asyncio
import contextvars
import os
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")

POLL_S = 0.2
"""How often the waiting thread wakes up, so that an interrupt is heard at once on every platform."""


class _LastingLoop:
    """The loop and its thread, made when first needed."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = threading.Lock()

    def get(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None or self._loop.is_closed():
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._loop.run_forever, name="harnesskit-graders", daemon=True).start()
            return self._loop

    def forget(self) -> None:
        """After a fork no thread of the parent is there."""
        self._loop, self._lock = None, threading.Lock()


_LASTING = _LastingLoop()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_LASTING.forget)


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run `work` on the lasting loop and return what it returns; an interrupt cancels it and goes on."""
    loop = _LASTING.get()
    context = contextvars.copy_context()
    done: Future[T] = Future()
    tasks: list[asyncio.Task[None]] = []

    async def settle() -> None:
        try:
            result = await work
        except BaseException as error:
            done.set_exception(error)
        else:
            done.set_result(result)

    loop.call_soon_threadsafe(lambda: tasks.append(loop.create_task(settle(), context=context)))
    try:
        while not done.done():
            _wait(done)
        return done.result()
    except KeyboardInterrupt:
        loop.call_soon_threadsafe(lambda: [task.cancel() for task in tasks])
        raise


def _wait(done: Future[Any]) -> None:
    arrived = threading.Event()
    done.add_done_callback(lambda _: arrived.set())
    arrived.wait(POLL_S)
