"""What is labelled next, what was said, and one step back: the labelling without its buttons."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harnesskit.model.errors import FrameError, nearest
from harnesskit.workspace.clock import utc_now
from harnesskit.workspace.labels import LabelRow, append_label, read_labels

if TYPE_CHECKING:
    import pandas as pd

SHOWN = ("input", "output", "steps")


class LabelQueue:
    """The sessions that one rater labels, in an order shuffled by `seed`; those labelled before are done already.

    Parameters
    ----------
    samples
        A frame with `session_id`, and `input`, `output` or `steps` to look at; a session is asked about once.
    root
        The workspace whose ``harnesskit/labels.jsonl`` is read at the start and appended to.
    rater, metric, seed
        Who labels, what about (None: the whole session), and what the order is drawn from.

    Raises
    ------
    FrameError
        A column is missing, or no row names a session.
    ValueError
        `rater` is empty.
    """

    def __init__(
        self, samples: pd.DataFrame, root: str | Path, rater: str, *, metric: str | None = None, seed: int = 0
    ) -> None:
        if not rater.strip():
            raise ValueError("rater is empty: give the name that your labels are kept under.")
        self.root, self.rater, self.metric = Path(root), rater, metric
        self._texts = _texts(samples)
        self._order = sorted(self._texts)
        random.Random(seed).shuffle(self._order)
        self._done = {
            row.session_id for row in read_labels(self.root)[0] if row.rater == rater and row.metric == metric
        }
        self._skipped: set[str] = set()
        self._past: list[str] = []

    @property
    def current(self) -> str | None:
        """The session asked about now; None when all are labelled or skipped."""
        return next((one for one in self._order if one not in self._done and one not in self._skipped), None)

    @property
    def texts(self) -> dict[str, str]:
        """What is shown of the current session; no score or grade is ever among it."""
        return self._texts[self.current] if self.current is not None else {}

    @property
    def progress(self) -> str:
        """How many have a label, such as ``"3 of 10 labelled"``."""
        return f"{sum(one in self._done for one in self._order)} of {len(self._order)} labelled"

    def label(self, failed: bool | None = None, *, value: float | None = None, note: str = "") -> None:
        """Write a label for the current session, synced before this returns, and go on to the next.

        Raises
        ------
        ValueError
            Nothing is left to label, or the label says neither `failed` nor a finite `value`.
        """
        session = self.current
        if session is None:
            raise ValueError("nothing is left to label.")
        if failed is None and (value is None or not math.isfinite(value)):
            raise ValueError(f"a label says failed or a finite value; found value {value!r}.")
        row = LabelRow(session, self.rater, utc_now(), failed, self.metric, value, note.strip() or None)
        append_label(self.root, row)
        self._done.add(session)
        self._past.append(session)

    def skip(self) -> None:
        """Leave the current session out for now; it comes back the next time the samples are labelled."""
        if (session := self.current) is not None:
            self._skipped.add(session)
            self._past.append(session)

    def undo(self) -> None:
        """Ask again about the session last labelled or skipped here; its label stays in the file, the next counts."""
        if self._past:
            session = self._past.pop()
            self._done.discard(session)
            self._skipped.discard(session)
            self._order.remove(session)
            self._order.insert(0, session)


def _texts(samples: pd.DataFrame) -> dict[str, dict[str, str]]:
    columns = [str(name) for name in samples.columns]
    if "session_id" not in columns:
        raise FrameError(f"label: samples has no column session_id{nearest('session_id', columns)}.")
    shown = [name for name in SHOWN if name in columns]
    if not shown:
        raise FrameError(f"label: samples has none of {', '.join(SHOWN)}{nearest('output', columns)}.")
    found: dict[str, dict[str, str]] = {}
    for session, *values in samples[["session_id", *shown]].itertuples(index=False, name=None):
        if isinstance(session, str) and session:
            found.setdefault(session, {name: _text(value) for name, value in zip(shown, values, strict=True)})
    if not found:
        raise FrameError("label: samples has no row with a session_id; there is nothing to label.")
    return found


def _text(value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return str(value).encode("utf-8", "replace").decode()  # half a surrogate pair cannot reach a browser
