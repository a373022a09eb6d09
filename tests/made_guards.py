"""Made trials of a guard: failing cases and protected wins with a bank, replayed one at a time, in rows of scores."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

COLUMNS = (
    "case_id",
    "kind",
    "metric",
    "value",
    "status",
    "reason",
    "round",
    "sample_id",
    "candidate_surfaced",
    "source",
)


def scored(case: str, kind: str, values: dict[str, float], **facts: Any) -> list[dict[str, Any]]:
    """Rows of one run."""
    given = {"status": "ok", "reason": None, "round": None, "candidate_surfaced": None, "source": "control"} | facts
    return [{"case_id": case, "kind": kind, "metric": m, "value": v, **given} for m, v in values.items()]


def crashed(case: str, kind: str, status: str = "error", reason: str = "raised: boom", **facts: Any) -> dict[str, Any]:
    """The row of a replay that gave nothing."""
    return {"case_id": case, "kind": kind, "metric": None, "value": np.nan, "status": status, "reason": reason, **facts}


def frame(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Rows as a frame of case_scores."""
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype({"value": float, "round": float})


def made_trial(
    effect: float = 0.3,
    *,
    failures: int = 3,
    wins: int = 12,
    bank: int = 5,
    replays: int = 4,
    harmed: int = 0,
    harm: float = 0.4,
    sd: float = 0.03,
    read: bool | None = True,
    seed: int = 0,
    win_replays: int = 2,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Both sides: `replays` candidate runs of each failing case, then each win `win_replays` times, in this order."""
    rng = np.random.default_rng(seed)
    names = [(f"f{i}", "failure", 0.35) for i in range(failures)] + [(f"w{i:02d}", "win", 0.85) for i in range(wins)]

    def run(level: float) -> dict[str, float]:
        return {m: float(np.clip(level + rng.normal(0, sd), 0, 1)) for m in ("q", "p")}

    control, candidate = [], []
    for case, kind, level in names:
        for i in range(bank):
            control += scored(case, kind, run(level), sample_id=f"b-{case}-{i}")
    step = 0
    for _ in range(replays):
        for case, kind, level in names[:failures]:
            step += 1
            facts = {"round": step, "sample_id": f"c-{step}", "candidate_surfaced": read}
            candidate += scored(case, kind, run(level + effect), **facts)
    for _ in range(win_replays):
        for i, (case, kind, level) in enumerate(names[failures:]):
            step += 1
            drop = harm if i < harmed else 0.0
            candidate += scored(
                case, kind, run(level - drop), round=step, sample_id=f"c-{step}", candidate_surfaced=False
            )
    return frame(control), frame(candidate)
