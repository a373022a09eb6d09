"""Replays: the contract of a replay function, its rule tools, time limits, records and scores.

``hk.replays.from_agent``, ``from_command`` and ``recorded`` make replay functions; each is loaded at its first use.
"""

from __future__ import annotations

import importlib
from typing import Any

_HOME = {
    "from_agent": "harnesskit.replays.agents",
    "from_command": "harnesskit.replays.agents",
    "recorded": "harnesskit.replays.recorded",
    "case_scores": "harnesskit.replays.frames",
    "InconclusiveError": "harnesskit.replays.setup",
}


def __getattr__(name: str) -> Any:
    """Load a public name at its first use."""
    if name not in _HOME:
        raise AttributeError(f"module 'harnesskit.replays' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(_HOME)
