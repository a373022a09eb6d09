"""Labelled calibration of many sessions against a loop over thresholds and sessions."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pandas as pd

from harnesskit.measures.calibration import calibrate
from harnesskit.measures.threshold_sweep import sweep_thresholds
from tests.bench.places import Places
from tests.bench.timing import Row, interleaved, shown

SESSIONS, METRICS, DRAWS = 100_000, 4, 200
PART = 5_000
"""Sessions and metrics x draws of one that the loop is timed on; it is linear in sessions, and scaled up."""

GRID = [round(0.05 * step, 2) for step in range(1, 20)]
LEAST = 20.0


def bench_calibrating(places: Places) -> list[Row]:
    """The sweep alone, and calibration with its bootstrap, which the loop has to sweep again for every sample."""
    rng = np.random.default_rng(0)
    failed = rng.random(SESSIONS) < 0.3
    names = [f"session-{i:06d}" for i in range(SESSIONS)]
    parts = []
    for number in range(METRICS):
        value = np.clip(np.where(failed, 0.45, 0.72) + rng.normal(0, 0.15, SESSIONS), 0, 1)
        parts.append(pd.DataFrame({"session_id": names, "metric": f"metric_{number}", "value": value}))
    scores = pd.concat(parts, ignore_index=True)
    labels = pd.DataFrame({"session_id": names, "failed": failed})
    times = interleaved([lambda: sweep_thresholds(scores, labels), lambda: calibrate(scores, labels)], repeats=3)
    part = dict(zip(names[:PART], parts[0]["value"][:PART].tolist(), strict=True))
    said = dict(zip(names[:PART], failed[:PART].tolist(), strict=True))
    begun = time.perf_counter()
    counted = loop(part, said)
    one = (time.perf_counter() - begun) * SESSIONS / PART * METRICS
    ours = sweep_thresholds(scores.head(PART), labels)[["tp", "fp", "fn", "tn"]].to_numpy()
    assert (ours == np.array(counted)).all(), "the loop and the sweep must count the same"
    what, note = f"{SESSIONS:,} sessions x {METRICS} metrics", f"loop timed on {PART:,} sessions x 1 metric, scaled"
    rows = []
    for way, (name, naive) in enumerate((("sweep", one), ("calibrate", one * (1 + DRAWS)))):
        mine = times.of(way)
        bound = LEAST if name == "calibrate" else None  # one pass from text keys costs more than its counting
        rows.append(Row(f"{name}, {what}", shown(mine), shown(naive), note, naive / mine, None, bound, least=True))
    return rows


def loop(scores: dict[str, float], labels: dict[str, Any]) -> list[tuple[int, int, int, int]]:
    """Return the confusion under every threshold, as a loop counts it."""
    rows = []
    for threshold in GRID:
        tp = fp = fn = tn = 0
        for session, value in scores.items():
            breach, bad = value < threshold - 1e-9, labels[session]
            if breach and bad:
                tp += 1
            elif breach:
                fp += 1
            elif bad:
                fn += 1
            else:
                tn += 1
        rows.append((tp, fp, fn, tn))
    return rows
