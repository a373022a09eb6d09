"""Both arms of a trial of a guard: what was run in each, what it cost, and what each failing case did."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
import pandas as pd

from harnesskit.model.arms import ARM_COSTS, ARM_LEDGER, CASE_EFFECTS
from harnesskit.model.frames import SAMPLES
from harnesskit.model.views import CASE_SCORES
from harnesskit.stats.intervals import mean_interval

BANK = "control bank"
_COSTS = {
    "duration": ("duration_s", "s", 1.0),
    "tokens in": ("input_tokens", "tokens", 1.0),
    "tokens out": ("output_tokens", "tokens", 1.0),
    "cost of 1,000 runs": ("cost_usd", "USD", 1000.0),
}
"""Quantity to its column of samples, its unit, and what makes one of the other."""


def arm_ledger(samples: pd.DataFrame, control: pd.DataFrame | None = None) -> pd.DataFrame:
    """Return one row per arm and kind of case (`ARM_LEDGER`): runs made, scored, failed, and in which it was read.

    Parameters
    ----------
    samples
        Attempts of the trial; reads ``arm, case_id, status``, and ``candidate_surfaced`` and ``kind`` when there.
    control
        Scores of the control side; its rows without ``round`` are the bank. Reads ``sample_id, case_id, kind``.

    Raises
    ------
    FrameError
        A column is missing.

    Examples
    --------
    >>> rows = pd.DataFrame({"sample_id": ["a", "b"], "arm": "candidate", "case_id": "f", "kind": "failure"})
    >>> arm_ledger(rows.assign(status=["scored", "timeout"]))[["arm", "n_runs", "n_scored", "n_failed"]].values.tolist()
    [['candidate', 2, 1, 1]]
    """
    SAMPLES.require(samples, "sample_id", "arm", "case_id", "status", by="arm_ledger()")
    rows = [] if control is None else _banked(control)
    kinds = samples["kind"] if "kind" in samples else pd.Series(None, index=samples.index, dtype=object)
    read = samples["candidate_surfaced"] if "candidate_surfaced" in samples else pd.Series(pd.NA, index=samples.index)
    made = samples.assign(kind=kinds.astype(object).where(kinds.notna(), "case"), read_=read)
    for arm in ("control", "candidate"):
        for kind in ("failure", "win", "case"):
            part = made[((made["arm"] == arm) & (made["kind"] == kind)).to_numpy(dtype=bool)]
            if len(part):
                rows.append(_arm(arm, kind, part))
    frame = pd.DataFrame(rows, columns=list(ARM_LEDGER.columns))
    counts = [name for name in frame if str(name).startswith("n_")]
    return frame.astype(dict.fromkeys(counts, "Int64"))


def _arm(arm: str, kind: str, part: pd.DataFrame) -> dict[str, Any]:
    status, read = part["status"], part["read_"]
    known = read[read.notna()].astype(bool)
    return {
        "arm": arm, "kind": kind, "n_cases": part["case_id"].nunique(), "n_runs": len(part),
        "n_scored": int((status == "scored").sum()), "n_failed": int(status.isin(["error", "timeout"]).sum()),
        "n_other": int((~status.isin(["scored", "error", "timeout"])).sum()),
        "n_read": int(known.sum()) if arm == "candidate" and len(known) else None,
    }  # fmt: skip


def _banked(control: pd.DataFrame) -> list[dict[str, Any]]:
    CASE_SCORES.require(control, "case_id", "kind", "sample_id", by="arm_ledger()")
    bank = control[control["round"].isna()] if "round" in control else control
    source = bank["source"] if "source" in bank else pd.Series("control", index=bank.index)
    bank = bank[(source == "control").to_numpy(dtype=bool) & bank["sample_id"].notna().to_numpy(dtype=bool)]
    found = []
    for kind in ("failure", "win"):
        part = bank[(bank["kind"] == kind).to_numpy(dtype=bool)]
        if len(part):
            runs = part["sample_id"].nunique()
            found.append({"arm": BANK, "kind": kind, "n_cases": part["case_id"].nunique(), "n_runs": runs,
                          "n_scored": runs, "n_failed": 0, "n_other": 0, "n_read": None})  # fmt: skip
    return found


def arm_costs(control: pd.DataFrame, candidate: pd.DataFrame) -> pd.DataFrame:
    """Return one row per quantity (`ARM_COSTS`): duration, tokens and cost of a run without and with the guard.

    Runs are reduced per case, and only cases with both kinds of runs are compared, each with equal weight, so that a
    guard tried on long cases does not look slow.

    Parameters
    ----------
    control, candidate
        Samples without and with the guard; reads ``case_id`` and what is there of ``duration_s, input_tokens,
        output_tokens, cost_usd``.

    Returns
    -------
    DataFrame
        ``low`` and ``high``: t interval over cases, 95 %; missing below two cases. Empty where nothing is known.

    Examples
    --------
    >>> runs = pd.DataFrame({"sample_id": ["a", "b"], "case_id": ["f", "g"], "cost_usd": [1.0, 3.0]})
    >>> arm_costs(runs, runs.assign(cost_usd=[2.0, 4.0]))[["quantity", "control", "candidate"]].values.tolist()
    [['cost of 1,000 runs', 2000.0, 3000.0]]
    """
    for side in (control, candidate):
        SAMPLES.require(side, "case_id", by="arm_costs()")
    rows = []
    for quantity, (column, unit, times) in _COSTS.items():
        if column not in control or column not in candidate:
            continue
        means = [times * _per_case(side, column) for side in (control, candidate)]
        both = pd.concat(means, axis=1, keys=["control", "candidate"], join="inner").dropna()
        if both.empty:
            continue
        change = (both["candidate"] - both["control"]).to_numpy(dtype=float)
        found = mean_interval(change)
        rows.append({
            "quantity": quantity, "unit": unit, "n_cases": len(both), "control": both["control"].mean(),
            "candidate": both["candidate"].mean(), "delta": change.mean(), "low": found.low, "high": found.high,
        })  # fmt: skip
    frame = pd.DataFrame(rows, columns=list(ARM_COSTS.columns))
    return frame.astype({"n_cases": "Int64"})


def _per_case(side: pd.DataFrame, column: str) -> pd.Series[Any]:
    values = pd.to_numeric(side[column], errors="coerce").astype(float)
    return values.groupby(side["case_id"].to_numpy()).mean()


def case_effects(
    control: pd.DataFrame, candidate: pd.DataFrame, *, metric: str, sources: Collection[str] = ()
) -> pd.DataFrame:
    """Return one row per failing case (`CASE_EFFECTS`): its mean without and with the guard, in the metric's own unit.

    Parameters
    ----------
    control, candidate
        Scores of both sides, as `harnesskit.promotion_evidence` takes them.
    metric
        The metric.
    sources
        Cases that gave rise to the guard: they come first, apart from the others.

    Raises
    ------
    FrameError
        A column is missing.

    Examples
    --------
    >>> rows = pd.DataFrame({"case_id": ["f"], "kind": "failure", "metric": "q", "value": [0.25]})
    >>> case_effects(rows, rows.assign(value=0.75), metric="q", sources=["f"])[["role", "delta"]].values.tolist()
    [['gave rise to it', 0.5]]
    """
    sides = []
    for side in (control, candidate):
        CASE_SCORES.require(side, "case_id", "kind", "metric", "value", by="case_effects()")
        fits = (side["kind"] == "failure") & (side["metric"] == metric)
        if "source" in side:
            fits &= side["source"].fillna("control") != "captured"
        rows = side[fits.fillna(False).to_numpy(dtype=bool)]
        values = pd.to_numeric(rows["value"], errors="coerce").astype(float)
        sides.append(values.groupby(rows["case_id"].to_numpy()).agg(["mean", "count"]))
    both = pd.concat(sides, axis=1, keys=["control", "candidate"])
    frame = pd.DataFrame({
        "case_id": both.index.astype(object), "metric": metric,
        "role": np.where(both.index.isin(list(sources)), "gave rise to it", "other"),
        "n_control": both["control", "count"].to_numpy(), "n_candidate": both["candidate", "count"].to_numpy(),
        "control": both["control", "mean"].to_numpy(), "candidate": both["candidate", "mean"].to_numpy(),
    })  # fmt: skip
    frame["delta"] = frame["candidate"] - frame["control"]
    frame = frame.fillna({"n_control": 0, "n_candidate": 0}).astype({"n_control": "Int64", "n_candidate": "Int64"})
    frame = frame.sort_values(["role", "case_id"], kind="stable", ignore_index=True)
    return frame[list(CASE_EFFECTS.columns)]
