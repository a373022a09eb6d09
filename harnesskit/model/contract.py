"""A written contract for a frame: its grain, key and columns, and the check on the way in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harnesskit.model.errors import FrameError, listed, nearest

if TYPE_CHECKING:
    import pandas as pd

KINDS = ("win", "failure")
_ALSO_CALLED = {
    "case_id": ("id", "case", "test_id", "test_case", "example_id"),
    "metric": ("metric_name", "name", "measure", "key"),
    "value": ("score", "result", "rating"),
    "kind": ("case_kind", "type"),
}
"""What other tools call a column: a hint, never read in its place."""


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

    def require(self, frame: pd.DataFrame, *needed: str, by: str, what: str | None = None) -> None:
        """Raise `FrameError` unless `frame` has the columns that the caller reads, each of them once.

        Parameters
        ----------
        frame
            Any pandas frame; hand-made ones with just the columns in `needed` are fine.
        needed
            The columns read by the caller; the key is not added to them.
        by
            The caller as a user knows it, e.g. ``"case_deltas()"``.
        what
            Which frame it is, for a caller that takes several, e.g. ``"as the baseline"``.
        """
        wanted = f"{by} needs{f', {what},' if what else ''} a {self.name} frame"
        if not hasattr(frame, "columns"):
            raise FrameError(f"{wanted} (pandas), found {type(frame).__name__}.")
        have = [str(c) for c in frame.columns]
        missing = [c for c in needed if c not in have]
        if missing:
            named = ", ".join(f"{c!r}{_hint(c, have, frame)}" for c in missing)
            raise FrameError(
                f"{wanted}, one row per {self.grain}; missing {named}. It has: {listed(have) or 'no columns'}."
            )
        twice = sorted({c for c in have if have.count(c) > 1 and (c in needed or c in self.columns)})
        if twice:
            raise FrameError(
                f"{wanted} with every column once; found more than one {listed([repr(c) for c in twice])}. "
                "Drop or rename one, e.g. frame.loc[:, ~frame.columns.duplicated()]."
            )

    def order(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return `frame` with the contract's columns first, in order, on a plain index."""
        first = [c for c in self.columns if c in frame.columns]
        rest = [c for c in frame.columns if c not in self.columns]
        return frame.loc[:, first + rest].reset_index(drop=True)


def _hint(column: str, have: list[str], frame: pd.DataFrame) -> str:
    """Return where a missing column may be: in the index, under another name, or misspelt."""
    if column in [str(name) for name in frame.index.names]:
        return " (it is in the index: use frame.reset_index())"
    other = [name for name in _ALSO_CALLED.get(column, ()) if name in have]
    if nearest(column, have) or not other:
        return nearest(column, have)
    return f" (is it {other[0]!r}? frame.rename(columns={{{other[0]!r}: {column!r}}}))"


def require_kinds(kinds: pd.Series[Any], *, by: str, what: str | None = None) -> None:
    """Raise `FrameError` for a kind that is neither win nor failure; missing or empty stands for a win.

    A misspelt kind would otherwise leave a win without protection.

    Parameters
    ----------
    kinds
        The column ``kind`` of a frame.
    by, what
        As for `Contract.require`.
    """
    odd = sorted({repr(kind) for kind in kinds.dropna().unique().tolist() if kind not in ("", *KINDS)})
    if odd:
        close = nearest(odd[0].strip("'").strip().lower(), KINDS)
        raise FrameError(
            f"{by}: kind must be 'win' or 'failure'{f', {what}' if what else ''}; found {listed(odd)}{close}. "
            "A missing kind stands for a win."
        )
