"""How often sessions breached before a rule came: the baseline that its forward trial is held against."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from harnesskit.workspace.history import read_history
from harnesskit.workspace.journal import read_tail
from harnesskit.workspace.layout import HISTORY, JOURNAL

WINDOW = 200
"""Notices and recoveries looked back on."""


class TrialBaseline(NamedTuple):
    """What the sessions before a rule were like.

    Attributes
    ----------
    window
        Notices and recoveries looked at, at most `WINDOW`.
    sessions
        Distinct sessions: those of the window, and the healthy ones of the same time.
    breached
        Sessions with a notice about the metric (about anything, for a rule without a metric).
    """

    window: int
    sessions: int
    breached: int


def trial_baseline(root: Path, metric: str | None) -> TrialBaseline:
    """Return the baseline of a trial that begins now.

    The reference harness counts only the sessions that had a notice or a recovery, so that its rate is far too high
    (0.57 where 0.14 is true) and every trial looks like a success. Here the sessions of the score history count too:
    scored, in the time that the window covers, and without a notice, they were healthy. The window covers everything
    when fewer than `WINDOW` events are there.

    Examples
    --------
    >>> trial_baseline(Path("no/such/workspace"), "coherence")
    TrialBaseline(window=0, sessions=0, breached=0)
    """
    events = read_tail(root / JOURNAL, WINDOW, types={"notice", "recovery"}).events
    sessions: set[str] = set()
    breached: set[str] = set()
    for event in events:
        if event.session_id is None:
            continue
        sessions.add(event.session_id)
        if event.type == "notice" and in_family(_signatures(event.payload), metric):
            breached.add(event.session_id)
    times = [event.ts for event in events if event.ts is not None]
    since = min(times) if len(events) == WINDOW and times else None
    return TrialBaseline(len(events), len(sessions | _scored_sessions(root, since)), len(breached))


def in_family(signatures: Iterable[str], metric: str | None) -> bool:
    """Return whether one of `signatures` is about `metric`; any will do for None.

    Examples
    --------
    >>> in_family(["stall:coherence"], "coherence"), in_family(["stall:coherence"], None), in_family([], None)
    (True, True, False)
    """
    return any(metric is None or signature.endswith(f":{metric}") for signature in signatures)


def _signatures(payload: str) -> list[str]:
    found = json.loads(payload).get("signatures")
    return [label for label in found if isinstance(label, str)] if isinstance(found, list) else []


def _scored_sessions(root: Path, since: datetime | None) -> set[str]:
    return {
        sample.session_id
        for sample in read_history(root / HISTORY).samples
        if sample.session_id
        and sample.status == "scored"
        and (since is None or (sample.occurred_at is not None and sample.occurred_at >= since))
    }
