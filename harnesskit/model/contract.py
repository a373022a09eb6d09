"""A written contract for a frame: its grain, key and columns, and the check on the way in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from harnesskit.model.errors import FrameError, listed, nearest

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Contract:
    """What one kind of frame holds.

    Parameters
    ----------
    name
        The plural noun the frame is called by.
    grain
        What one row is ("case", "sample and metric").
    key
        The columns that identify a row.
    columns
        Column name to meaning, in the order the frame is handed out.
    """

    name: str
    grain: str
    key: tuple[str, ...]
    columns: dict[str, str]

    def require(self, frame: pd.DataFrame, *needed: str, by: str) -> None:
        """Raise `FrameError` unless `frame` has the columns that the caller reads.

        Parameters
        ----------
        frame
            Any pandas frame; hand-made ones with just the columns in `needed` are fine.
        needed
            The columns read by the caller; the key is not added to them.
        by
            The caller as a user knows it, e.g. ``"case_deltas()"``.
        """
        if not hasattr(frame, "columns"):
            raise FrameError(f"{by} needs a {self.name} frame (pandas), found {type(frame).__name__}.")
        have = [str(c) for c in frame.columns]
        missing = [c for c in needed if c not in have]
        if missing:
            named = ", ".join(f"{c!r}{nearest(c, have)}" for c in missing)
            raise FrameError(
                f"{by} needs a {self.name} frame, one row per {self.grain}; missing {named}. "
                f"It has: {listed(have) or 'no columns'}."
            )

    def order(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return `frame` with the contract's columns first, in order, on a plain index."""
        first = [c for c in self.columns if c in frame.columns]
        rest = [c for c in frame.columns if c not in self.columns]
        return frame.loc[:, first + rest].reset_index(drop=True)
