"""The cases of a set in memory, found by file, id, key and label without a walk over all of them."""

from __future__ import annotations

import heapq
from collections.abc import Hashable, Iterable
from typing import Any, get_args

from harnesskit.model.case import CaseKind
from harnesskit.workspace.ordered_cases import OrderedCases, by_order
from harnesskit.workspace.stored_case import Key, Order, StoredCase


class CaseIndex:
    """Every readable case file, by its name; by id and key the way leads to file names, by label to the cases.

    Attributes
    ----------
    cases : dict of str to StoredCase
        File name to the case in it. Two files may hold one id: both count, as in every listing.
    """

    def __init__(self) -> None:
        self.cases: dict[str, StoredCase] = {}
        self._by_id: dict[str, set[str]] = {}
        self._by_key: dict[Key, set[str]] = {}
        self._by_label: dict[tuple[str, CaseKind], OrderedCases] = {}
        self._failures: list[Order] = []  # a heap; what has gone meanwhile is dropped when it comes up

    def __len__(self) -> int:
        return len(self.cases)

    def put(self, stored: StoredCase) -> None:
        """Add the case of a file, in place of what the file held before."""
        file = stored.file
        self.drop(file)
        self.cases[file] = stored
        self._by_id.setdefault(stored.case_id, set()).add(file)
        self._by_key.setdefault(stored.key, set()).add(file)
        for label in set(stored.key.labels):
            self._by_label.setdefault((label, stored.key.kind), OrderedCases()).add(stored)
        if stored.key.kind == "failure":
            heapq.heappush(self._failures, stored.order)

    def drop(self, file: str) -> None:
        """Forget a file; nothing happens when it is not known."""
        stored = self.cases.pop(file, None)
        if stored is None:
            return
        _discard(self._by_id, stored.case_id, file)
        _discard(self._by_key, stored.key, file)
        for label in set(stored.key.labels):
            cases = self._by_label[label, stored.key.kind]
            cases.discard(stored)
            if not cases:
                del self._by_label[label, stored.key.kind]

    def listed(self, kind: CaseKind | None = None) -> list[StoredCase]:
        """Return the cases of a kind, or all, oldest first."""
        found = self.cases.values()
        return sorted((case for case in found if kind in (None, case.key.kind)), key=by_order)

    def with_id(self, case_id: str) -> list[str]:
        """Return the files that hold an id, sorted."""
        return sorted(self._by_id.get(case_id, ()))

    def with_key(self, key: Key) -> StoredCase | None:
        """Return the oldest case that a capture with this key would repeat."""
        return min((self.cases[file] for file in self._by_key.get(key, ())), key=by_order, default=None)

    def with_labels(self, labels: Iterable[str], kind: CaseKind | None) -> list[StoredCase]:
        """Return the cases that have at least one of the labels, newest first."""
        kinds: tuple[CaseKind, ...] = get_args(CaseKind) if kind is None else (kind,)
        ways = [self._by_label.get((label, each)) for label in dict.fromkeys(labels) for each in kinds]
        found = [way.newest_first() for way in ways if way]
        if len(found) == 1:
            return found[0]
        by_file = {stored.file: stored for cases in found for stored in cases}
        return sorted(by_file.values(), key=by_order, reverse=True)

    def oldest_failure(self) -> StoredCase | None:
        """Return the failure that makes room for the next case, None when there are only wins."""
        while self._failures:
            order = self._failures[0]
            stored = self.cases.get(order.file)
            if stored is not None and stored.order == order and stored.key.kind == "failure":
                return stored
            heapq.heappop(self._failures)
        return None


def _discard(index: dict[Any, set[str]], key: Hashable, file: str) -> None:
    files = index[key]
    files.discard(file)
    if not files:
        del index[key]
