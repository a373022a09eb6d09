"""Kept verdicts of graders: ``harnesskit/cache/grades.jsonl``, only ever appended to, by any number of processes.

It can be deleted at any time: what it held is asked for again. A verdict is on disk before it is used, so a run that is
killed has lost nothing that it paid for.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, MutableMapping
from pathlib import Path
from typing import Any

from harnesskit.model.own_files import OURS
from harnesskit.workspace.atomic import append_line, json_line_bytes
from harnesskit.workspace.jsonlines import JsonLines
from harnesskit.workspace.locking import hold

CACHE = f"{OURS}/cache"
GRADES = f"{CACHE}/grades.jsonl"
SOURCE = "grade cache"


class GradeCache(MutableMapping[str, str]):
    """The kept verdicts of the workspace at `root`, as a mapping of key to JSON text.

    The file is read once; what other processes add is seen when a key is looked for and not found. Of two records of
    one key the first stays, until it is deleted: everybody uses the same verdict. A torn or damaged line costs itself.

    Examples
    --------
    >>> import tempfile
    >>> root = Path(tempfile.mkdtemp())
    >>> GradeCache(root)["5e1f"] = '{"value": 0.5}'
    >>> GradeCache(root)["5e1f"]
    '{"value": 0.5}'
    """

    def __init__(self, root: str | Path) -> None:
        self.path = Path(root) / GRADES
        self._kept: dict[str, str] = {}
        self._end = 0
        self._lock = threading.RLock()
        self._catch_up()

    def __getitem__(self, key: str) -> str:
        """Return the kept text; looks into the file again before it says that there is none."""
        with self._lock:
            if key not in self._kept:
                self._catch_up()
            return self._kept[key]

    def __setitem__(self, key: str, text: str) -> None:
        """Keep `text` for `key`, on disk when this returns."""
        with self._lock:
            if key in self:
                if self._kept[key] == text:
                    return
                del self[key]
            self._append({"key": key, "kept": text})
            self._kept[key] = text

    def __delitem__(self, key: str) -> None:
        """Forget `key`, here and in the file."""
        with self._lock:
            del self._kept[key]
            self._append({"key": key, "kept": None})

    def __iter__(self) -> Iterator[str]:
        """Iterate over the keys known now."""
        with self._lock:
            self._catch_up()
            return iter(list(self._kept))

    def __len__(self) -> int:
        """Return how many verdicts are kept."""
        with self._lock:
            self._catch_up()
            return len(self._kept)

    def setdefault(self, key: str, default: str) -> str:
        """Return what is kept for `key`, after keeping `default` when nothing was: the first to answer is heard."""
        with self._lock:
            if key not in self:
                self._append({"key": key, "kept": default})
                self._catch_up()  # another process may have been faster
            return self._kept.setdefault(key, default)

    def _append(self, record: dict[str, Any]) -> None:
        with hold(self.path.with_suffix(".lock"), "keep the verdict of a grader"):
            append_line(self.path, json_line_bytes(record))

    def _catch_up(self) -> None:
        """Read the lines that were added since the last look."""
        try:
            if self._end == self.path.stat().st_size:
                return
        except OSError:  # deleted, or never made
            self._end = 0
            return
        lines = JsonLines(self.path, SOURCE, GRADES, start=self._end)
        for line in lines:
            key, kept = line.value.get("key"), line.value.get("kept")
            if isinstance(key, str) and isinstance(kept, str):
                self._kept.setdefault(key, kept)
            elif isinstance(key, str):
                self._kept.pop(key, None)
        self._end = lines.end
