"""Did a change make cases worse? One row per case and metric, with its status."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from harnesskit.measures.case_rules import rule_for
from harnesskit.measures.evidence import scales, weigh
from harnesskit.measures.pairing import Pairs, pair_cases
from harnesskit.model.case_status import deciding_rank
from harnesskit.model.metrics import Metric, Metrics
from harnesskit.model.policy import RegressionPolicy
from harnesskit.model.results import CASE_DELTAS, CASE_STATUSES

if TYPE_CHECKING:
    from collections.abc import Iterable

_COUNTS = (
    *("n_baseline", "n_candidate", "runs_needed", "n_unscored", "n_clipped"),
    *("n_copies", "n_averaged", "n_unmatched"),
)
_COMPARED = ("drop", "test_drop", "se", "df", "z", "low", "high", "sd", "interval_kind", "delta")


def case_deltas(
    baseline: pd.DataFrame,
    candidate: pd.DataFrame,
    *,
    policy: str | RegressionPolicy = "default",
    metrics: Iterable[Metric] | None = None,
) -> pd.DataFrame:
    """Compare two sets of scores case by case: one row per case and metric.

    Repeats are reduced to one change per case; its noise is borrowed across cases (moderated t, Smyth 2004), so few
    trials are usable. A case on one side only keeps a row, without a verdict. A captured baseline can decide on
    wins only: the captured score of a failure was selected for being bad. Where the two sides name different graders of
    a metric nothing is compared, but for captured scores that a harness recorded (``note`` says so). A candidate
    replay that ended in an error or a timeout (a row without a metric, of that status) fails the yes-or-no metrics of
    its case where the policy says so (`failed_runs`; ``note`` says how many); elsewhere it gives no score.

    Parameters
    ----------
    baseline, candidate
        Rows of case_scores or baselines, or any frame with ``case_id, metric, value``; used when there: ``kind``
        (default win), ``trial`` (default: every row is one), ``status, reason, grader, source, cluster, fingerprint``.
        An empty frame is a side without rows.
    policy
        ``default``, ``fixed:N``, ``reference``, ``floor:X`` or a `RegressionPolicy`.
    metrics
        Declarations of metrics; one that is not declared is 0 to 1, higher is better, until a value says otherwise.

    Returns
    -------
    DataFrame
        By the contract ``case deltas``, sorted by case and metric. ``delta, low, high, sd`` are in the metric's own
        unit and not flipped; ``z`` and ``bound`` are in standard errors, positive when worse. The interval (95 %) is
        of the plain means; where runs collapse the test clips them to 3 robust standard deviations (``n_clipped``).

    Raises
    ------
    FrameError
        A column is missing or there twice, a score is text, a kind is neither win nor failure, or one metric has two
        graders on one side.

    Examples
    --------
    >>> before = pd.DataFrame({"case_id": ["a"] * 5, "metric": "q", "value": [0.9, 0.88, 0.91, 0.9, 0.89]})
    >>> after = before.assign(value=[0.5, 0.52, 0.49, 0.51, 0.5])
    >>> row = case_deltas(before, after).iloc[0]
    >>> row["status"], round(float(row["delta"]), 3), int(row["n_candidate"])
    ('regressed', -0.392, 5)
    """
    rules = RegressionPolicy.parse(policy)
    known = Metrics.of(metrics)
    pairs = pair_cases(
        baseline, candidate, known, by="case_deltas()",
        prefer_captured=rules.margin is not None, failed_count=rules.counts_failed,
    )  # fmt: skip
    return judge_pairs(pairs, scales(pairs, known), rules)


def judge_pairs(pairs: Pairs, scale: pd.DataFrame, rules: RegressionPolicy) -> pd.DataFrame:
    """Return the case deltas of sides that are matched already: the second half of `case_deltas`."""
    work = _working_frame(pairs, scale, rules)
    ruling = rule_for(rules)(work, rules)
    out = work.assign(**ruling._asdict(), policy=rules.label, n_unmatched=sum(pairs.n_unmatched))
    out["baseline_source"] = np.where(work["captured"], "captured", "control").astype(object)
    out.loc[(work["n_baseline"] == 0).to_numpy(), "baseline_source"] = None
    return CASE_DELTAS.order(out.astype(dict.fromkeys(_COUNTS, "Int64")))[list(CASE_DELTAS.columns)]


def _working_frame(pairs: Pairs, scale: pd.DataFrame, policy: RegressionPolicy) -> pd.DataFrame:
    """Return cells, evidence and scale side by side, one row per case and metric."""
    at = scale.index.get_indexer(pd.Index(pairs.cells["metric"]))
    of_metric = {str(column): values.to_numpy()[at] for column, values in scale.items()}
    columns = {str(name): values for part in (pairs.cells, weigh(pairs, scale)) for name, values in part.items()}
    work = pd.DataFrame(columns | of_metric, index=pairs.cells.index)
    work["delta"] = work["candidate"] - work["baseline"]
    work.loc[work["mismatch"].notna(), list(_COMPARED)] = None  # two graders: two scales
    work["case"] = pd.factorize(work["case_id"])[0]
    work["tol"] = (work["tolerance"] / work["unit"]).fillna(policy.tolerance)
    work["tolerance"] = work["tolerance"].fillna(work["unit"] * policy.tolerance)
    return work


def case_statuses(deltas: pd.DataFrame) -> pd.DataFrame:
    """Return one row per case: its status over all metrics, and the metric that decided.

    A case is regressed if any metric is, else improved if any is, else inconclusive if any is, else unchanged; under
    the reference's margin a comparable metric that did not change outweighs one that could not be compared.
    A metric that no verdict is possible on, and one scored on one side only, decide only when there is no other.

    Examples
    --------
    >>> rows = pd.DataFrame({"case_id": ["a", "a"], "metric": ["p", "q"], "status": ["unchanged", "regressed"]})
    >>> case_statuses(rows)[["case_id", "status", "metric"]].values.tolist()
    [['a', 'regressed', 'q']]
    """
    CASE_DELTAS.require(deltas, "case_id", "metric", "status", by="case_statuses()")
    out = _filled(deltas.reset_index(drop=True))
    out["rank"], out["worst"] = deciding_rank(out), -out["z"].astype(float)
    by_case = out.groupby("case_id")
    out["suspect"] = by_case["suspect"].transform("any").astype(bool)
    out["runs_needed"] = by_case["runs_needed"].transform("max").astype("Int64")
    first = out.sort_values(["case_id", "rank", "worst", "metric"]).drop_duplicates("case_id")
    open_case = (first["status"] == "inconclusive").to_numpy(dtype=bool)
    first["runs_needed"] = first["runs_needed"].where(open_case)
    return CASE_STATUSES.order(first)[list(CASE_STATUSES.columns)]


def _filled(deltas: pd.DataFrame) -> pd.DataFrame:
    assumed: dict[str, Any] = {
        "kind": "win",
        "suspect": False,
        "reason": None,
        "runs_needed": pd.NA,
        "z": np.nan,
        "policy": "default",
    }
    return deltas.assign(**{name: value for name, value in assumed.items() if name not in deltas})
