"""What a workspace knows beside the evidence about a guard: the guard, its reviews, other rules, other trials."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pandas as pd

from harnesskit.stats.intervals import clopper_pearson
from harnesskit.store.database import script
from harnesskit.tables import Tables
from harnesskit.workspace.clock import Clock, utc_now
from harnesskit.workspace.decision_log import DecisionLog, statuses
from harnesskit.workspace.layout import workspace_root


class PromotionContext:
    """A workspace as the page on one guard reads it: from its files as they are now; nothing is written."""

    def __init__(self, root: str, clock: Clock = utc_now) -> None:
        self.tables = Tables(workspace_root(Path(root)))
        self.clock = clock

    def rule(self, rule_id: str) -> dict[str, Any] | None:
        """Return a rule as it is now; None when there is none."""
        return _first(self.tables.sql("SELECT * FROM rules WHERE rule_id = $id", id=rule_id))

    def case(self, case_id: str) -> dict[str, Any] | None:
        """Return a case as it is now; None when there is none."""
        return _first(self.tables.sql("SELECT * FROM cases WHERE case_id = $id", id=case_id))

    def cases(self) -> pd.DataFrame:
        """Return one row per case: its session, its labels as text, what was noted."""
        found = self.tables.sql("SELECT case_id, session_id, signature, notes FROM cases ORDER BY case_id")
        return found.assign(signature=found["signature"].map(lambda labels: ", ".join(map(str, labels))))

    def samples(self, sample_ids: Collection[str]) -> pd.DataFrame:
        """Return the attempts of these ids."""
        wanted = pd.DataFrame({"sample_id": list(sample_ids)}, dtype=object)
        return self.tables.sql(
            "SELECT * FROM samples WHERE sample_id IN (SELECT sample_id FROM wanted) ORDER BY sample_id", wanted=wanted
        )

    def started(self, run_id: str | None) -> str | None:
        """Return when a run began, in words; None when that is not known."""
        if run_id is None:
            return None
        found = _first(self.tables.sql("SELECT started_at FROM runs WHERE run_id = $run", run=run_id))
        at = None if found is None else found["started_at"]
        return None if at is None or pd.isna(at) else f"{at:%Y-%m-%d %H:%M} UTC"

    def reviews(self, guard_id: str, guard_kind: str) -> pd.DataFrame:
        """Return the records about a guard, oldest first, each with how it stands."""
        rows = DecisionLog(self.tables.root, self.clock).rows()
        now = statuses(rows, self.clock().date())
        own = [row for row in rows if row.subject == guard_id and row.guard_kind == guard_kind]
        return pd.DataFrame([{**row._asdict(), "status": now[row.decision_id]} for row in own])

    def others(self, guard_id: str) -> pd.DataFrame:
        """Return one row per other active rule, and whether it was promoted since the last regression run."""
        since = self.tables.sql(script("queries/promoted_since.sql"))
        at = dict(zip(since["guard_id"], since["promoted_at"], strict=True))
        rules = self.tables.sql(
            "SELECT rule_id AS id, rule AS text FROM rules WHERE status = 'active' AND rule_id <> $id ORDER BY rule_id",
            id=guard_id,
        )
        return rules.assign(promoted_at=rules["id"].map(at), since=rules["id"].isin(list(at)))

    def agreement(self, metric: str | None) -> str | None:
        """Return how often the judge and people agree that a session failed on a metric; None where that is not known.

        Only labels on this very metric count: a session may have failed for another reason. The judge says "failed" on
        the bad side of the metric's threshold; sessions on which people are evenly split are left out.
        """
        known = None if metric is None else self.tables.metrics[metric]
        if known is None or known.threshold is None:
            return None
        rows = self.tables.sql(script("queries/judge_agreement.sql"), metric=metric)
        rows = rows[(rows["failed"] != 0.5).to_numpy(dtype=bool)]
        if rows.empty:
            return None
        low = (
            rows["value"] < known.threshold if known.higher_is_better is not False else rows["value"] > known.threshold
        )
        same = int((low == (rows["failed"] > 0.5)).sum())
        ends = clopper_pearson(same, len(rows))
        return (
            f"{same} of {len(rows)} labelled sessions ({100 * same / len(rows):.0f} %, 95 % interval "
            f"{100 * ends.low:.0f} to {100 * ends.high:.0f} %)"
        )

    def tried(self) -> tuple[int, int]:
        """Return how many rules were tried, and how many of them have the verdict promote by their newest trial."""
        runs = self.tables.sql(
            "SELECT rule_id, parameters FROM runs WHERE role = 'candidate' AND rule_id IS NOT NULL "
            "ORDER BY started_at, run_id"
        )
        found = [(rule, json.loads(text or "{}")) for rule, text in runs.itertuples(index=False)]
        newest = {rule: parameters for rule, parameters in found if isinstance(parameters.get("promotion"), dict)}
        verdicts = [(parameters.get("verdict") or {}).get("verdict") for parameters in newest.values()]
        return len(newest), verdicts.count("promote")


def _first(frame: pd.DataFrame) -> dict[str, Any] | None:
    return {str(name): value for name, value in frame.iloc[0].items()} if len(frame) else None
