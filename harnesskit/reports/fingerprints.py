"""What changed between the runs, by the fingerprints that they recorded."""

from __future__ import annotations

import pandas as pd

from harnesskit.model.errors import listed
from harnesskit.model.fingerprint import differences, fingerprint_fields, short
from harnesskit.reports.cells import Column
from harnesskit.reports.document import Block, Table

_COLUMNS = (
    Column("run_id", "Run", "text"),
    Column("role", "Role", "text"),
    Column("label", "Label", "text"),
    Column("same_as_baseline", "As the baseline", "flag"),
    Column("differs", "What differs from it", "text"),
    Column("agent", "Agent", "text"),
    Column("version", "Version", "text"),
    Column("prompt", "Prompt", "text"),
    Column("model", "Model", "text"),
    Column("tools", "Tools", "text"),
    Column("judge", "Judge", "text"),
    Column("grader", "Grader", "text"),
    Column("rules_hash", "Rules", "text"),
    Column("other", "Other", "text"),
)


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
    pairs = zip(runs["run_id"], runs["fingerprint"], strict=True)
    prints = {str(run): fingerprint_fields(None if pd.isna(value) else value) for run, value in pairs}
    after = prints.get(subject)
    said = []
    for run, before in prints.items():
        if run in (subject, "captured"):
            continue
        lacking = [short(name) for name, fields in ((run, before), (subject, after)) if fields is None]
        if before is None or after is None:
            said.append(f"What changed is not recorded: no fingerprint of {' and '.join(lacking)}.")
            continue
        what = differences(before, after)
        same = listed([short(key) for key in sorted(before)]) or "nothing"
        said.append(
            f"Changed from {short(run)} to {short(subject)}: {what}."
            if what
            else f"The fingerprints of {short(run)} and {short(subject)} are equal ({same})."
        )
    return said


def fingerprint_tables(fingerprints: pd.DataFrame | None) -> list[Block]:
    """Return the table of the fingerprints of runs (`harnesskit.run_fingerprints`); nothing without any."""
    if fingerprints is None or fingerprints.empty:
        return []
    caption = "What produced the samples of each run; only a run with the baseline's fingerprint is a control for it"
    return [Table("fingerprints", caption, fingerprints, _COLUMNS)]
