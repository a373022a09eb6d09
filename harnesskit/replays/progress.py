"""How far a run has come, on a terminal or in a notebook; silent anywhere else."""

from __future__ import annotations

import contextlib
import importlib
import sys
import warnings
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def progress(total: int, *, wanted: bool) -> Iterator[Callable[[], None]]:
    """Give a function to call once per finished trial; the bar is closed at the end, however it comes.

    With tqdm installed it is tqdm's bar, else a counter on the terminal. Output goes to standard error.
    """
    notebook = "ipykernel" in sys.modules
    terminal = getattr(sys.stderr, "isatty", lambda: False)()
    if not wanted or not total or not (notebook or terminal):
        yield lambda: None
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # tqdm warns where a notebook has no widgets
            tqdm = importlib.import_module("tqdm.auto").tqdm
    except ImportError:
        with _counter(total, terminal) as step:
            yield step
        return
    with tqdm(total=total, desc="replays", unit="trial", leave=False) as bar:
        yield lambda: bar.update(1)


@contextlib.contextmanager
def _counter(total: int, terminal: bool) -> Iterator[Callable[[], None]]:
    if not terminal:
        yield lambda: None
        return
    done = 0

    def step() -> None:
        nonlocal done
        done += 1
        print(f"\r{done}/{total} replays", end="", file=sys.stderr, flush=True)

    try:
        yield step
    finally:
        print("\r\033[K", end="", file=sys.stderr, flush=True)
