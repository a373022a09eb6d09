"""Which runs are controls of which: their fingerprints side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from harnesskit.model.analyses import FINGERPRINTS
from harnesskit.model.errors import FrameError, nearest
from harnesskit.model.fingerprint import differences, field_text, fingerprint_fields
from harnesskit.model.frames import RUNS

_NAMED = ("agent", "version", "prompt", "model", "tools", "judge", "grader", "rules_hash")
_FROM_RUN = ("agent", "version")
"""Fields that a run records besides its fingerprint: shown when the fingerprint does not name them."""


def run_fingerprints(runs: pd.DataFrame, *, baseline: str | Mapping[str, Any] | None = None) -> pd.DataFrame:
    """Show what produced the samples of each run, and whether it is that of the baseline: one row per run.

    A run is a control for a baseline when its fingerprint is exactly the baseline's: another prompt, model, tool, judge
    or set of rules makes it another agent. A run without a fingerprint can be compared with no other day.

    Parameters
    ----------
    runs
        Rows of ``runs``; reads ``run_id, fingerprint``, and ``role, label, agent, version`` when there.
    baseline
        A run of these, or a fingerprint; None: no run is compared with any.

    Returns
    -------
    DataFrame
        By the contract ``run fingerprints``, in the order of `runs`. ``same_as_baseline`` is missing where one of the
        two is not recorded.

    Raises
    ------
    FrameError
        A column is missing, or `baseline` is none of the runs.

    Examples
    --------
    >>> runs = pd.DataFrame({"run_id": ["old", "new"], "fingerprint": ['{"prompt": "14"}', '{"prompt": "15"}']})
    >>> run_fingerprints(runs, baseline="old")[["run_id", "prompt", "same_as_baseline", "differs"]].values.tolist()
    [['old', '14', True, None], ['new', '15', False, 'prompt: 14 → 15']]
    """
    RUNS.require(runs, "run_id", "fingerprint", by="run_fingerprints()")
    prints = [fingerprint_fields(None if _blank(value) else value) for value in runs["fingerprint"]]
    wanted = _wanted(runs, prints, baseline)
    rows = []
    for record, found in zip(runs.to_dict("records"), prints, strict=True):
        fields = dict(found or {})
        named = {name: _text(fields.pop(name, None)) for name in _NAMED}
        for name in _FROM_RUN:
            named[name] = named[name] or _text(record.get(name))
        known = found is not None and wanted is not None
        same = found == wanted if known else None
        rows.append(
            {
                "run_id": record["run_id"], "role": _text(record.get("role")), "label": _text(record.get("label")),
                **named, "other": field_text(fields) if fields else None, "recorded": found is not None,
                "same_as_baseline": same,
                "differs": differences(wanted or {}, found or {}) if known and not same else None,
            }
        )  # fmt: skip
    frame = pd.DataFrame(rows, columns=list(FINGERPRINTS.columns), dtype=object)
    return frame.astype({"recorded": bool, "same_as_baseline": "boolean"})


def _wanted(
    runs: pd.DataFrame, prints: list[dict[str, Any] | None], baseline: str | Mapping[str, Any] | None
) -> dict[str, Any] | None:
    if baseline is None or not isinstance(baseline, str):
        return fingerprint_fields(dict(baseline)) if baseline else None
    known = [str(run) for run in runs["run_id"]]
    if baseline not in known:
        raise FrameError(f"run_fingerprints() found no run {baseline!r}{nearest(baseline, known)} among the runs.")
    return prints[known.index(baseline)]


def _blank(value: Any) -> bool:
    return value is None or (not isinstance(value, dict | list) and bool(pd.isna(value)))


def _text(value: Any) -> str | None:
    return None if _blank(value) or value == "" else field_text(value)
