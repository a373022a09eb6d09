"""The status of a case over all its metrics: one rule for the frame, the decision and the report.

A case on one side only was compared with nothing. Its rows are ``inconclusive`` in the frame, as everything that
nothing could be compared with, never ``skipped`` (it may well have been replayed) and never ``unchanged``; it is listed
and counted apart, as `ONE_SIDE`, and decides a case only when the case has nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from harnesskit.model.results import ONLY_BASELINE, ONLY_CANDIDATE

if TYPE_CHECKING:
    import pandas as pd

ONE_SIDE = "on one side only"
"""State of a row that was compared with nothing; its status is inconclusive."""
NO_VERDICT = "no verdict possible"
"""State of a row of a metric that no verdict is possible on; its status is inconclusive."""
_ORDER = ("regressed", "improved", "inconclusive", "unchanged", NO_VERDICT, "skipped", ONE_SIDE)
_ORDER_MARGIN = ("regressed", "improved", "unchanged", "inconclusive", NO_VERDICT, "skipped", ONE_SIDE)


def row_states(deltas: pd.DataFrame) -> pd.Series[Any]:
    """Return the state of each row of case deltas: its status, or that its case is on one side only.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = pd.DataFrame({"status": ["inconclusive", "unchanged"], "reason": [ONLY_BASELINE, None]})
    >>> row_states(rows).tolist()
    ['on one side only', 'unchanged']
    """
    status = deltas["status"].astype(object)
    return (
        status.mask(deltas["reason"].isin([ONLY_BASELINE, ONLY_CANDIDATE]), ONE_SIDE) if "reason" in deltas else status
    )


def deciding_rank(deltas: pd.DataFrame) -> pd.Series[Any]:
    """Return how early each row decides its case: the lowest of a case does.

    Regressed, improved, inconclusive, unchanged, then what no verdict is possible on, skipped, and on one side only;
    under the reference's margin a metric that did not change outweighs one that could not be compared.
    """
    states = row_states(deltas)
    if "unit" in deltas:
        states = states.mask(deltas["unit"].isna() & (states == "inconclusive"), NO_VERDICT)
    rank = states.map({state: place for place, state in enumerate(_ORDER)})
    if "policy" not in deltas:
        return rank
    margin = deltas["policy"].astype(str).str.startswith("reference")
    return rank.where(~margin, states.map({state: place for place, state in enumerate(_ORDER_MARGIN)}))


def case_states(deltas: pd.DataFrame) -> pd.Series[Any]:
    """Return the state of each case, by case: the status of `harnesskit.case_statuses`, or on one side only.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = {"case_id": ["a", "a", "b"], "metric": ["p", "q", "p"], "status": ["unchanged", "regressed", "skipped"]}
    >>> case_states(pd.DataFrame(rows)).to_dict()
    {'a': 'regressed', 'b': 'skipped'}
    """
    ranked = deltas[["case_id"]].assign(state=row_states(deltas), rank=deciding_rank(deltas))
    first = ranked.sort_values(["case_id", "rank"], kind="stable").drop_duplicates("case_id")
    return first.set_index("case_id")["state"]
