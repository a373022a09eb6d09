"""Cases kept oldest first, so that a listing of thousands of them costs a copy and no comparison."""

from __future__ import annotations

from bisect import bisect_left
from operator import attrgetter

from harnesskit.workspace.stored_case import StoredCase

by_order = attrgetter("order")


class OrderedCases:
    """Cases by `StoredCase.order`, no two of one file.

    What comes before the first question (a folder being read, in no order) is only noted, and sorted then; what comes
    later is put in its place, by halving.
    """

    __slots__ = ("_cases", "_sorted")

    def __init__(self) -> None:
        self._cases: list[StoredCase] = []
        self._sorted = False

    def __len__(self) -> int:
        return len(self._cases)

    def add(self, stored: StoredCase) -> None:
        """Add a case that is not among them."""
        if self._sorted:
            self._cases.insert(bisect_left(self._cases, stored.order, key=by_order), stored)
        else:
            self._cases.append(stored)

    def discard(self, stored: StoredCase) -> None:
        """Remove a case that is among them."""
        cases = self._in_order()
        del cases[bisect_left(cases, stored.order, key=by_order)]

    def newest_first(self) -> list[StoredCase]:
        """Return the cases, newest first, in a list of the caller's own."""
        return self._in_order()[::-1]

    def _in_order(self) -> list[StoredCase]:
        if not self._sorted:
            self._cases.sort(key=by_order)
            self._sorted = True
        return self._cases
