"""The score history's file, held in memory between turns: only what changed is written out as text again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from harnesskit.model.errors import WorkspaceError
from harnesskit.workspace.atomic import write_atomic
from harnesskit.workspace.documents import read_document
from harnesskit.workspace.reading import NOWHERE, Stamp, stamp_of


class HistoryFile:
    """One JSON object, key to entry; its bytes are those of `harnesskit.workspace.atomic.json_file_bytes`.

    The file holds every session and is written at every turn, and indented JSON is slow to make. So the text of each
    entry is kept, for as long as the file is the one that was read or written last. The caller holds the lock.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._stamp: Stamp | None = None
        self._entries: dict[str, Any] = {}
        self._texts: dict[str, str] = {}

    def load(self) -> None:
        """Read the file, unless it is as it was.

        Raises
        ------
        WorkspaceError
            It is not one JSON object; it is left as it is.
        """
        stamp = self._look()
        if stamp == self._stamp:
            return
        value, findings = read_document(self.path)
        if value is None and findings:
            raise WorkspaceError(f"The score history {self.path} cannot be used: {findings[0].message} Move it away.")
        self._entries = value or {}
        self._texts = {key: _text(entry) for key, entry in self._entries.items()}
        self._stamp = stamp

    def get(self, key: str) -> dict[str, Any]:
        """Return the entry of a key, an empty one when there is none or it is no object."""
        entry = self._entries.get(key)
        return entry if isinstance(entry, dict) else {}

    def put(self, key: str, entry: dict[str, Any]) -> None:
        """Replace the entry of a key; nothing is written yet."""
        self._stamp = None  # until it is written, what is in memory is not what is on disk
        self._entries[key] = entry
        self._texts[key] = _text(entry)

    def save(self) -> None:
        """Write the file in one step.

        Raises
        ------
        WorkspaceError
            It cannot be written; the old content is untouched.
        """
        lines = ",\n".join(f"  {json.dumps(key)}: {self._texts[key]}" for key in sorted(self._texts))
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(self.path, f"{{\n{lines}\n}}".encode("ascii"))
        self._stamp = self._look()

    def _look(self) -> Stamp:
        try:
            return stamp_of(self.path.stat())
        except OSError:  # reading it says what is wrong
            return NOWHERE


def _text(entry: Any) -> str:
    text = json.dumps(entry, indent=2, sort_keys=True, ensure_ascii=True, allow_nan=False)
    return text.replace("\n", "\n  ")  # a line end inside a string is written as an escape
