"""The order in which a reviewer reads: what broke first."""

from __future__ import annotations

import pandas as pd

from harnesskit.model.results import CASE_DELTAS

_RANK = {"regressed": 0, "inconclusive": 2, "skipped": 3, "unchanged": 4, "improved": 5}
_OF_A_CASE = ("regressed", "improved", "inconclusive", "unchanged", "skipped")
_OF_A_CASE_BY_MARGIN = ("regressed", "improved", "unchanged", "inconclusive", "skipped")
_SUSPECT_RANK = 1
_REST = 6


def worst_first(deltas: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of `deltas` with the worst first, on a plain index.

    Regressed, suspect, inconclusive, skipped, unchanged, improved; inside each the strongest evidence of harm (`z`)
    first; ties in the order of case and metric, so that the same rows always come in the same order.

    Examples
    --------
    >>> rows = {"case_id": ["a", "b"], "metric": ["q", "q"], "status": ["unchanged", "regressed"]}
    >>> worst_first(pd.DataFrame(rows))["case_id"].tolist()
    ['b', 'a']
    """
    CASE_DELTAS.require(deltas, "case_id", "metric", "status", by="worst_first()")
    rank = deltas["status"].map(_RANK).fillna(_REST).astype(int)
    if "suspect" in deltas:
        rank = rank.where(~(deltas["suspect"].eq(True).fillna(False).astype(bool) & (rank > 0)), _SUSPECT_RANK)
    harm = pd.to_numeric(deltas["z"], errors="coerce") if "z" in deltas else pd.Series(0.0, index=deltas.index)
    order = pd.DataFrame(
        {
            "rank": rank.to_numpy(),
            "harm": -harm.astype("float64").to_numpy(),
            "case": [str(value) for value in deltas["case_id"]],
            "metric": [str(value) for value in deltas["metric"]],
        }
    )
    positions = order.sort_values(["rank", "harm", "case", "metric"], kind="stable", na_position="last").index
    return deltas.iloc[positions].reset_index(drop=True)


def case_states(deltas: pd.DataFrame) -> pd.Series[str]:
    """Return the status of each case over all its metrics, as `harnesskit.case_statuses` gives it.

    Examples
    --------
    >>> rows = {"case_id": ["a", "a"], "metric": ["p", "q"], "status": ["unchanged", "regressed"]}
    >>> case_states(pd.DataFrame(rows)).to_dict()
    {'a': 'regressed'}
    """
    margin = "policy" in deltas and bool(deltas["policy"].astype(str).str.startswith("reference").any())
    order = list(_OF_A_CASE_BY_MARGIN if margin else _OF_A_CASE)
    status = deltas["status"].astype(object)
    if "unit" in deltas:  # a metric that no verdict is possible on decides only when there is no other
        status = status.mask(deltas["unit"].isna() & (status == "inconclusive"), "no verdict possible")
    rank = status.map({name: place for place, name in enumerate(order)}).fillna(len(order)).astype(int)
    best = rank.groupby(deltas["case_id"], sort=True).min()
    return best.map(lambda place: [*order, "inconclusive"][place]).astype(object)
