"""What became of everything that was asked: numbers that add up, and the cases on one side only."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from harnesskit.measures.pairing import Pairs, pair_cases
from harnesskit.measures.trials import SCORED, SKIPPED, UNSCORED
from harnesskit.model.metrics import Metric, Metrics
from harnesskit.model.policy import RegressionPolicy
from harnesskit.model.results import CASE_DELTAS, LEDGER, ONE_SIDED

if TYPE_CHECKING:
    from collections.abc import Iterable

SIDES = ("baseline", "candidate")
ABSENT, UNMATCHED = "absent", "unmatched"
FAILED = "counted as failed"
_RANK = {SCORED: 0, FAILED: 1, UNSCORED: 2, SKIPPED: 3}


def evidence_ledger(
    baseline: pd.DataFrame,
    candidate: pd.DataFrame,
    *,
    policy: str | RegressionPolicy = "default",
    metrics: Iterable[Metric] | None = None,
) -> pd.DataFrame:
    """Count what became of every case and trial: one row per side, kind, metric, state and reason.

    For each side, kind and metric the cases add up to all cases asked for on either side, and the trials to all
    trials. Rows without a case stand in rows of their own (``unmatched``, counted as trials).

    Parameters
    ----------
    baseline, candidate, policy, metrics
        As for `harnesskit.measures.deltas.case_deltas`; of the policy only `failed_runs` is used.

    Returns
    -------
    DataFrame
        By the contract ``evidence ledger``, sorted by its key.

    Raises
    ------
    FrameError
        A column is missing, a score is text, or one metric has two graders.

    Examples
    --------
    >>> before = pd.DataFrame({"case_id": ["a", "b"], "metric": "q", "value": [0.9, 0.8]})
    >>> after = before.assign(value=[0.9, None])
    >>> evidence_ledger(before, after).query("side == 'candidate'")[["state", "n_cases"]].values.tolist()
    [['scored', 1], ['unscored', 1]]
    """
    known = Metrics.of(metrics)
    counts = RegressionPolicy.parse(policy).counts_failed
    pairs = pair_cases(baseline, candidate, known, by="evidence_ledger()", failed_count=counts)
    parts = [_side(pairs, arm) for arm in (0, 1)]
    parts.append(
        pd.DataFrame(
            {"side": SIDES, "kind": None, "metric": None, "state": UNMATCHED, "reason": "rows without a case_id"}
        ).assign(n_cases=0, n_trials=pairs.n_unmatched)
    )
    frame = pd.concat([p for p in parts if len(p)], ignore_index=True)
    frame = frame[(frame["n_cases"] > 0) | (frame["n_trials"] > 0)]
    frame = frame.sort_values(list(LEDGER.key), na_position="first").astype({"n_cases": "Int64", "n_trials": "Int64"})
    return LEDGER.order(frame)


def _side(pairs: Pairs, arm: int) -> pd.DataFrame:
    trials = pairs.trials[pairs.trials["arm"] == arm]
    trials = trials.assign(state=trials["state"].astype(object).mask(trials["failed"].astype(bool), FAILED))
    cell = trials["cell"].to_numpy(dtype=np.int64)
    rank = trials["state"].map(_RANK).to_numpy()
    best = trials.assign(rank=rank).sort_values(["cell", "rank", "reason"]).drop_duplicates("cell")
    counted = pd.DataFrame(
        {
            "cell": np.concatenate([cell, best["cell"].to_numpy()]),
            "state": np.concatenate([trials["state"].to_numpy(dtype=object), best["state"].to_numpy(dtype=object)]),
            "reason": np.concatenate([trials["reason"].to_numpy(dtype=object), best["reason"].to_numpy(dtype=object)]),
            "n_cases": np.repeat([0, 1], [len(trials), len(best)]),
            "n_trials": np.repeat([1, 0], [len(trials), len(best)]),
        }
    )
    gone = np.setdiff1d(np.arange(len(pairs.cells)), cell)
    absent = pd.DataFrame({"cell": gone, "state": ABSENT, "reason": None, "n_cases": 1, "n_trials": 0})
    both = pd.concat([p for p in (counted, absent) if len(p)], ignore_index=True) if len(pairs.cells) else counted
    both["kind"] = pairs.cells["kind"].to_numpy(dtype=object)[both["cell"].to_numpy(dtype=np.int64)]
    both["metric"] = pairs.cells["metric"].to_numpy(dtype=object)[both["cell"].to_numpy(dtype=np.int64)]
    keys = ["kind", "metric", "state", "reason"]
    return both.groupby(keys, dropna=False, as_index=False)[["n_cases", "n_trials"]].sum().assign(side=SIDES[arm])


def one_sided(deltas: pd.DataFrame) -> pd.DataFrame:
    """Return what could not be compared: one row per case and metric, with the only side that has a score.

    Parameters
    ----------
    deltas
        Case deltas; reads ``case_id, metric, n_baseline, n_candidate``, and ``kind``, ``reason`` when there.

    Examples
    --------
    >>> rows = pd.DataFrame({"case_id": ["a", "b"], "metric": ["q", "q"], "n_baseline": [3, 0], "n_candidate": [0, 3]})
    >>> one_sided(rows)["side"].tolist()
    ['baseline', 'candidate']
    """
    CASE_DELTAS.require(deltas, "case_id", "metric", "n_baseline", "n_candidate", by="one_sided()")
    before, after = ((deltas[c].fillna(0) > 0).to_numpy(dtype=bool) for c in ("n_baseline", "n_candidate"))
    side = np.select([before & ~after, after & ~before, ~after & ~before], ["baseline", "candidate", "neither"], "")
    out = deltas.assign(side=side)[side != ""].sort_values(["case_id", "metric"])
    for name, value in (("kind", "win"), ("reason", None)):
        if name not in out:
            out[name] = value
    return ONE_SIDED.order(out[list(ONE_SIDED.columns)])
