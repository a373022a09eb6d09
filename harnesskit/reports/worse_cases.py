"""The cases that got worse, and the suspects: what they are, so that a reviewer need not open their files."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd

from harnesskit.model.text import shorten
from harnesskit.reports.cells import Column, as_text, missing
from harnesskit.reports.document import Table
from harnesskit.reports.masking import mask_value

INPUT_LIMIT = 240
COLUMNS = (
    Column("case_id", "Case", "text"),
    Column("worse_in", "Got worse in", "text"),
    Column("suspect_in", "Suspect in", "text"),
    Column("notes", "Notes", "text"),
    Column("signature", "Signature", "text"),
    Column("input", "Input", "text"),
    Column("file", "File", "text"),
)


def concerned(deltas: pd.DataFrame) -> list[str]:
    """Return the ids of the cases that regressed or are suspect in some metric, in the order of `deltas`."""
    return list(dict.fromkeys(deltas.loc[(deltas["status"] == "regressed") | _suspect(deltas), "case_id"]))


def worse_cases(deltas: pd.DataFrame, cases: pd.DataFrame) -> Table | None:
    """Return one row per case that regressed or is suspect; None when there is none.

    Parameters
    ----------
    deltas
        Case deltas, worst first.
    cases
        Rows of ``cases``; reads ``case_id``, and ``notes, signature, replay_input, file`` when there.
    """
    ids = concerned(deltas)
    if not ids:
        return None
    known = {row["case_id"]: row for row in cases.to_dict("records")}
    rows = []
    for case_id in ids:
        here = deltas[deltas["case_id"] == case_id]
        worse = here["status"] == "regressed"
        rows.append(
            {
                "case_id": case_id,
                "worse_in": "\n".join(map(str, here.loc[worse, "metric"])),
                "suspect_in": "\n".join(map(str, here.loc[_suspect(here) & ~worse, "metric"])),
                **_about(known.get(case_id, {})),
            }
        )
    frame = pd.DataFrame(rows, columns=[column.name for column in COLUMNS], dtype=object)
    return Table("worse_cases", "Cases that got worse or are suspect, one row per case", frame, COLUMNS, open_rows=10)


def _about(case: dict[Any, Any]) -> dict[str, Any]:
    """Return the fields of a case as short text; masked before it is cut, so that no half of a credential stays."""
    signature = case.get("signature")
    labels = [] if signature is None or missing(signature) else list(signature)
    return {
        "notes": case.get("notes"),
        "signature": "\n".join(str(mask_value(label)) for label in labels),
        "input": _input(case.get("replay_input")),
        "file": case.get("file"),
    }


def _input(given: Any) -> str | None:
    """Return a replay input as short text: an object as a line per field."""
    if missing(given):
        return None
    try:
        value = mask_value(json.loads(given) if isinstance(given, str) else given)
    except (ValueError, RecursionError):
        value = mask_value(str(given))
    if isinstance(value, dict):
        value = "\n".join(f"{key}: {as_text(field)}" for key, field in value.items())
    return shorten(as_text(value), INPUT_LIMIT)


def _suspect(deltas: pd.DataFrame) -> pd.Series[bool]:
    if "suspect" not in deltas:
        return pd.Series(data=False, index=deltas.index)
    return deltas["suspect"].eq(True).fillna(False).astype(bool)
