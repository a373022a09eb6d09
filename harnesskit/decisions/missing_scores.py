"""The check that a verdict does not rest on scores that are missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from harnesskit.decisions.wording import counted, name, shown
from harnesskit.model.analyses import MISSING
from harnesskit.model.decision import judge

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harnesskit.decisions.regression_checks import Check

HOLDS = "holds with the missing scores at their worst"
_NEEDED = ("kind", "metric", "excessive", "drop_worst", "drop_worst_bound", "tolerance")
_MOST_MISSING = 0.3
_UNBOUNDED = "hand in missing_bounds(baseline, candidate) to see whether the verdict holds all the same"


def with_missing_scores(checks: list[Check], wins: pd.DataFrame, missing: pd.DataFrame | None) -> list[Check]:
    """Return the checks of a run, and one more per metric in which too many scores are missing to pass without.

    More than 30 % of the attempts without a score, or shares that differ by more than 20 points between the sides: the
    one-sided 95 % bound of the mean drop must then stay below the tolerance with every missing score at its worst. The
    check can keep a run from passing; it fails none, as the worst is an assumption.

    Parameters
    ----------
    checks
        Rows by the contract ``checks``.
    wins
        Case deltas of the wins.
    missing
        Missing-score bounds; without them only the candidate's share is known, and a large one leaves the run open.

    Raises
    ------
    FrameError
        A column of `missing` is missing.
    """
    if missing is None:
        return [*checks, *_from_counts(wins)]
    MISSING.require(missing, *_NEEDED, by="decide_regression()")
    chosen = missing[(missing["kind"] == "win") & missing["excessive"].astype(bool)]
    judged = chosen[chosen["metric"].isin(set(wins.loc[wins["judged"], "metric"].unique()))]
    return [*checks, *(_bounded(row) for row in judged.sort_values("metric").to_dict("records"))]


def missing_evidence(missing: pd.DataFrame | None) -> list[dict[str, Any]]:
    """Return what a decision rests on of the missing scores, as plain data: the rows that have to hold."""
    if missing is None:
        return []
    rows = missing.loc[missing["excessive"].astype(bool), list(_NEEDED)].astype(object)
    return [{str(k): v for k, v in row.items()} for row in rows.where(rows.notna(), None).to_dict("records")]


def _bounded(row: dict[Any, Any]) -> dict[str, Any]:
    drop, high, bar = (float(row[c]) for c in ("drop_worst", "drop_worst_bound", "tolerance"))
    found = {"check": f"{HOLDS}: {row['metric']}", "estimate": drop, "high": high, "bar": bar, "n": row.get("n_cases")}
    if pd.isna(high) or pd.isna(bar):
        return {**found, "state": "unknown", "note": f"{_shares(row)}; what they could hide has no bound"}
    state = judge(None, high, bar, at_most=True)
    texts = shown(drop, high, bar)
    said = f"at their worst the mean drop is {texts[0]}, at most {texts[1]} with 95 % confidence"
    note = f"{_shares(row)}; {said}; {texts[2]} would be too much"
    return {**found, "state": "met" if state == "met" else "unknown", "note": note}


def _shares(row: dict[Any, Any]) -> str:
    if "missing_candidate" not in row or "missing_baseline" not in row:
        return f"many scores missing in {name(row['metric'])}"
    after, before = (float(row[c]) for c in ("missing_candidate", "missing_baseline"))
    where = name(row["metric"])
    return f"{after:.0%} of the candidate's and {before:.0%} of the baseline's attempts gave no score in {where}"


def _from_counts(wins: pd.DataFrame) -> list[dict[str, Any]]:
    if not (wins["n_unscored"] > 0).any():
        return []
    lost = wins.groupby("metric", observed=True)["n_unscored"].sum().astype(float)
    tried = lost + wins.groupby("metric", observed=True)[["n_candidate", "n_baseline"]].sum().astype(float).sum(axis=1)
    over: Sequence[Any] = [m for m in sorted(lost.index) if tried[m] and lost[m] / tried[m] > _MOST_MISSING + 1e-9]
    cases = wins.groupby("metric", observed=True)["case_id"].nunique()
    return [
        {
            "check": f"{HOLDS}: {metric}", "state": "unknown", "n": int(cases[metric]),
            "note": f"{counted(int(lost[metric]), 'candidate attempt')} without a score in {name(metric)}, more than "
            f"{_MOST_MISSING:.0%} of all attempts; {_UNBOUNDED}",
        }
        for metric in over
    ]  # fmt: skip
