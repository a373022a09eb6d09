"""Rows of evidence about a guard, as `harnesskit.model.promotion_results.PROMOTION_EVIDENCE` says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from harnesskit.model.promotion_results import PROMOTION_EVIDENCE

MET, UNMET, UNKNOWN = "met", "unmet", "unknown"
_COUNTS = ("n", "n_control", "n_candidate", "n_cases", "looks", "runs_needed")
_NUMBERS = ("estimate", "low", "high", "bar", "evidence", "bound")


def row(check: str, state: str, note: str = "", **facts: Any) -> dict[str, Any]:
    """Return one row: what was asked, met, unmet or unknown, a note in words, and any other column by name.

    A row that decides and is not met has a ``reason``; one without a reason informs and never decides.

    Examples
    --------
    >>> row("benefit", "met", estimate=0.1)["estimate"]
    0.1
    """
    return {"check": check, "state": state, "note": note or None, **facts}


def evidence_frame(rows: Iterable[Mapping[str, Any]], policy: str) -> pd.DataFrame:
    """Return rows as a frame of the contract, every column there, missing where nothing was said.

    Examples
    --------
    >>> int(evidence_frame([row("benefit", "met", n_cases=3)], "budgeted")["n_cases"].iloc[0])
    3
    """
    frame = pd.DataFrame([dict(one) for one in rows])
    frame = frame.reindex(columns=list(PROMOTION_EVIDENCE.columns))
    frame["policy"] = policy
    for column in frame.columns:
        if column in _COUNTS:
            frame[column] = pd.array([_count(value) for value in frame[column]], dtype="Int64")
        elif column in _NUMBERS:
            frame[column] = pd.to_numeric(frame[column]).astype(float)
        else:
            frame[column] = frame[column].astype(object).where(frame[column].notna(), None)
    return frame


def _count(value: Any) -> int | None:
    return None if value is None or pd.isna(value) else int(np.ceil(value))
