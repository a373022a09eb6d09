"""The names of what lies in a workspace, and how everything else is kept out from among it."""

from __future__ import annotations

from pathlib import Path

from harnesskit.model.errors import WorkspaceError

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

SIGNS = (EVALSET, JOURNAL, RULES, "mailbox", HISTORY, DUMPS, RUNS, ONLINE, LABELS, DECISIONS, METRICS)
"""One of these makes a workspace; the bare names state and harnesskit are those of many other folders."""

_SURE_SIGNS = (EVALSET, JOURNAL, RULES, PENDING, PROCESSED, HISTORY, RUNS, ONLINE, LABELS, DECISIONS, METRICS)
"""The signs that no other kind of folder has."""
_OWN = (EVALSET, "mailbox", "state", DUMPS, "rules", OURS, JOURNAL, RULES, SCOPES)
"""The files and folders of a workspace that a harness reads or writes."""


def keep_out(root: str | Path, target: Path) -> Path:
    """Return `target` unless it lies among the workspace's own files, where a harness would take it for one of them.

    Raises
    ------
    WorkspaceError
        It lies there, or in any other eval set.
    """
    own = _own_part(_real(Path(root)), _real(target))
    if own:
        raise WorkspaceError(_refusal(target, own))
    return target


def refusal(target: Path) -> str | None:
    """Return why nothing may be written at `target`: it lies among the files of a workspace, whichever that is.

    Examples
    --------
    >>> refusal(Path("evalset/report.json")).partition(" would ")[0], refusal(Path("/nowhere/report.json"))
    ('evalset/report.json', None)
    """
    place = _real(target)
    for home in place.parents:
        own = _own_part(home, place)
        signs = [sign for sign in _SURE_SIGNS if sign != own]
        if own and (place.parent.name == EVALSET or any((home / sign).exists() for sign in signs)):
            return _refusal(target, own)
    return None


def _own_part(home: Path, place: Path) -> str:
    """Return the part of the workspace `home` that `place` lies in; empty when it may be written to."""
    own = place.relative_to(home).parts[0] if place.is_relative_to(home) and place != home else ""
    return own if own in _OWN else EVALSET if place.parent.name == EVALSET else ""


def _refusal(target: Path, own: str) -> str:
    where = f"{target} would lie among the files of a workspace ({own})"
    return f"{where}, where only a harness writes; choose another folder."


def _real(path: Path) -> Path:
    return path.expanduser().resolve()
