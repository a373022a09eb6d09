"""Buttons over the queue of labels, for JupyterLab 4 and Notebook 7."""

from __future__ import annotations

import html
import importlib
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harnesskit.review.label_queue import LabelQueue

if TYPE_CHECKING:
    import pandas as pd


def label(
    samples: pd.DataFrame,
    *,
    root: str | Path,
    rater: str,
    metric: str | None = None,
    scale: Sequence[float] | None = None,
    seed: int = 0,
) -> Any:
    """Return a widget that asks about one session at a time, blind to every score, and keeps each answer at once.

    Parameters
    ----------
    samples
        A frame with `session_id`, and `input`, `output` or `steps`; no other column is shown.
    root
        The workspace that gets the labels. A frame does not know where it came from, so it is said.
    rater
        The name the labels are kept under; sessions that this rater labelled before are not asked again.
    metric
        What the labels are about; None for the whole session.
    scale
        Values to choose from, such as ``(0, 0.5, 1)``; None asks failed or ok.
    seed
        Draws the order.

    Returns
    -------
    ipywidgets.VBox
        Reached with Tab, pressed with Space or Enter.

    Raises
    ------
    FrameError
        A column is missing, or no row names a session.
    ValueError
        `rater` or `scale` is empty.

    Examples
    --------
    >>> import pandas as pd
    >>> samples = pd.DataFrame({"session_id": ["s-1"], "output": ["<b>Paris</b>"]})
    >>> box = label(samples, root="/nowhere", rater="ana")
    >>> box.children[0].value
    '0 of 1 labelled'
    """
    if scale is not None and not len(scale):
        raise ValueError("scale is empty: give the values to choose from, or None for failed or ok.")
    return _view(LabelQueue(samples, root, rater, metric=metric, seed=seed), scale)


def _view(queue: LabelQueue, scale: Sequence[float] | None) -> Any:
    widgets = importlib.import_module("ipywidgets")
    progress, sample = widgets.Label(), widgets.HTML()
    note = widgets.Text(placeholder="note (optional)")

    def show() -> None:
        progress.value = queue.progress
        sample.value = _page(queue.texts) if queue.current is not None else "<p>Nothing is left to label.</p>"
        note.value = ""
        for answer in answers:
            answer.disabled = queue.current is None

    def button(text: str, act: Callable[[], None]) -> Any:
        made = widgets.Button(description=text, tooltip=text)

        def pressed(_: Any) -> None:
            act()
            show()

        made.on_click(pressed)
        return made

    def say(failed: bool | None, value: float | None) -> None:
        queue.label(failed, value=value, note=note.value)

    choices: list[tuple[str, bool | None, float | None]] = [("failed", True, None), ("ok", False, None)]
    if scale is not None:
        choices = [(f"{value:g}", None, float(value)) for value in scale]
    answers = [button(text, partial(say, failed, value)) for text, failed, value in choices]
    answers.append(button("skip", queue.skip))
    show()
    return widgets.VBox([progress, sample, note, widgets.HBox([*answers, button("undo", queue.undo)])])


def _page(texts: dict[str, str]) -> str:
    style = "white-space:pre-wrap;overflow-wrap:anywhere;max-height:20em;overflow:auto"
    return "".join(f"<b>{name}</b><pre style='{style}'>{html.escape(text)}</pre>" for name, text in texts.items())
