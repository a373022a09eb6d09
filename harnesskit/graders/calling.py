"""Calls of a grader, one per sample: what one raises is its own result and never costs another sample."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from harnesskit.graders.verdicts import Failed, failed

Arguments = tuple[Any, ...]


def call_each(function: Callable[..., Any], rows: Iterable[Arguments]) -> list[Any]:
    """Return what `function` returns for each row, or why it failed, one after another in this thread.

    A call of `sys.exit` is a failure like any other; an interrupt from the keyboard stops everything.
    """
    results: list[Any] = []
    keep = results.append
    for row in rows:
        try:
            keep(function(*row))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # SystemExit and its like: one grader must not end the program
            keep(failed(error))
    return results


async def acall_each(
    function: Callable[..., Any],
    rows: Sequence[Arguments],
    *,
    concurrency: int,
    timeout_s: float | None,
    threads: bool,
) -> list[Any]:
    """Return the same for calls that wait: at most `concurrency` at once, each bounded by `timeout_s`.

    Parameters
    ----------
    threads
        True for a function that blocks: each call has a daemon thread, which is left behind when its time is over.
    """
    results: list[Any] = [None] * len(rows)
    places = iter(range(len(rows)))
    stopped: list[KeyboardInterrupt] = []

    async def work() -> None:
        for place in places:
            if stopped:
                return
            try:
                results[place] = await _bounded(function, rows[place], timeout_s, threads)
            except KeyboardInterrupt as error:
                stopped.append(error)

    workers = [asyncio.ensure_future(work()) for _ in range(min(concurrency, len(rows)))]
    try:
        await asyncio.gather(*workers)
    finally:
        for worker in workers:
            worker.cancel()
    if stopped:
        raise KeyboardInterrupt
    return results


async def _bounded(function: Callable[..., Any], row: Arguments, timeout_s: float | None, threads: bool) -> Any:
    limit = asyncio.timeout(timeout_s)
    try:
        async with limit:
            result = await in_thread(function, row) if threads else function(*row)
            return await result if inspect.isawaitable(result) else result
    except KeyboardInterrupt:
        raise
    except TimeoutError as error:
        return Failed("error", f"timed_out: after {timeout_s:g} s") if limit.expired() else failed(error)
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        return failed(error)
    except BaseException as error:  # SystemExit would end the event loop
        return failed(error)


async def in_thread(function: Callable[..., Any], row: Arguments) -> Any:
    """Return what a blocking call returns, or raise what it raises, without blocking the loop: a daemon thread."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[tuple[Any, BaseException | None]] = loop.create_future()
    context = contextvars.copy_context()

    def deliver(ended: tuple[Any, BaseException | None]) -> None:
        if not done.done():
            done.set_result(ended)

    def call() -> None:
        try:
            ended: tuple[Any, BaseException | None] = (context.run(function, *row), None)
        except BaseException as error:
            ended = (None, error)
        try:
            loop.call_soon_threadsafe(deliver, ended)
        except RuntimeError:  # the loop is gone, nobody waits for this call any more
            return

    threading.Thread(target=call, name="harnesskit-grader", daemon=True).start()
    value, error = await done
    if error is not None:
        raise error
    return value
