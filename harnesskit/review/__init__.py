"""Review in a notebook: ``hk.review.label``; loaded at its first use."""

from __future__ import annotations

import importlib
from typing import Any

_HOME: dict[str, str] = {"label": "harnesskit.review.labelling"}

__all__ = ["label"]


def __getattr__(name: str) -> Any:
    """Load a public name at its first use."""
    if name not in _HOME:
        raise AttributeError(f"module 'harnesskit.review' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)
