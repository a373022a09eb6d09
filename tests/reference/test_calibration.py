"""The reference's calibrate command and ours under the policy ``reference``: the same numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import harnesskit as hk
from harnesskit.calibration_verbs import CalibrationResult

LABELED = {
    "tp": "tp", "fp": "fp", "fn": "fn", "tn": "tn", "precision": "precision", "recall": "recall", "f1": "f1",
    "best_f1": "best_f1", "best_f1_threshold": "best_threshold", "labeled_sessions": "n_labelled",
    "target_precision": "target_precision", "target_precision_threshold": "lowest_threshold",
}  # fmt: skip
DESCRIBED = {
    "count": "n_scored", "minimum": "minimum", "maximum": "maximum", "mean": "mean", "median": "median", "stdev": "sd",
}  # fmt: skip
CASES: dict[str, dict[str, Any]] = {
    "labels_file": {"labels": "labels.csv"},
    "labels_file_tp0.5": {"labels": "labels.json", "target_precision": 0.5},
    "labels_file_thresholds": {"labels": "labels.csv"},
    "from_evalset": {"labels": "cases"},
}


def place(shared: Path) -> Path:
    return shared / "reference" / "expected" / "mid"


def equal(ours: Any, theirs: Any) -> bool:
    if theirs is None:
        return bool(pd.isna(ours))
    return float(ours) == pytest.approx(theirs, abs=1e-12)


def compute(shared: Path, case: str, theirs: dict[str, Any]) -> CalibrationResult:
    asked = dict(CASES[case])
    if asked["labels"] != "cases":
        asked["labels"] = place(shared) / asked["labels"]
    metrics = [hk.Metric(one["metric"], threshold=one["threshold"]) for one in theirs["metrics"]]
    harness = hk.open(shared / "reference" / "workspaces" / "mid", metrics=metrics)
    return harness.calibrate(policy="reference", **asked)


@pytest.mark.parametrize("case", CASES)
def test_the_report_is_the_references(shared: Path, case: str) -> None:
    theirs = json.loads((place(shared) / "calibrate.json").read_text(encoding="utf-8"))[case]["ok"]["json"]
    result = compute(shared, case, theirs)
    rows = result.table.set_index("metric")
    assert list(rows.index) == [one["metric"] for one in theirs["metrics"]]
    for one in theirs["metrics"]:
        row = rows.loc[one["metric"]]
        wrong = [name for name, ours in DESCRIBED.items() if not equal(row[ours], one[name])]
        wrong += [name for name, ours in LABELED.items() if not equal(row[ours], one["labeled"][name])]
        sweep = result.sweep[result.sweep["metric"] == one["metric"]].reset_index(drop=True)
        for place_, step in enumerate(one["sweep"]):
            ours = sweep.loc[place_].rename({"breaches": "breach_count"})
            wrong += [f"{step['threshold']}: {name}" for name in step if not equal(ours[name], step[name])]
        assert len(sweep) == len(one["sweep"])
        assert not wrong, (one["metric"], wrong)
    assert equal(result.agreement.iloc[-1]["agree"], theirs["agreement"])
    assert result.scores["session_id"].nunique() == theirs["session_count"]
