"""Asking a judge: at most so many at once and per minute, tried again when that can help, every call counted."""

from __future__ import annotations

import asyncio
import inspect
import random
import threading
import time
import weakref
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from harnesskit.graders.calling import in_thread
from harnesskit.graders.questions import Question
from harnesskit.graders.signature import awaits
from harnesskit.model.errors import GraderError, HarnesskitError

Outcome = Literal["answered", "rate_limited", "server_error", "timed_out", "unreachable", "failed"]


class AskError(HarnesskitError):
    """A judge could not be asked; for an `ask` function to raise.

    Attributes
    ----------
    outcome
        What happened; ``failed`` for what another try would not change.
    transient
        True when asking again may help.
    retry_after_s
        Seconds that the other side asked to wait.
    """

    def __init__(
        self,
        message: str,
        *,
        outcome: Outcome = "server_error",
        transient: bool = True,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(message)
        self.outcome = outcome
        self.transient = transient
        self.retry_after_s = retry_after_s


@dataclass(frozen=True, slots=True)
class Reply:
    """What a judge replied, and what it cost; an `ask` function may return the bare text instead.

    Parameters
    ----------
    text
        The reply as it came.
    refusal
        Why the judge would not answer, or why its answer was cut off; the vote is unscored then.
    input_tokens, output_tokens, cost_usd
        As far as known.
    """

    text: str
    refusal: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """How hard a judge may be asked.

    Parameters
    ----------
    concurrency
        Calls at once.
    per_minute
        Calls begun per minute, evenly spread; None for no limit.
    tries
        Calls for one reply at most; only transient errors are tried again.
    timeout_s
        Seconds for one call.
    deadline_s
        Seconds for one reply, all tries and waits between them included.
    first_wait_s, longest_wait_s
        The wait before the second try is drawn from 0 to `first_wait_s`, the next ones from 0 to twice as much each,
        up to `longest_wait_s` (full jitter), unless the other side says how long.
    """

    concurrency: int = 8
    per_minute: float | None = None
    tries: int = 5
    timeout_s: float = 60.0
    deadline_s: float = 600.0
    first_wait_s: float = 1.0
    longest_wait_s: float = 60.0

    def __post_init__(self) -> None:
        """Refuse limits under which nothing could be asked."""
        for name in ("concurrency", "tries", "timeout_s", "deadline_s"):
            if not getattr(self, name) > 0:
                raise GraderError(f"limits of a judge need {name} above 0; found {getattr(self, name)!r}.")
        if self.per_minute is not None and not self.per_minute > 0:
            raise GraderError(f"limits of a judge need per_minute above 0, or None; found {self.per_minute!r}.")


class Asked(NamedTuple):
    """How asking for one reply ended: the reply, or None with the last error; and every call made for it."""

    reply: Reply | None
    reason: str
    calls: tuple[Outcome, ...]
    seconds: float


Ask = Callable[[Question], Any]
"""Any function of a question, sync or async, that returns the reply as text or as a `Reply`."""


@dataclass
class Gate:
    """The door to one judge: all that ask it go through here and share its limits.

    Parameters
    ----------
    limits
        What is allowed.
    clock, sleep, draw
        Time and chance, for tests; what is drawn changes when a call is made and nothing else.
    """

    limits: Limits = field(default_factory=Limits)
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[Any]] = asyncio.sleep
    draw: Callable[[], float] = random.random

    def __post_init__(self) -> None:
        """Begin with an open door."""
        self._doors: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = (
            weakref.WeakKeyDictionary()
        )
        self._lock = threading.Lock()
        self._next = 0.0

    async def ask(self, ask: Ask, question: Question) -> Asked:
        """Return the reply of `ask`, or why there is none; nothing is raised but a cancellation."""
        begin = self.clock()
        until = begin + self.limits.deadline_s
        calls: list[Outcome] = []
        while True:
            ended = await self._one_call(ask, question, until)
            if isinstance(ended, Reply):
                calls.append("answered")
                return Asked(ended, "", tuple(calls), self.clock() - begin)
            calls.append(ended.outcome)
            wait = self._wait(ended, len(calls))
            over = len(calls) >= self.limits.tries or self.clock() + wait >= until
            if over or not ended.transient:
                tried = f" (after {len(calls)} calls)" if len(calls) > 1 else ""
                return Asked(None, f"{ended.outcome}: {ended}{tried}", tuple(calls), self.clock() - begin)
            await self.sleep(wait)

    async def _one_call(self, ask: Ask, question: Question, until: float) -> Reply | AskError:
        async with self._door():
            await self._turn()
            limit = asyncio.timeout(min(self.limits.timeout_s, max(until - self.clock(), 0.0)))
            try:
                async with limit:
                    told = ask(question) if awaits(ask) else await in_thread(ask, (question,))
                    told = await told if inspect.isawaitable(told) else told
            except AskError as error:
                return error
            except TimeoutError as error:
                text = f"no reply within {self.limits.timeout_s:g} s" if limit.expired() else str(error) or "timed out"
                return AskError(text, outcome="timed_out")
            except ConnectionError as error:
                return AskError(f"{type(error).__name__}: {error}", outcome="unreachable")
            except Exception as error:  # other people's code: what it raises is told, and not tried again
                return AskError(f"{type(error).__name__}: {error}", outcome="failed", transient=False)
        if isinstance(told, str):
            return Reply(told)
        if isinstance(told, Reply):
            return told
        what = f"`ask` must return text or a Reply; it returned a value of type {type(told).__name__}"
        return AskError(what, outcome="failed", transient=False)

    def _door(self) -> asyncio.Semaphore:
        """Return the semaphore of the running loop, to which it is bound."""
        return self._doors.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(self.limits.concurrency))

    async def _turn(self) -> None:
        """Wait until the next call may begin."""
        while (left := self._left()) > 0:
            await self.sleep(left)

    def _left(self) -> float:
        """Return the seconds until a call may begin; 0 takes the turn."""
        with self._lock:
            now = self.clock()
            if now < self._next:
                return self._next - now
            if self.limits.per_minute is not None:
                self._next = now + 60.0 / self.limits.per_minute
            return 0.0

    def _wait(self, error: AskError, calls: int) -> float:
        """Return how long to wait before the next try; what the other side asks for holds for everybody."""
        reach = min(self.limits.first_wait_s * 2.0 ** min(calls - 1, 60), self.limits.longest_wait_s)
        wait = self.draw() * reach
        if error.retry_after_s is not None and error.transient:
            asked = max(error.retry_after_s, 0.0)
            with self._lock:
                self._next = max(self._next, self.clock() + min(asked, self.limits.deadline_s))
            wait += asked
        return wait
