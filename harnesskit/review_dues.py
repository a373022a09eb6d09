"""What is due after a promotion: guards are tested alone and deployed together."""

from __future__ import annotations

import dataclasses

import pandas as pd

from harnesskit.model.errors import listed
from harnesskit.model.guard_change import GuardChange
from harnesskit.store.database import script
from harnesskit.stored_runs import StoredRuns


def with_dues(workspace: StoredRuns, change: GuardChange) -> GuardChange:
    """Return the change with the guards promoted since the last regression run, and what follows from them."""
    found = workspace.sql(script("queries/promoted_since.sql"))
    ids = tuple(dict.fromkeys([*map(str, found["guard_id"]), change.guard_id]))
    last = found["last_run"].iloc[0] if len(found) else None
    when = "there was none yet" if last is None or pd.isna(last) else f"begun {last:%Y-%m-%d %H:%M} UTC"
    others = [one for one in ids if one != change.guard_id]
    also = f"; besides this one: {listed(others)}" if others else ", this one alone"
    note = (
        f"Promoted since the last regression run ({when}){also}. Each was tested alone and all are deployed together: "
        "a run of the new active set is due (harness.run_regression)."
    )
    return dataclasses.replace(change, promoted_since=ids, notes=(*change.notes, note))
