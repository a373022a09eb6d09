"""The cases that got worse, in sentences: one per case, with its metrics together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from harnesskit.decisions.wording import and_more, counted, name, shown
from harnesskit.model.errors import listed

if TYPE_CHECKING:
    from harnesskit.model.policy import RegressionPolicy

NAMED = 5
"""Cases, and metrics of a case, named one by one; the others are counted."""


def got_worse(rows: pd.DataFrame, policy: RegressionPolicy) -> list[str]:
    """Return which of the cases judged got worse, then a sentence per case, the clearest first.

    Examples
    --------
    >>> from harnesskit.model.policy import RegressionPolicy
    >>> row = {"case_id": "c-1", "kind": "win", "status": "regressed", "suspect": False, "n_candidate": 3, "unit": 1.0,
    ...        "higher_is_better": True, "z": 4.0, "drop": 0.3}
    >>> rows = pd.DataFrame([{**row, "metric": "p", "baseline": 0.9, "candidate": 0.6},
    ...                      {**row, "metric": "q", "baseline": 0.7, "candidate": 0.4}])
    >>> for sentence in got_worse(rows, RegressionPolicy.default()):
    ...     print(sentence)
    1 of 1 protected win got worse: c-1.
    c-1 got worse in p and q (0.80 to 0.50 on average, 3 trials).
    """
    worse = rows[rows["status"] == "regressed"]
    if worse.empty:
        return []
    cases = _clearest_first(worse)
    noun = "protected win" if (rows["kind"] == "win").all() else "case"
    what = "got worse" if policy.floor_score is None else f"scored below the floor of {policy.floor_score:g}"
    names = listed([name(case) for case in cases], NAMED)
    first = f"{len(cases)} of {counted(rows['case_id'].nunique(), noun)} {what}: {names}."
    sentences = [_sentence(rows[rows["case_id"] == case], policy) for case in cases[:NAMED]]
    return [first, *and_more(sentences, len(cases), "case")]


def suspects(rows: pd.DataFrame) -> list[str]:
    """Return a sentence per case that is suspect and did not get worse in any metric."""
    worse = set(rows.loc[rows["status"] == "regressed", "case_id"])
    open_rows = rows[rows["suspect"].astype(bool) & ~rows["case_id"].isin(worse)]
    cases = _clearest_first(open_rows)
    sentences = [
        f"Suspect: {name(case)} may have got worse in {_changes(open_rows[open_rows['case_id'] == case])}, "
        "not enough to call among all wins"
        for case in cases[:NAMED]
    ]
    return and_more(sentences, len(cases), "suspect")


def _clearest_first(rows: pd.DataFrame) -> list[str]:
    ordered = rows.sort_values(["z", "drop", "case_id", "metric"], ascending=[False, False, True, True])
    return list(dict.fromkeys(ordered["case_id"]))


def _sentence(case: pd.DataFrame, policy: RegressionPolicy) -> str:
    """Return what happened to one case: `case` has a row per metric of it."""
    worse = case[case["status"] == "regressed"]
    who = name(case["case_id"].iloc[0])
    if policy.floor_score is not None:
        return f"{who} scored below the floor in {_scores(worse, policy.floor_score)}"
    also = case[case["suspect"].astype(bool) & (case["status"] != "regressed")]
    more = f"; suspect also in {_names(also['metric'].tolist())}" if len(also) else ""
    return f"{who} got worse in {_changes(worse)}{more}"


def _changes(rows: pd.DataFrame) -> str:
    """Return the metrics with their change: one average where they share a scale, else each on its own."""
    rows = rows.sort_values(["z", "drop", "metric"], ascending=[False, False, True])
    better = rows["higher_is_better"].eq(False).fillna(False).astype(bool)
    scales = set(zip(rows["unit"], better, strict=True))
    if len(rows) == 1 or (rows["unit"].notna().all() and len(scales) == 1):
        texts = shown(float(rows["baseline"].mean()), float(rows["candidate"].mean()))
        average = " on average" if len(rows) > 1 else ""
        lower = "; lower is better" if better.all() else ""
        return f"{_names(rows['metric'].tolist())} ({texts[0]} to {texts[1]}{average}, {_trials(rows)}{lower})"
    each = []
    for row, lower_is_better in zip(rows.to_dict("records"), better, strict=True):
        texts = shown(float(row["baseline"]), float(row["candidate"]))
        lower = "; lower is better" if lower_is_better else ""
        each.append(f"{name(row['metric'])} ({texts[0]} to {texts[1]}{lower})")
    return f"{_joined(each)}, {_trials(rows)}"


def _scores(rows: pd.DataFrame, floor: float) -> str:
    each = []
    for row in rows.sort_values(["drop", "metric"], ascending=[False, True]).to_dict("records"):
        scale = "; on the 0-to-1 scale it lies below" if row["higher_is_better"] is False else ""
        each.append(f"{name(row['metric'])} ({shown(float(row['candidate']), floor)[0]}{scale})")
    return _joined(each)


def _names(metrics: list[str]) -> str:
    return _joined([name(metric) for metric in metrics])


def _joined(texts: list[str]) -> str:
    if len(texts) > NAMED:
        return listed(texts, NAMED)
    return " and ".join([", ".join(texts[:-1]), texts[-1]]) if len(texts) > 1 else texts[0]


def _trials(rows: pd.DataFrame) -> str:
    low, high = int(rows["n_candidate"].min()), int(rows["n_candidate"].max())
    return counted(high, "trial") if low == high else f"{low} to {counted(high, 'trial')}"
