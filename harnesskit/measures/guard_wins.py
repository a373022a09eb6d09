"""The protected wins of a guard, one by one: replayed or not, how each changed, and what was compared with what."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from harnesskit.measures.promotion_benefit import benefit_of
from harnesskit.measures.promotion_guard import Guard, guard_of
from harnesskit.measures.promotion_runs import CANDIDATE
from harnesskit.measures.promotion_trial import Trial, trial_of
from harnesskit.model.metrics import Metric
from harnesskit.model.promotion_policy import PromotionPolicy
from harnesskit.model.promotion_results import GUARD_WINS

CAPTURED_NOTE = "compared with its captured score, which was selected for being good"


def guard_wins(
    control: pd.DataFrame,
    candidate: pd.DataFrame,
    *,
    target_metric: str,
    policy: str | PromotionPolicy = "budgeted",
    metrics: Iterable[Metric] | None = None,
    failures: Sequence[str] | None = None,
    wins: Sequence[str] | None = None,
    n_wins: int | None = None,
    guard_metrics: Sequence[str] | None = None,
    prior_sd: float | None = None,
) -> pd.DataFrame:
    """Compare each protected win with and without the candidate: one row per win, the most harmed first.

    Parameters
    ----------
    control, candidate, target_metric, policy, metrics, failures, wins, n_wins, guard_metrics, prior_sd
        As for `harnesskit.promotion_evidence`.

    Returns
    -------
    DataFrame
        By the contract ``guard wins``. The interval is that of one look at one win; what decides is the evidence of
        harm over all of them.

    Raises
    ------
    FrameError, PolicyError
        As for `harnesskit.promotion_evidence`.

    Examples
    --------
    >>> kinds = {"case_id": ["f", "w1", "w2"] * 2, "kind": ["failure", "win", "win"] * 2, "metric": "q"}
    >>> before = pd.DataFrame({**kinds, "value": [0.2, 0.9, 0.8, 0.3, 0.85, 0.9]})
    >>> after = before.assign(value=[0.8, 0.9, 0.2, 0.7, 0.9, 0.3])
    >>> guard_wins(before, after, target_metric="q")[["case_id", "replayed", "n_candidate"]].values.tolist()
    [['w2', True, 2], ['w1', True, 2]]
    """
    trial = trial_of(
        control, candidate, target_metric=target_metric, policy=policy, metrics=metrics, failures=failures, wins=wins,
        n_wins=n_wins, guard_metrics=guard_metrics, prior_sd=prior_sd, by="guard_wins()",
    )  # fmt: skip
    return wins_of(trial)


def wins_of(trial: Trial) -> pd.DataFrame:
    """Return the wins of a trial, the most harmed first, those not replayed last."""
    guard = guard_of(trial, benefit_of(trial))
    rows = [_row(trial, guard, place, win) for place, win in enumerate(trial.wins)]
    frame = pd.DataFrame(rows, columns=list(GUARD_WINS.columns))
    frame = frame.astype({"n_control": "Int64", "n_candidate": "Int64", "replayed": bool, "note": object})
    frame = frame.astype(dict.fromkeys(("delta", "low", "high", "harm"), float))
    order = frame.assign(last=~frame["replayed"]).sort_values(
        ["last", "harm", "delta", "case_id"], ascending=[True, False, True, True], kind="stable"
    )
    return frame.loc[order.index].reset_index(drop=True)


def _row(trial: Trial, guard: Guard | None, place: int, win: str) -> dict[str, Any]:
    """Return what is known of one win."""
    table = trial.runs.table
    tried = ((table["case_id"] == win) & (table["arm"] == CANDIDATE) & table["tried"]).to_numpy(dtype=bool)
    found: dict[str, Any] = {
        "case_id": win, "replayed": bool(tried.any()), "n_control": 0, "n_candidate": 0, "delta": np.nan,
        "low": np.nan, "high": np.nan, "harm": 1.0, "baseline_source": "none", "note": None,
    }  # fmt: skip
    if guard is not None:
        look, known = guard.look, guard.stage.known
        found |= {
            name: getattr(look, name)[place] for name in ("n_control", "n_candidate", "delta", "low", "high", "harm")
        }
        fresh = bool(look.n_fresh[place])
        captured = bool(known.captured[place]) and not fresh
        found["baseline_source"] = "captured" if captured else "control" if look.n_control[place] else "none"
    found["note"] = _note(found, trial, tried)
    return found


def _note(found: dict[str, Any], trial: Trial, tried: Any) -> str | None:
    if not found["replayed"]:
        return None
    said = []
    lost = int(tried.sum()) - int(found["n_candidate"])
    if lost > 0:
        reasons = trial.runs.table.loc[tried, "reason"].dropna().astype(str)
        why = f": {sorted(reasons)[0][:80]}" if len(reasons) else ""
        said.append(f"{lost} of {int(tried.sum())} replays gave no score{why}")
    if found["baseline_source"] == "captured" and found["n_candidate"]:
        said.append(CAPTURED_NOTE)
    if found["baseline_source"] == "none" and found["n_candidate"]:
        said.append("no control run to compare with")
    return "; ".join(said) or None
