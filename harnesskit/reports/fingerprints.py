"""What changed between the runs, by the fingerprints that they recorded."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd

from harnesskit.model.errors import listed
from harnesskit.model.text import shorten, visible
from harnesskit.reports.cells import as_text, missing

_LIMIT = 60


def changed(runs: pd.DataFrame, subject: str) -> list[str]:
    """Return a sentence per baseline run: the keys of its fingerprint that differ from those of the run judged.

    Examples
    --------
    >>> runs = pd.DataFrame({"run_id": ["old", "new"], "fingerprint": ['{"prompt": "14", "model": "m"}',
    ...                                                                '{"prompt": "15", "model": "m"}']})
    >>> changed(runs, "new")
    ['Changed from old to new: prompt: 14 → 15.']
    """
    if "fingerprint" not in runs or "run_id" not in runs:
        return []
    prints = {str(run): _fields(value) for run, value in zip(runs["run_id"], runs["fingerprint"], strict=True)}
    after = prints.get(subject)
    said = []
    for run, before in prints.items():
        if run in (subject, "captured"):
            continue
        lacking = [_short(name) for name, fields in ((run, before), (subject, after)) if fields is None]
        if before is None or after is None:
            said.append(f"What changed is not recorded: no fingerprint of {' and '.join(lacking)}.")
            continue
        keys = [key for key in sorted({*before, *after}) if before.get(key) != after.get(key)]
        differ = [f"{_short(key)}: {_value(before.get(key))} → {_value(after.get(key))}" for key in keys]
        what = "; ".join(differ[:5]) + (f" and {len(differ) - 5} more" if len(differ) > 5 else "")
        same = listed([_short(key) for key in sorted(before)]) or "nothing"
        said.append(
            f"Changed from {_short(run)} to {_short(subject)}: {what}."
            if differ
            else f"The fingerprints of {_short(run)} and {_short(subject)} are equal ({same})."
        )
    return said


def _fields(value: Any) -> dict[str, Any] | None:
    """Return a fingerprint as an object; a text that is none is its only field."""
    if missing(value) or value in ("", "{}"):
        return None
    try:
        found = json.loads(value) if isinstance(value, str) else value
    except ValueError:
        found = value
    return found if isinstance(found, dict) else {"fingerprint": found}


def _value(value: Any) -> str:
    return "nothing" if value is None else _short(as_text(value))


def _short(text: str) -> str:
    return shorten(visible(text), _LIMIT)
