"""Hand-made scores: cases times metrics times trials, with seeded noise."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd


def made_scores(values: np.ndarray, *, kind: str = "win", metrics: list[str] | None = None) -> pd.DataFrame:
    """Rows of scores from an array cases x metrics x trials."""
    cases, k, trials = values.shape
    names = metrics or [f"m{i}" for i in range(k)]
    index = pd.MultiIndex.from_product(
        [[f"c{i:03d}" for i in range(cases)], names, range(1, trials + 1)], names=["case_id", "metric", "trial"]
    )
    return index.to_frame(index=False).assign(kind=kind, value=values.ravel())


def null_world(
    rng: np.random.Generator, *, cases: int, metrics: int, trials: int, sd: float = 0.1, shared: float = 0.5
):
    """Two runs of the same agent: case means, and noise that the metrics of a run share in part."""
    mean = rng.uniform(0.6, 0.9, size=(cases, metrics, 1))

    def run() -> pd.DataFrame:
        common = rng.normal(size=(cases, 1, trials)) * shared**0.5
        own = rng.normal(size=(cases, metrics, trials)) * (1 - shared) ** 0.5
        return made_scores(np.clip(mean + sd * (common + own), 0, 1))

    return run(), run()


def read_samples(path: Path) -> pd.DataFrame:
    """Rows of scores from a field report's samples file."""
    rows = []
    for line in path.read_text().splitlines():
        record = json.loads(line)
        for metric, value in record["scores"].items():
            rows.append({"case_id": record["case_id"], "metric": metric, "value": value, "trial": record.get("repeat")})
    return pd.DataFrame(rows, columns=["case_id", "metric", "value", "trial"])


def read_captured(folder: Path) -> pd.DataFrame:
    """Captured baselines of a field report's eval set."""
    rows = []
    for path in sorted(folder.glob("*.json")):
        case = json.loads(path.read_text())
        for metric, value in case["baseline_scores"].items():
            rows.append({"case_id": case["id"], "kind": case["kind"], "metric": metric, "value": value})
    return pd.DataFrame(rows).assign(source="captured")
