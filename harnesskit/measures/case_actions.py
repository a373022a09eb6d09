"""What to do with each case, from a closed set, with a reason that names the runs behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy import stats

from harnesskit.measures.win_rows import HOPELESS
from harnesskit.model.health_results import ACTIONS, TOO_FEW
from harnesskit.model.promotion_policy import PromotionPolicy
from harnesskit.model.text import counted
from harnesskit.stats.beta_pass import PRIOR

if TYPE_CHECKING:
    from numpy.typing import NDArray

FEW_TRIALS = 5
"""Trials below which a case has to be replayed before anything can be said."""


def case_actions(
    out: pd.DataFrame, timeline: pd.DataFrame, *, now: pd.Timestamp, stale_days: int
) -> tuple[NDArray[Any], list[str], NDArray[np.int64]]:
    """Return the action of each case, its reason, and its place in the order of pressing ones.

    A win is demoted, and a failure tried as a win, by the rule of the review of a win: the chance that its pass rate
    reaches the bar, under the same prior, from the newest control run (the newest run without one).

    Parameters
    ----------
    out
        Rows of ``corpus health`` before an action.
    timeline
        `harnesskit.case_timeline` of the same cases.
    now, stale_days
        When a run or baseline is old.
    """
    rules = PromotionPolicy.parse("budgeted")
    state = _now_standing(out, timeline)
    n, passed = state["n"].to_numpy(dtype=float), state["passed"].to_numpy(dtype=float)
    chance = stats.beta.sf(rules.pass_bar, PRIOR.a + passed, PRIOR.b + n - passed)
    enough, win = n >= rules.min_passes, out["kind"].eq("win").to_numpy(dtype=bool)
    limit = now - pd.Timedelta(days=stale_days)
    trials = out["n_trials"].to_numpy(dtype=float)
    old_run = (out["last_at"] < limit).fillna(False).to_numpy(dtype=bool)
    old_base = (out["baseline_at"] < limit).fillna(False).to_numpy(dtype=bool)
    conditions = {
        "attach_input": ~out["replayable"].to_numpy(dtype=bool),
        "retire": out["duplicate_of"].notna().to_numpy(),
        "demote": win & enough & (chance <= HOPELESS),
        "review": win & state["broke"].to_numpy(dtype=bool),
        "repair": out["stability"].eq("flaky").to_numpy(dtype=bool),
        "try_as_win": ~win & enough & (chance >= rules.pass_chance),
        "replay": (trials < FEW_TRIALS) | old_run,
        "re-baseline": old_base,
    }
    rank = np.select([conditions[name] for name in ACTIONS[:-1]], range(len(ACTIONS) - 1), len(ACTIONS) - 1)
    action = np.array(ACTIONS, dtype=object)[rank]
    words = [
        _reason(name, row, one, share)
        for name, row, one, share in zip(action, out.itertuples(), state.itertuples(), chance, strict=True)
    ]
    return action, words, rank.astype(np.int64)


def _now_standing(out: pd.DataFrame, timeline: pd.DataFrame) -> pd.DataFrame:
    """Return per case: trials and passes of the run that says how it stands, and whether the newest run broke it."""
    judged = timeline[timeline["role"].ne("captured").fillna(True) & (timeline["n"] > 0)]
    control = judged[judged["role"].eq("control").fillna(False)].groupby("case_id")[["run_id", "n", "passed"]].last()
    newest = judged.groupby("case_id")[["run_id", "n", "passed", "event"]].last()
    found = newest[["run_id", "n", "passed"]].copy()
    found.loc[control.index] = control
    found["broke"] = newest["event"].eq("broke")
    found["new_run"], found["new_n"], found["new_passed"] = newest["run_id"], newest["n"], newest["passed"]
    found = found.reindex(out["case_id"])
    found["broke"] = found["broke"].eq(True)
    counts = ["n", "passed", "new_n", "new_passed"]
    found[counts] = found[counts].fillna(0).astype(int)
    return found.reset_index(drop=True)


def _reason(action: str, row: Any, state: Any, chance: float) -> str:
    said = f"{state.passed} of {counted(int(state.n), 'trial')} of run {state.run_id} passed"
    trials = f"{counted(int(row.n_trials), 'trial')} in {counted(int(row.n_runs), 'run')}"
    if action == "attach_input":
        return "it has no replay input, so no run can ever say how it stands"
    if action == "retire":
        return (
            f"its input is exactly that of the older {row.kind} {row.duplicate_of}: two cases that are one count twice"
        )
    if action == "demote":
        return f"{said}; the chance that it passes 80 % of the time is {chance:.2f}: no longer a win to protect"
    if action == "review":
        return (
            f"broke: {state.new_passed} of {counted(int(state.new_n), 'trial')} of its newest run {state.new_run} "
            "passed, and the run before did; whether that is more than chance, the regression report says"
        )
    if action == "repair":
        return (
            f"flaky: two trials of one run disagree {row.flip_rate:.0%} of the time "
            f"({counted(int(row.n_repeats), 'repeat')}, {row.passed} of {trials} passed)"
        )
    if action == "try_as_win":
        return (
            f"{said}; the chance that it passes 80 % of the time is {chance:.2f}: the failure is fixed, try it as a win"
        )
    if action == "replay":
        if row.n_trials >= FEW_TRIALS:
            return f"its newest run is of {row.last_at:%Y-%m-%d}: too old to say how it stands now"
        lost = f", {counted(int(row.n_unscored), 'trial')} without a verdict" if row.n_unscored else ""
        return f"{trials}{lost}: {TOO_FEW}" if row.n_trials else f"never replayed with a verdict{lost}: {TOO_FEW}"
    if action == "re-baseline":
        return f"its baseline ({row.baseline_source}) is of {row.baseline_at:%Y-%m-%d}: measure the control again"
    return _kept(row, trials)


def _kept(row: Any, trials: str) -> str:
    said = f"{row.passed} of {trials} passed"
    alike = "" if pd.isna(row.similar_to) else f"; nearly the same as {row.similar_to}"
    if row.stability == "steady" and row.informs == "says nothing":
        what = "a win that always passes" if row.kind == "win" and row.passed else "always the same"
        return f"{said}: {what}; it tells a change only when it breaks{alike}"
    flaky = "" if row.stability != TOO_FEW else f"; whether it is flaky: {TOO_FEW}"
    return f"{said}{flaky}{alike}"
