"""Where things lie in a workspace."""

from __future__ import annotations

from pathlib import Path

from harnesskit.model.errors import WorkspaceError, listed
from harnesskit.model.own_files import (
    DECISIONS,
    DUMPS,
    EVALSET,
    HISTORY,
    JOURNAL,
    LABELS,
    MAILBOX_STATUS,
    METRICS,
    ONLINE,
    OURS,
    PENDING,
    PROCESSED,
    RULES,
    RUNS,
    SCOPES,
    SIGNS,
    keep_out,
)

__all__ = [
    "DECISIONS",
    "DUMPS",
    "EVALSET",
    "HISTORY",
    "JOURNAL",
    "LABELS",
    "MAILBOX_STATUS",
    "METRICS",
    "ONLINE",
    "OURS",
    "PENDING",
    "PROCESSED",
    "RULES",
    "RUNS",
    "SCOPES",
    "keep_out",
    "provision",
    "workspace_root",
]

_DEPTH, _LOOKED_AT = 3, 500


def _below(path: Path) -> list[str]:
    """Return the workspaces in the folders below `path`, not deeper than three levels."""
    found, level = [], [path]
    for _ in range(_DEPTH):
        folders = [child for parent in level for child in _folders(parent)][:_LOOKED_AT]
        found += [str(folder) for folder in folders if any((folder / sign).exists() for sign in SIGNS)]
        level = [folder for folder in folders if str(folder) not in found]
    return found


def _folders(parent: Path) -> list[Path]:
    try:
        return sorted(child for child in parent.iterdir() if child.is_dir() and not child.name.startswith("."))
    except OSError:  # not ours to read
        return []


def workspace_root(root: str | Path) -> Path:
    """Return the absolute path of the workspace at `root`; nothing is created.

    Raises
    ------
    WorkspaceError
        There is no such folder, or nothing in it belongs to a workspace (the message says what was looked for).
    """
    path = Path(root).expanduser().absolute()
    if not path.is_dir():
        what = "is not a folder" if path.exists() else "does not exist"
        raise WorkspaceError(f"The workspace {path} {what}; give the folder that holds evalset/ and journal.jsonl.")
    if not any((path / sign).exists() for sign in SIGNS):
        if path.name == EVALSET:
            raise WorkspaceError(
                f"The folder {path} is an eval set; give the workspace, the folder above: {path.parent}"
            )
        if any(path.glob("*.json")):
            raise WorkspaceError(
                f"The folder {path} holds JSON files but no evalset/ folder; put the case files into "
                f"{path / EVALSET} or give the folder above."
            )
        below = _below(path)
        if below:
            raise WorkspaceError(
                f"The folder {path} is not a workspace, but below it there {'is' if len(below) == 1 else 'are'} "
                f"{listed(below)}; give one of these."
            )
        raise WorkspaceError(
            f"The folder {path} is not a workspace: none of {listed(list(SIGNS))} is in it. "
            "A workspace begins with one case file in evalset/."
        )
    return path


def provision(root: Path) -> None:
    """Create the folders that the reference harness makes for a workspace; those that are there are left alone."""
    for folder in (EVALSET, PENDING, PROCESSED, "state", DUMPS, "rules"):
        (root / folder).mkdir(parents=True, exist_ok=True)
