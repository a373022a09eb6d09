"""Hand-made frames of a regression run, by the contracts, with names that break careless output."""

from __future__ import annotations

import pandas as pd

from harnesskit.model.decision import Decision
from harnesskit.model.policy import RegressionPolicy

HOSTILE = [
    "refund-1017",
    "<script>window.PWNED=1</script>",
    "a|b\nc",
    "$42",
    "付款失败",
    "🔥 retry",
    "",
    "العربية",
    "ctrl\x07\u202eend",
    "`code` *star* _x_ [l](javascript:x)",
    "very-long-name-" + "x" * 90 + "-1017",
    "very-long-name-" + "x" * 90 + "-1018",
]
METRICS = ["tool_correctness", "task_completion", "latency_s", "q|r"]


def made_deltas(cases: list[str] | None = None, metrics: list[str] | None = None) -> pd.DataFrame:
    """One row per case and metric; the statuses and numbers follow from the position, no randomness."""
    rows = []
    for i, case in enumerate(HOSTILE if cases is None else cases):
        for j, metric in enumerate(METRICS if metrics is None else metrics):
            rows.append(_row(case, metric, i * 4 + j))
    frame = pd.DataFrame(rows)
    return frame.astype({"n_baseline": "Int64", "n_candidate": "Int64", "runs_needed": "Int64"})


def _row(case: str, metric: str, step: int) -> dict[str, object]:
    status = ("regressed", "inconclusive", "unchanged", "unchanged", "improved", "unchanged", "skipped")[step % 7]
    scale = 3.0 if metric == "latency_s" else 1.0
    better = -1 if metric == "latency_s" else 1
    change = {"regressed": -0.31, "improved": 0.12, "inconclusive": -0.07}.get(status, 0.004)
    change = scale * better * (change - 0.001 * (step % 5))
    skipped = status == "skipped"
    return {
        "case_id": case,
        "kind": "failure" if step % 9 == 8 else "win",
        "metric": metric,
        "n_baseline": 5,
        "n_candidate": 0 if skipped else 1 + step % 3,
        "baseline": 0.9 * scale,
        "candidate": None if skipped else 0.9 * scale + change,
        "delta": None if skipped else change,
        "low": None if skipped else change - 0.08 * scale,
        "high": None if skipped else change + 0.08 * scale,
        "interval_kind": None if skipped else "moderated t",
        "z": None if skipped else -better * change * 12 / scale,
        "bound": 2.9,
        "status": status,
        "suspect": status == "inconclusive" and step % 2 == 1,
        "reason": {"skipped": "no replay input", "inconclusive": "the interval holds both 0 and the tolerance"}.get(
            status
        ),
        "runs_needed": 4 if status == "inconclusive" else None,
        "baseline_source": "captured" if step % 11 == 10 else "control",
        "sd": 0.05 * scale,
        "n_unscored": int(step % 13 == 12),
    }


def made_comparison(deltas: pd.DataFrame) -> pd.DataFrame:
    """One row per kind and metric, counted from `deltas`; means are plain means, intervals made up."""
    rows = []
    for (kind, metric), group in deltas.groupby(["kind", "metric"], sort=True):
        paired = group[group["delta"].notna()]
        counts = {f"n_{s}": int((group["status"] == s).sum()) for s in
                  ("regressed", "improved", "unchanged", "inconclusive", "skipped")}  # fmt: skip
        base, delta = float(paired["baseline"].mean()), float(paired["delta"].mean())
        rows.append(
            {
                "kind": kind, "metric": metric, "n_cases": len(group), "n_paired": len(paired),
                "n_baseline_only": len(group) - len(paired), "n_candidate_only": 0, **counts,
                "baseline": base, "candidate": base + delta, "delta": delta, "low": delta - 0.05, "high": delta + 0.05,
                "interval_kind": "paired t", "drop_bound": 0.09, "percent": 100 * delta / base if base else None,
                "higher_is_better": metric != "latency_s",
                "baseline_source": "mixed" if (group["baseline_source"] == "captured").any() else "control",
                "warning": "fewer than 10 cases" if len(paired) < 10 else None,
            }
        )  # fmt: skip
    return pd.DataFrame(rows)


def made_checks() -> pd.DataFrame:
    """Three checks, one per state."""
    columns = ["check", "state", "estimate", "low", "high", "bar", "n", "note"]
    rows = [
        [
            "no protected win regressed",
            "unmet",
            3.0,
            None,
            None,
            0.0,
            12,
            "refund-1017 fell by 0.31 on tool_correctness",
        ],
        ["mean drop of all wins", "unknown", 0.04, -0.01, 0.09, 0.05, 11, "the interval holds the bar"],
        ["wins scored", "met", 0.95, None, None, 0.9, 12, None],
    ]
    return pd.DataFrame(rows, columns=columns)


def made_decision(verdict: str = "fail") -> Decision:
    """A decision on run ``run-7`` under the default policy."""
    return Decision(
        subject="run-7",
        guard_kind=None,
        verdict=verdict,
        reason="no protected win regressed",
        detail="",
        reasons=[
            "3 protected wins regressed, worst refund-1017 on tool_correctness: -0.31 (-0.39 to -0.23).",
            "2 wins are inconclusive; 8 more replays would settle them.",
        ],
        checks=made_checks(),
        runs_needed=8,
        policy=RegressionPolicy.default().plain(),
        evidence_hash="3f" * 32,
    )
