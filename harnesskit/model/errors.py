"""The errors that harnesskit raises on purpose, each with what to do next."""

from __future__ import annotations


class HarnesskitError(Exception):
    """Base of every error that harnesskit raises on purpose."""


class FrameError(HarnesskitError, ValueError):
    """A frame lacks a column that a function needs, or holds a value it cannot use."""


class WorkspaceError(HarnesskitError, ValueError):
    """A workspace cannot be read or written as asked (the message names the file)."""


class LockedError(WorkspaceError):
    """Another process holds a file that is needed for writing."""


class PromotionRefusedError(WorkspaceError):
    """A guard may not be promoted on the reviews there are.

    Attributes
    ----------
    reasons
        What stands against it, one sentence each.
    """

    def __init__(self, message: str, reasons: tuple[str, ...]) -> None:
        super().__init__(message)
        self.reasons = reasons


class PolicyError(HarnesskitError, ValueError):
    """A policy name or field is not known, or does not fit the evidence."""


class ReportError(HarnesskitError, ValueError):
    """A report cannot be made or saved as asked (the message names what can)."""


class GraderError(HarnesskitError, ValueError):
    """A grader cannot be made, or cannot be used on these samples (the message names it)."""


class QueryError(HarnesskitError, ValueError):
    """A table name, a column or a query is not valid; the message lists what is."""


class EvalSetFullWarning(UserWarning):
    """The eval set is full and holds nothing but wins, so a case was not captured."""


def nearest(name: str, known: list[str] | tuple[str, ...]) -> str:
    """Return ``" (did you mean 'x'?)"`` for the closest known name, else an empty string.

    Examples
    --------
    >>> nearest("case", ["cases", "runs"])
    " (did you mean 'cases'?)"
    >>> nearest("zzz", ["cases"])
    ''
    """
    import difflib

    close = difflib.get_close_matches(name, list(known), n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""


def listed(values: list[str], limit: int = 5) -> str:
    """Return at most `limit` values as text, then how many more there are.

    Examples
    --------
    >>> listed(["a", "b", "c"], limit=2)
    'a, b and 1 more'
    """
    shown = ", ".join(values[:limit])
    more = len(values) - limit
    return f"{shown} and {more} more" if more > 0 else shown
