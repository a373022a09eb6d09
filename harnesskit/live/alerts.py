"""When a turn's alert becomes a notice: what is new to its session, the cooldown, and the circuit breaker."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from harnesskit.model.config import HarnessConfig

MAX_SESSIONS = 10_000
"""Sessions remembered by one process, the longest unused forgotten first (its next alert counts as new)."""


class Alert(NamedTuple):
    """What to do about the conditions of one turn."""

    post: bool
    recovered: bool


def judge_alert(
    previous: Collection[str] | None, current: Collection[str], *, cooldown_left: int, cooldown: int
) -> Alert:
    """Return whether the conditions of a turn are worth a notice, and whether the session recovered.

    A condition that the previous alert of the session did not have is. The same conditions again are so only when
    there is a cooldown and it is over. No condition after an alert is a recovery.

    Examples
    --------
    >>> judge_alert(None, {"stall:coherence"}, cooldown_left=0, cooldown=0)
    Alert(post=True, recovered=False)
    >>> judge_alert({"stall:coherence"}, {"stall:coherence"}, cooldown_left=0, cooldown=0)
    Alert(post=False, recovered=False)
    >>> judge_alert({"stall:coherence"}, (), cooldown_left=0, cooldown=0)
    Alert(post=False, recovered=True)
    """
    before, now = frozenset(previous or ()), frozenset(current)
    if not now:
        return Alert(post=False, recovered=bool(before))
    again = now == before and cooldown > 0 and cooldown_left <= 0
    return Alert(post=bool(now - before) or again, recovered=False)


@dataclass
class SessionState:
    """What one process remembers of a session.

    Attributes
    ----------
    turns
        Turns seen, skipped ones included.
    end_state
        The latest one that was not empty, of a turn that was admitted.
    traces
        Traces already scored.
    """

    turns: int = 0
    end_state: Any = None
    conditions: frozenset[str] = frozenset()
    cooldown_left: int = 0
    last_scored_at: float | None = None
    traces: set[str] = field(default_factory=set)

    def meet(self, current: Collection[str], held: Collection[str], cooldown: int) -> Alert:
        """Take in the conditions of a scored turn and return what to do.

        Conditions in `held` belong to metrics that this turn could not score: they are neither new nor over.
        """
        still = self.conditions & frozenset(held)
        alert = judge_alert(
            self.conditions, frozenset(current) | still, cooldown_left=self.cooldown_left, cooldown=cooldown
        )
        self.conditions = frozenset(current) | still
        self.cooldown_left = cooldown if alert.post else max(0, self.cooldown_left - 1)
        return alert


class Sessions:
    """The sessions of one process, by id."""

    def __init__(self, limit: int = MAX_SESSIONS) -> None:
        self._limit = limit
        self._states: OrderedDict[str, SessionState] = OrderedDict()

    def __getitem__(self, session_id: str) -> SessionState:
        """Return the state of a session, a new one when it is not known."""
        state = self._states.setdefault(session_id, SessionState())
        self._states.move_to_end(session_id)
        while len(self._states) > self._limit:
            self._states.popitem(last=False)
        return state


class CircuitBreaker:
    """Stops a flood of notices: one call for a person, then silence.

    It trips when `circuit_breaker_max_notices` notices were posted within `circuit_breaker_window_s` and one more is
    due; 0 or less turns it off. It is closed again once the window has drained, or when any session recovers.

    Examples
    --------
    >>> seconds = iter([0.0, 1.0, 2.0, 3.0, 700.0])
    >>> breaker = CircuitBreaker(HarnessConfig(circuit_breaker_max_notices=2), lambda: next(seconds))
    >>> [breaker.admit() for _ in range(5)]
    ['post', 'post', 'needs_human', 'silence', 'post']
    """

    def __init__(self, config: HarnessConfig, monotonic: Callable[[], float]) -> None:
        self.limit = config.circuit_breaker_max_notices
        self.window_s = config.circuit_breaker_window_s
        self._monotonic = monotonic
        self._posted: deque[float] = deque()
        self._tripped = False

    def admit(self) -> Literal["post", "needs_human", "silence"]:
        """Return what may be done with a notice that is due now, and count it when it is posted."""
        now = self._monotonic()
        while self._posted and now - self._posted[0] > self.window_s:
            self._posted.popleft()
        if self._tripped and not self._posted:
            self._tripped = False
        if self._tripped:
            return "silence"
        if 0 < self.limit <= len(self._posted):
            self._tripped = True
            return "needs_human"
        self._posted.append(now)
        return "post"

    def recover(self) -> None:
        """Close the breaker: a session recovered."""
        self._posted.clear()
        self._tripped = False
