"""The order in which a reviewer reads: what broke first."""

from __future__ import annotations

import pandas as pd

from harnesskit.model.results import CASE_DELTAS

_RANK = {"regressed": 0, "inconclusive": 2, "skipped": 3, "unchanged": 4, "improved": 5}
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
