"""Where things lie in a workspace."""

from __future__ import annotations

from pathlib import Path

from harnesskit.model.errors import WorkspaceError, listed

EVALSET = "evalset"
JOURNAL = "journal.jsonl"
RULES = "rules.jsonl"
PENDING = "mailbox/pending"
PROCESSED = "mailbox/processed"
MAILBOX_STATUS = "mailbox/status.json"
HISTORY = "state/score_history.json"
DUMPS = "traces"
SCOPES = "scope_metadata.json"
OURS = "harnesskit"
RUNS = f"{OURS}/runs"
ONLINE = f"{OURS}/online"
LABELS = f"{OURS}/labels.jsonl"
DECISIONS = f"{OURS}/decisions.jsonl"
METRICS = f"{OURS}/metrics.toml"

_SIGNS = (EVALSET, JOURNAL, RULES, "mailbox", HISTORY, DUMPS, RUNS, ONLINE, LABELS, DECISIONS, METRICS)
"""One of these makes a workspace; the bare names state and harnesskit are those of many other folders."""


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
    if not any((path / sign).exists() for sign in _SIGNS):
        if any(path.glob("*.json")):
            raise WorkspaceError(
                f"The folder {path} holds JSON files but no evalset/ folder; put the case files into "
                f"{path / EVALSET} or give the folder above."
            )
        raise WorkspaceError(
            f"The folder {path} is not a workspace: none of {listed(list(_SIGNS))} is in it. "
            "A workspace begins with one case file in evalset/."
        )
    return path


def provision(root: Path) -> None:
    """Create the folders that the reference harness makes for a workspace; those that are there are left alone."""
    for folder in (EVALSET, PENDING, PROCESSED, "state", DUMPS, "rules"):
        (root / folder).mkdir(parents=True, exist_ok=True)
