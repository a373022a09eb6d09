"""Cases for replays, and gates that block until the test is over."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from harnesskit.model.case import EvalCase


@pytest.fixture
def make_cases() -> Callable[..., list[EvalCase]]:
    """A function that makes so many replayable wins."""

    def make(count: int, **fields: Any) -> list[EvalCase]:
        fixed = {"session_id": "original", "kind": "win", "baseline_scores": {"quality": 0.9}}
        return [EvalCase(**{**fixed, "id": f"c{i}", "replay_input": {"n": i}, **fields}) for i in range(count)]

    return make


@pytest.fixture
def new_session() -> Callable[[], str]:
    """A function that gives a session id never given before."""
    numbers = itertools.count(1)
    return lambda: f"new-{next(numbers)}"


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """An event to block on; it opens when the test ends, so that no thread is left behind."""
    event = threading.Event()
    yield event
    event.set()
