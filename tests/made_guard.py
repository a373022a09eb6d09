"""A hand-made promotion: six checks, two failing cases, three wins, and names that a report must not obey."""

from __future__ import annotations

from typing import Any

import pandas as pd

from harnesskit.model.decision import Decision
from harnesskit.model.promotion_policy import PromotionPolicy

HOSTILE = "<script>alert(1)</script>"


def evidence() -> pd.DataFrame:
    """One row per check."""
    rows: list[dict[str, Any]] = [
        {"check": "benefit", "state": "met", "metric": "q", "estimate": 0.14, "low": 0.05, "high": 0.24, "bar": 0.05,
         "n": 2, "n_cases": 2, "interval_kind": "repeated, two-sided 95 %",
         "scale": "z", "evidence": 3.8, "bound": 2.5,
         "looks": 2, "reason": None, "note": None},
        {"check": "futility", "state": "met", "estimate": 0.14, "bar": 0.1, "scale": "z",
         "evidence": -1.4, "bound": 2.3},
        {"check": "effect_when_read", "state": "met", "estimate": 0.2, "low": 0.07, "high": 0.3, "bar": 0.0},
        {"check": "compliance", "state": "met", "estimate": 0.75, "low": 0.2, "high": 0.99, "bar": 0.3, "n": 4},
        {"check": "harm", "state": "met", "estimate": 0.01, "scale": "lambda", "evidence": 0.2, "bound": 12.0},
        {"check": "non_inferiority", "state": "met", "estimate": 0.01, "low": -0.02, "bar": -0.1,
         "interval_kind": "one-sided, 95 %"},
        {"check": "guard_coverage", "state": "met", "estimate": 2, "bar": 2,
         "note": "2 of 3 protected wins were replayed"},
        {"check": "blind_spot", "state": "met", "estimate": 0.3, "bar": 0.5, "note": "the chance is 0.33"},
    ]  # fmt: skip
    frame = pd.DataFrame(rows)
    return frame.astype(dict.fromkeys(("metric", "reason", "note", "interval_kind", "scale"), object))


def decision(verdict: str = "promote", reason: str = "benefit", **more: Any) -> Decision:
    """The verdict on it."""
    said = {"detail": "", "reasons": ["The rule helps.", f"It is about {HOSTILE}."], "runs_needed": None, **more}
    checks = evidence()[["check", "state", "estimate", "low", "high", "bar", "n", "note"]]
    return Decision(
        "r-7", "rule", verdict, reason, said["detail"], said["reasons"], checks, said["runs_needed"],
        PromotionPolicy.budgeted().plain(), "e" * 64,
    )  # fmt: skip


def frames() -> dict[str, Any]:
    """Everything else that a page shows."""
    win = {"n_control": 5, "n_candidate": 1, "baseline_source": "control", "note": None}
    return {
        "guard": {"text": f"Look the order up first. {HOSTILE}", "Now": "candidate", "Why": "password=hunter2-4711-x"},
        "frozen": {"started_at": "2026-06-27 08:00 UTC", "seed": 3, "prior_sd": 0.08, "noise": "measured",
                   "held_out": ["c-9"], "notes": ["A note."]},
        "path": pd.DataFrame({
            "check": ["benefit", "benefit", "futility", "futility", "harm"], "look": [1, 2, 1, 2, 1],
            "replays": [2, 4, 2, 4, 5], "n_control": 10, "n_candidate": [1, 2, 1, 2, 1], "estimate": 0.14,
            "scale": ["z"] * 4 + ["lambda"], "evidence": [1.5, 3.8, 1.0, -1.4, 0.2],
            "bound": [2.6, 2.5, 2.4, 2.3, 12.0],
            "decided": [False, True, False, False, True],
        }),
        "effects": pd.DataFrame({
            "case_id": ["c-1", HOSTILE], "metric": "q", "role": ["gave rise to it", "other"], "n_control": 5,
            "n_candidate": 1, "control": [0.4, 0.5], "candidate": [0.6, 0.58], "delta": [0.2, 0.08],
            "session_id": ["s-1", "s-2"], "signature": ["breach:q", "breach:q"], "notes": ["Retyped it.", HOSTILE],
        }),
        "wins": pd.DataFrame([
            {"case_id": "w-1", "replayed": True, "delta": -0.1, "low": -0.2, "high": 0.0, "harm": 1.4, **win},
            {"case_id": HOSTILE, "replayed": True, "delta": 0.1, "low": 0.0, "high": 0.2, "harm": 0.2, **win},
            {"case_id": "w-3", "replayed": False, "delta": None, "low": None, "high": None, "harm": 1.0, **win},
        ]),
        "pairs": pd.DataFrame({
            "case_id": ["c-1", "w-1"], "kind": ["failure", "win"], "metric": "q", "control": [0.4, 0.9],
            "candidate": [0.6, 0.8], "delta": [0.2, -0.1], "read": [True, None], "control_sample": ["a", "b"],
            "candidate_sample": ["x", "y"], "control_output": ['"It is done."', None],
            "candidate_output": [HOSTILE, '{"api_key": "sk-live-abcdef1234567890", "reply": "Done."}'],
            "input": ['{"task": "refund order 7"}', None],
        }),
        "reproduce": "harnesskit report --guard r-7 --out page.html",
        "rollback": "harnesskit promote r-7 --retire why",
        "tried": (4, 1),
        "others": pd.DataFrame({"id": ["r-1"], "text": ["Be kind."], "promoted_at": [None], "since": [False]}),
    }  # fmt: skip
