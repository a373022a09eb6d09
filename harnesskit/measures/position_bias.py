"""Does a pairwise judge favour a place? Both orders of every pair tell."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from harnesskit.measures.judge_votes import judge_votes
from harnesskit.model.grader_trust import POSITION_BIAS
from harnesskit.stats.intervals import clopper_pearson
from harnesskit.stats.paired import mcnemar_exact

_WHO = ["metric", "grader", "grader_version"]
_SURE, _MOST = 0.05, 0.2
FAVOURS = "the judge favours what stands {place}: only verdicts of both orders mean anything"
WAVERS = "the two orders often disagree: the judge cannot tell many of these pairs apart"
NOTHING = "no pair was judged in both orders"


def position_bias(grades: pd.DataFrame) -> pd.DataFrame:
    """Say how often a pairwise judge changes its mind when the answers change places: one row per metric and judge.

    The case is the unit (the sample, where there is no ``case_id``): its votes are taken together. A judge that is
    right about nothing but favours no place disagrees with itself, too, but evenly: `first` is then near one half.

    Parameters
    ----------
    grades
        What `harnesskit.grade` returned for a grader made by `harnesskit.graders.pairwise`.

    Raises
    ------
    FrameError
        A column is missing.

    Examples
    --------
    >>> import json
    >>> votes = [{"vote": 1, "order": order, "status": "ok", "value": 1.0} for order in ("given", "swapped")]
    >>> rows = pd.DataFrame({"sample_id": [f"p-{i}" for i in range(8)], "metric": "better", "grader": "judge"})
    >>> bias = position_bias(rows.assign(details=json.dumps({"votes": votes}))).iloc[0]
    >>> int(bias["n_first"]), float(bias["consistent"]), round(float(bias["p_value"]), 4)
    (8, 0.0, 0.0078)
    """
    rows = grades.assign(**{name: None for name in _WHO if name not in grades})
    votes = judge_votes(rows)
    votes = votes[votes["order"].notna()]
    found = [
        {**dict(zip(_WHO, who, strict=True)), **_bias(_pairs(group))}
        for who, group in votes.groupby(_WHO, dropna=False, sort=True)
    ]
    frame = pd.DataFrame(found, columns=list(POSITION_BIAS.columns))
    counts = [name for name in frame if str(name).startswith("n_")]
    return frame.astype(dict.fromkeys(counts, "Int64"))


def _pairs(votes: pd.DataFrame) -> pd.DataFrame:
    """Return one row per vote with both orders readable: its case, and the place it kept to (1 first, -1 second)."""
    case = votes["case_id"].astype(object)
    votes = votes.assign(case=case.where(case.notna(), votes["sample_id"]).astype(str))
    both = votes.pivot_table(
        index=["case", "sample_id", "vote"], columns="order", values="value", aggfunc="first"
    ).reindex(columns=["given", "swapped"]).dropna().reset_index()  # fmt: skip
    given, swapped = both["given"].to_numpy(dtype=float), both["swapped"].to_numpy(dtype=float)
    return pd.DataFrame({"case": both["case"], "same": given == 1 - swapped, "place": np.sign(given + swapped - 1)})


def _bias(pairs: pd.DataFrame) -> dict[str, Any]:
    cases = pairs.groupby("case").agg(same=("same", "all"), place=("place", "mean"))
    n, same = len(cases), int(cases["same"].sum())
    first, second = int((cases["place"] > 0).sum()), int((cases["place"] < 0).sum())
    row: dict[str, Any] = {
        "n_cases": n, "n_pairs": len(pairs), "n_consistent": same, "n_first": first, "n_second": second,
        "consistent": same / n if n else np.nan, "first": first / (first + second) if first + second else np.nan,
        "p_value": mcnemar_exact(first, second),  # the sign test of first against second
    }  # fmt: skip
    if n:
        ends = clopper_pearson(same, n)
        row |= {"consistent_low": ends.low, "consistent_high": ends.high}
    if first + second:
        ends = clopper_pearson(first, first + second)
        row |= {"first_low": ends.low, "first_high": ends.high}
    place = "first" if first > second else "second"
    doubts = [NOTHING] if not n else []
    doubts += [FAVOURS.format(place=place)] if row["p_value"] < _SURE else []
    doubts += [WAVERS] if n and 1 - same / n > _MOST else []
    return {**row, "warning": "; ".join(doubts) or None}
