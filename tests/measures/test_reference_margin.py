"""The reference policy against what the reference harness said of its own workspaces."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from harnesskit.decisions.regression import decide_regression
from harnesskit.measures.deltas import case_deltas, case_statuses


def both_sides(results: list[dict]) -> tuple[pd.DataFrame, pd.DataFrame]:
    before, after = [], []
    for r in results:
        case = {"case_id": r["case_id"], "kind": r["kind"]}
        before += [{**case, "metric": m, "value": v} for m, v in r["baseline_scores"].items()]
        after += [{**case, "metric": m, "value": v, "status": "ok"} for m, v in r["replay_scores"].items()]
        if not r["replay_scores"]:
            after.append({**case, "metric": None, "value": None, "status": r["status"], "reason": r["reason"]})
    columns = ["case_id", "kind", "metric", "value", "status", "reason"]
    return pd.DataFrame(before).assign(source="captured"), pd.DataFrame(after, columns=columns)


@pytest.mark.parametrize("block", ["noise", "same", "no_replay", "edge", "mixed"])
@pytest.mark.parametrize("workspace", ["small", "mid"])
def test_statuses_agree_but_for_stated_differences(shared: Path, workspace: str, block: str) -> None:
    answer = json.loads((shared / "reference" / "expected" / workspace / "regression.json").read_text())[block]
    results = answer["ok"]["json"]["results"]
    deltas = case_deltas(*both_sides(results), policy="reference")
    found = case_statuses(deltas).set_index("case_id")["status"]
    for r in results:
        wanted, changes = r["status"], r["deltas"].values()
        in_range = all(0 <= v <= 1 for v in r["replay_scores"].values())
        nominal = any(abs(abs(d) - 0.05) < 1e-9 for d in changes)
        if nominal or not in_range:
            continue  # a nominal .05 counts here; a score outside the scale of its metric does not
        if wanted == "unchanged" and not changes:
            wanted = "inconclusive"  # nothing was comparable
        assert found[r["case_id"]] == wanted, r["case_id"]
    verdict = decide_regression(deltas, policy="reference").verdict
    if not any(r["deltas"] for r in results):
        assert verdict == "inconclusive"
    elif block in ("noise", "same"):
        assert verdict == ("pass" if answer["ok"]["json"]["clean"] else "fail")
