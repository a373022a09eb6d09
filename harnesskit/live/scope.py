"""A turn as a block of code or as a function: its end is reported when the block is left."""

from __future__ import annotations

import functools
import inspect
import logging
from collections.abc import Callable
from types import TracebackType
from typing import Any, Generic, Protocol, TypeVar, cast

log = logging.getLogger("harnesskit.live")

OutcomeT = TypeVar("OutcomeT", covariant=True)
FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])


class TurnEnd(Protocol[OutcomeT]):
    """Takes the end of a turn."""

    async def on_turn_end(self, event: Any) -> OutcomeT:
        """Score the turn; never raises into the agent."""
        ...

    def on_turn_end_now(self, event: Any) -> OutcomeT:
        """Score the turn and return when it is done."""
        ...

    def give_up(self, session_id: str, turn_index: int | None, reason: str) -> OutcomeT:
        """Record a turn that is not going to be scored."""
        ...


class Turn(Generic[OutcomeT]):
    """One turn of a session: ``async with``, ``with``, or a decorator (every call is then a turn of its own).

    Leaving it reports the end of the turn, also after an exception, which goes on untouched. After a cancellation or
    Ctrl-C nothing is scored, so that nothing is held up: the turn is journaled as unscored.

    Parameters
    ----------
    hook
        Where the end is reported.
    session_id
        The session; for a decorator also a function of the decorated one's arguments.
    end_state
        Where the turn ended, replayable JSON data; also a function of `result`, called at the end. None sends ``{}``,
        so that a case captured from the turn has no replay input of its own.
    turn_index
        Number of the turn; counted per session when None.

    Attributes
    ----------
    end_state, scores, result
        May be set inside the block: the end state, scores known already (metric to value), what the turn gave.
    outcome
        What became of the turn; None until it ended.
    """

    def __init__(
        self,
        hook: TurnEnd[OutcomeT],
        session_id: str | Callable[..., str],
        end_state: Any = None,
        *,
        turn_index: int | None = None,
    ) -> None:
        self._hook = hook
        self.session_id = session_id
        self.end_state = end_state
        self.turn_index = turn_index
        self.scores: Any = None
        self.result: Any = None
        self.outcome: OutcomeT | None = None

    def event(self) -> dict[str, Any]:
        """Return the end of the turn as it is reported."""
        end_state = self.end_state
        if callable(end_state):
            try:
                end_state = end_state(self.result)
            except Exception:  # the agent's turn is over and well; only its payload is lost
                log.exception("The end_state of a turn of session %r could not be made.", self.session_id)
                end_state = None
        event = {"session_id": self.session_id, "end_state": {} if end_state is None else end_state}
        return {**event, "turn_index": self.turn_index, "scores": self.scores}

    async def __aenter__(self) -> Turn[OutcomeT]:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._given_up(error):
            self.outcome = await self._hook.on_turn_end(self.event())

    def __enter__(self) -> Turn[OutcomeT]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._given_up(error):
            self.outcome = self._hook.on_turn_end_now(self.event())

    def _given_up(self, error: BaseException | None) -> bool:
        if error is None or isinstance(error, Exception):
            return False
        named = self.session_id if isinstance(self.session_id, str) else ""
        self.outcome = self._hook.give_up(named, self.turn_index, f"the turn was stopped by {type(error).__name__}")
        return True

    def __call__(self, function: FunctionT) -> FunctionT:
        """Return `function` as a turn: the same arguments, the same result.

        Raises
        ------
        TypeError
            It is a generator function: its turn would be over before it began.
        """
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            name = getattr(function, "__qualname__", repr(function))
            raise TypeError(f"turn() cannot decorate the generator {name}; put a with block into it.")
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def later(*args: Any, **kwargs: Any) -> Any:
                async with self._fresh(args, kwargs) as turn:
                    turn.result = await function(*args, **kwargs)
                return turn.result

            return cast("FunctionT", later)

        @functools.wraps(function)
        def now(*args: Any, **kwargs: Any) -> Any:
            with self._fresh(args, kwargs) as turn:
                turn.result = function(*args, **kwargs)
            return turn.result

        return cast("FunctionT", now)

    def _fresh(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Turn[OutcomeT]:
        session_id = self.session_id
        if callable(session_id):
            try:
                session_id = session_id(*args, **kwargs)
            except Exception:  # the turn is then unscored, and says that it has no session id
                log.exception("The session id of a turn could not be made.")
                session_id = ""
        return Turn(self._hook, session_id, self.end_state, turn_index=self.turn_index)
