"""Load the inputs of one field report and write what was seen as JSON: run in a process with another environment."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import cases_adapter

DAYS = """
SELECT strftime(created_at, '%Y-%m-%d') AS day, list(case_id ORDER BY created_at) AS cases
FROM cases WHERE created_at IS NOT NULL GROUP BY day ORDER BY day
"""


def look(folder: Path) -> dict[str, Any]:
    """Return the cases in order, their days, the problems, and the samples beside them."""
    loaded = cases_adapter.load_evalset(folder / "evalset")
    frame = loaded.harness.table("cases").dropna(subset=["created_at"])
    by_day = frame.groupby(frame["created_at"].dt.strftime("%Y-%m-%d"))["case_id"].agg(list)
    newest = loaded.harness.sql("SELECT case_id FROM cases ORDER BY created_at DESC NULLS LAST LIMIT 1")["case_id"][0]
    samples = [cases_adapter.load_samples(path) for path in sorted(folder.glob("*.jsonl"))]
    return {
        "order": frame["case_id"].tolist(),
        "times": [at.isoformat() for at in frame["created_at"]],
        "newest": newest,
        "days": {row.day: list(row.cases) for row in loaded.harness.sql(DAYS).itertuples()},
        "days_of_the_frame": by_day.to_dict(),
        "notes": {case["id"]: case["notes"] for case in loaded.cases},
        "problems": [[row["file"], row["severity"], row["kind"]] for row in loaded.problems],
        "samples": [[row["sample_id"], row["case_id"], row["scores"]] for one in samples for row in one.rows],
        "sample_problems": [row["reason"] for one in samples for row in one.problems],
    }


if __name__ == "__main__":
    print(json.dumps(look(Path(sys.argv[1])), allow_nan=False))
