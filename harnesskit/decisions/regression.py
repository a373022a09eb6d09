"""Pass, fail or inconclusive: the verdict on a regression run, with its reasons."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from harnesskit.decisions.mean_drop import mean_drops
from harnesskit.decisions.regression_checks import GLOBAL, floor_checks, margin_checks, trial_checks
from harnesskit.decisions.regression_reasons import open_points, regressed_reasons, verdict_reason
from harnesskit.model.decision import CASE_STATUSES, Decision, evidence_hash
from harnesskit.model.errors import PolicyError
from harnesskit.model.policy import RegressionPolicy
from harnesskit.model.results import CASE_DELTAS, COMPARISON

_EVIDENCE = (
    *("case_id", "kind", "metric", "n_baseline", "n_candidate", "baseline", "candidate", "low", "high"),
    *("status", "suspect", "baseline_source", "n_unscored"),
)


def decide_regression(
    deltas: pd.DataFrame,
    comparison: pd.DataFrame | None = None,
    *,
    policy: str | RegressionPolicy = "default",
    subject: str = "regression run",
) -> Decision:
    """Judge a regression run: ``pass``, ``fail`` or ``inconclusive``.

    ``fail`` when a protected win regressed, or when the mean over all wins fell beyond chance (control baselines only).
    ``pass`` when nothing failed, at least `min_coverage` of the wins are scored, and the one-sided 95 % bound of the
    mean drop lies below the tolerance in every metric. Else, and whenever nothing could be compared, ``inconclusive``.
    A floor has no statistics: fail below it, pass when the wins are scored and none is. Under the reference's margin
    any case of either kind fails the run.

    Parameters
    ----------
    deltas
        Case deltas, made under the same policy; reads ``case_id, metric, status``, and the other columns when there.
    comparison
        `compare_runs(deltas)`; computed from the deltas when None.
    policy
        As for `case_deltas`.
    subject
        What is decided on, e.g. a run id.

    Raises
    ------
    FrameError
        A column is missing.
    PolicyError
        The deltas were made under another policy.

    Examples
    --------
    >>> row = {"case_id": "c-12", "metric": "q", "baseline": 0.91, "candidate": 0.62, "delta": -0.29}
    >>> frame = pd.DataFrame([{**row, "n_candidate": 3, "status": "regressed"}])
    >>> str(decide_regression(frame))
    'regression run: FAIL: c-12 fell from 0.91 to 0.62 in q (3 trials).'
    """
    rules = RegressionPolicy.parse(policy)
    CASE_DELTAS.require(deltas, "case_id", "metric", "status", by="decide_regression()")
    _same_policy(deltas, rules)
    rows = _completed(deltas, rules)
    wins = rows[rows["kind"] == "win"]
    if rules.margin is not None:
        checks, judged = margin_checks(rows), rows
    elif rules.floor_score is not None:
        checks, judged = floor_checks(wins, rules), wins
    else:
        checks, judged = trial_checks(wins, _means(rows, comparison), rules), wins
    verdict, deciding = _verdict(checks)
    reasons = [
        *regressed_reasons(judged, rules),
        *verdict_reason(verdict, deciding, checks, judged, rules),
        *open_points(rows, judged, checks, rules),
    ]
    return Decision(
        subject=subject,
        guard_kind=None,
        verdict=verdict,
        reason=deciding,
        detail=_tally(judged),
        reasons=reasons,
        checks=checks,
        runs_needed=_runs_needed(judged) if verdict != "pass" else None,
        policy=rules.plain(),
        evidence_hash=evidence_hash(_evidence(rows), rules.plain()),
    )


def _verdict(checks: pd.DataFrame) -> tuple[str, str]:
    """Return the verdict and the check that decided; the test over all wins can fail a run, but none waits for it."""
    unmet = checks.loc[checks["state"] == "unmet", "check"].tolist()
    if unmet:
        return "fail", str(unmet[0])
    unknown = checks.loc[(checks["state"] == "unknown") & (checks["check"] != GLOBAL), "check"].tolist()
    return ("inconclusive", str(unknown[0])) if unknown else ("pass", str(checks["check"].iloc[0]))


def _same_policy(deltas: pd.DataFrame, rules: RegressionPolicy) -> None:
    made = sorted({str(p) for p in deltas["policy"].dropna()}) if "policy" in deltas else []
    if made and made != [rules.label]:
        raise PolicyError(
            f"the deltas were made under policy {', '.join(map(repr, made))}, the decision asks for {rules.label!r}; "
            "use the same policy for both."
        )


def _completed(deltas: pd.DataFrame, rules: RegressionPolicy) -> pd.DataFrame:
    """Return sorted rows with every column the checks read; hand-made frames are filled with what is assumed."""
    out = deltas.sort_values(["case_id", "metric"], kind="stable", ignore_index=True)
    unit = out["unit"] if "unit" in out else pd.Series(1.0, index=out.index)
    assumed: dict[str, Any] = {
        "kind": "win", "baseline": np.nan, "candidate": np.nan, "delta": np.nan, "low": np.nan, "high": np.nan,
        "z": np.nan, "suspect": False, "reason": None, "runs_needed": pd.NA, "baseline_source": "control",
        "n_unscored": 0, "higher_is_better": True, "unit": 1.0, "tolerance": unit * rules.tolerance, "cluster": None,
    }  # fmt: skip
    out = out.assign(**{name: value for name, value in assumed.items() if name not in out})
    paired = out["delta"].notna()
    for side in ("n_baseline", "n_candidate"):
        if side not in out:
            out[side] = paired.astype("Int64")
    better = out["higher_is_better"].eq(False).fillna(False).to_numpy(dtype=bool)
    out["drop"] = np.where(better, 1.0, -1.0) * out["delta"].astype(float) / out["unit"].astype(float)
    out["judged"] = out["unit"].notna().to_numpy(dtype=bool)
    decided = out["status"].isin(["regressed", "improved", "unchanged"])
    out["compared"] = (decided if rules.floor_score is not None else decided | paired).to_numpy(dtype=bool)
    return out


def _means(rows: pd.DataFrame, comparison: pd.DataFrame | None) -> pd.DataFrame:
    if comparison is None:
        return mean_drops(rows)
    COMPARISON.require(comparison, "kind", "metric", "n_paired", "drop_bound", by="decide_regression()")
    return comparison


def _runs_needed(rows: pd.DataFrame) -> int | None:
    """Return the candidate trials that would settle the open cases (the neediest metric of each), if known."""
    needed = rows.loc[rows["status"] == "inconclusive"].groupby("case_id")["runs_needed"].max().dropna()
    return int(needed.sum()) if len(needed) else None


def _tally(rows: pd.DataFrame) -> str:
    counts = ", ".join(f"{int((rows['status'] == status).sum())} {status}" for status in CASE_STATUSES)
    return f"{counts} of {len(rows)} case metrics"


def _evidence(rows: pd.DataFrame) -> dict[str, list[Any]]:
    """Return the columns the verdict rests on, missing values as None."""
    known = rows[list(_EVIDENCE)].astype(object)
    return {str(column): values.where(values.notna(), None).tolist() for column, values in known.items()}
