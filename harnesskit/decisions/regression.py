"""Pass, fail or inconclusive: the verdict on a regression run, with its reasons."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from harnesskit.decisions.evidence_text import encoded_columns
from harnesskit.decisions.mean_drop import mean_drops
from harnesskit.decisions.mean_trials import is_mean_check, plan_mean, plan_sentence
from harnesskit.decisions.missing_scores import missing_evidence, with_missing_scores
from harnesskit.decisions.regression_checks import (
    GLOBAL,
    PROTECTED,
    Asked,
    Check,
    checks_frame,
    floor_checks,
    margin_checks,
    trial_checks,
)
from harnesskit.decisions.regression_reasons import (
    MOST_TRIALS,
    open_points,
    regressed_reasons,
    runs_to_settle,
    verdict_reason,
)
from harnesskit.model.case_status import ONE_SIDE, row_states
from harnesskit.model.contract import require_kinds
from harnesskit.model.decision import CASE_STATUSES, Decision, evidence_hash
from harnesskit.model.errors import FrameError, PolicyError, listed
from harnesskit.model.names import in_order, names_if_text
from harnesskit.model.policy import RegressionPolicy
from harnesskit.model.results import CASE_DELTAS, COMPARISON

_NAMES = ("case_id", "kind", "metric", "status", "reason", "baseline_source", "interval_kind", "cluster", "note")
_CHECKED = (
    *("case_id", "kind", "metric", "status", "n_baseline", "n_candidate", "candidate", "delta", "baseline_source"),
    *("n_unscored", "higher_is_better", "unit", "tolerance", "cluster"),
)
"""What the checks read; the other columns are for the reasons."""
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
    n_asked: int | None = None,
    remarks: Sequence[str] = (),
    missing: pd.DataFrame | None = None,
) -> Decision:
    """Judge a regression run: ``pass``, ``fail`` or ``inconclusive``.

    ``fail`` when a protected win regressed, or when the mean over all wins fell beyond chance (control baselines only).
    ``pass`` when nothing failed, at least `min_coverage` of the wins are scored, and the one-sided 95 % bound of the
    mean drop lies below the tolerance in every metric. Else, and whenever nothing could be compared, ``inconclusive``.
    Wins that could not be decided one by one are counted, and the check "wins protected" is unknown when they are most
    of them; what is held against the tolerance is the mean. A fixed plan is judged only when its trials are there.
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
    n_asked
        Cases that the run was asked to replay, when that is known. Those beyond the candidate's cases in `deltas` have
        no known result; each counts as a win that was not scored.
    remarks
        Sentences on how the evidence came about, added to the reasons.
    missing
        `missing_bounds(baseline, candidate)`: where many scores are missing, a pass must hold with them at their worst.

    Raises
    ------
    FrameError
        A column is missing, a kind is neither win nor failure, or a status is none of a case (raw scores, not deltas).
    PolicyError
        The deltas were made under another policy.

    Examples
    --------
    >>> row = {"case_id": "c-12", "metric": "q", "baseline": 0.91, "candidate": 0.62, "delta": -0.29}
    >>> frame = pd.DataFrame([{**row, "n_candidate": 3, "status": "regressed"}])
    >>> str(decide_regression(frame))
    'regression run: FAIL: 1 of 1 protected win got worse: c-12.'
    """
    rules = RegressionPolicy.parse(policy)
    CASE_DELTAS.require(deltas, "case_id", "metric", "status", by="decide_regression()")
    _refuse_other_frames(deltas)
    _same_policy(deltas, rules)
    rows = _completed(deltas, rules)
    asked = _asked(rows, n_asked)
    win = rows["kind"] == "win"
    wins = rows if win.all() else rows[win]
    judged = rows if rules.margin is not None else wins
    found = _checks(rows, wins, rules, asked, comparison, missing)
    verdict, deciding = _verdict(found)
    checks = checks_frame(found)
    plan = plan_mean(wins, checks, rules) if verdict == "inconclusive" and is_mean_check(deciding) else None
    reasons = [
        *regressed_reasons(judged, rules),
        *verdict_reason(verdict, deciding, checks, judged, rules),
        *open_points(rows, judged, checks, rules),
        *([plan_sentence(plan)] if plan else []),
        *remarks,
    ]
    return Decision(
        subject=subject,
        guard_kind=None,
        verdict=verdict,
        reason=deciding,
        detail=_tally(judged),
        reasons=reasons,
        checks=checks,
        runs_needed=None if verdict == "pass" else plan.total if plan and plan.total else _runs_needed(judged),
        policy=rules.plain(),
        evidence_hash=evidence_hash(
            *(encoded_columns(rows, _EVIDENCE), rules.plain(), *([] if n_asked is None else [n_asked])),
            *missing_evidence(missing),
        ),
    )


def regression_verdict(deltas: pd.DataFrame, *, policy: str | RegressionPolicy = "default") -> str:
    """Return the verdict of `decide_regression` alone, without the reasons: for simulations.

    Examples
    --------
    >>> regression_verdict(pd.DataFrame([{"case_id": "a", "metric": "q", "status": "regressed", "delta": -0.3}]))
    'fail'
    """
    rules = RegressionPolicy.parse(policy)
    rows = _completed(deltas[[name for name in _CHECKED if name in deltas]], rules)
    win = rows["kind"] == "win"
    return _verdict(_checks(rows, rows if win.all() else rows[win], rules, Asked(0, 0), None, None))[0]


def _checks(
    rows: pd.DataFrame,
    wins: pd.DataFrame,
    rules: RegressionPolicy,
    asked: Asked,
    comparison: pd.DataFrame | None,
    missing: pd.DataFrame | None,
) -> list[Check]:
    """Return what the rule of a policy asks for, and whether it is met."""
    if rules.margin is not None:
        return margin_checks(rows, asked)
    if rules.floor_score is not None:
        return floor_checks(wins, rules, asked)
    return with_missing_scores(trial_checks(wins, _means(rows, comparison), rules, asked), wins, missing)


def _verdict(checks: list[Check]) -> tuple[str, str]:
    """Return the verdict and the check that decided; the test over all wins can fail a run, but none waits for it."""
    unmet = [row["check"] for row in checks if row["state"] == "unmet"]
    if unmet:
        return "fail", str(unmet[0])
    waits = [
        row["check"]
        for row in checks
        if row["state"] == "unknown"
        and row["check"] != GLOBAL
        and not (row["check"] == PROTECTED and row["n"])  # most wins undecided: the checks of the mean decide
    ]
    return ("inconclusive", str(waits[0])) if waits else ("pass", str(checks[0]["check"]))


def _refuse_other_frames(deltas: pd.DataFrame) -> None:
    odd = sorted({repr(status) for status in deltas["status"].unique().tolist() if status not in CASE_STATUSES})
    if odd:
        raise FrameError(
            f"decide_regression() needs case deltas; status {listed(odd)} is none of {', '.join(CASE_STATUSES)}. "
            "Make them of two frames of scores: case_deltas(baseline, candidate)."
        )
    if "kind" in deltas:
        require_kinds(deltas["kind"], by="decide_regression()")


def _asked(rows: pd.DataFrame, n_asked: int | None) -> Asked:
    """Return how many cases were asked for, and how many of them have no known result."""
    tried = (rows["n_candidate"].fillna(0) > 0) | (rows["n_unscored"].fillna(0) > 0) | (rows["status"] == "skipped")
    known = rows.loc[tried, "case_id"].nunique()
    return Asked(0, 0) if n_asked is None else Asked(n_asked, max(n_asked - known, 0))


def _same_policy(deltas: pd.DataFrame, rules: RegressionPolicy) -> None:
    made = sorted({str(p) for p in deltas["policy"].dropna().unique()}) if "policy" in deltas else []
    if made and made != [rules.label]:
        raise PolicyError(
            f"the deltas were made under policy {', '.join(map(repr, made))}, the decision asks for {rules.label!r}; "
            "use the same policy for both."
        )


def _completed(deltas: pd.DataFrame, rules: RegressionPolicy) -> pd.DataFrame:
    """Return sorted rows with every column the checks read; hand-made frames are filled with what is assumed."""
    out = deltas.assign(**{name: names_if_text(deltas[name]) for name in _NAMES if name in deltas})
    if in_order(out["case_id"], out["metric"]):
        out = out.reset_index(drop=True)
    else:
        out = out.sort_values(["case_id", "metric"], kind="stable", ignore_index=True)
    unit = out["unit"] if "unit" in out else pd.Series(1.0, index=out.index)
    assumed: dict[str, Any] = {
        "kind": "win", "baseline": np.nan, "candidate": np.nan, "delta": np.nan, "low": np.nan, "high": np.nan,
        "z": np.nan, "suspect": False, "reason": None, "runs_needed": pd.NA, "baseline_source": "control",
        "n_unscored": 0, "higher_is_better": True, "unit": 1.0, "tolerance": unit * rules.tolerance, "cluster": None,
        "note": None, "n_copies": 0, "n_averaged": 0, "n_unmatched": 0,
    }  # fmt: skip
    out = out.assign(**{name: value for name, value in assumed.items() if name not in out})
    paired = out["delta"].notna()
    for side in ("n_baseline", "n_candidate"):
        if side not in out:
            out[side] = paired.astype("Int64")
    blank = out["kind"].isna() | (out["kind"] == "")
    if blank.any():
        out["kind"] = names_if_text(out["kind"].astype(object).mask(blank, "win"))
    out["state"] = names_if_text(row_states(out))
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
    """Return the candidate trials that would settle the cases that can be settled by a sensible number, if any."""
    needed = runs_to_settle(rows)
    needed = needed[needed <= MOST_TRIALS]
    return int(needed.sum()) if len(needed) else None


def _tally(rows: pd.DataFrame) -> str:
    counts = ", ".join(f"{int((rows['state'] == status).sum())} {status}" for status in CASE_STATUSES)
    alone = int((rows["state"] == ONE_SIDE).sum())
    return f"{counts}{f', {alone} {ONE_SIDE}' if alone else ''} of {len(rows)} case metrics"
