"""Did a change make cases worse? One row per case and metric, with its status."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from harnesskit.measures.case_rules import rule_for
from harnesskit.measures.evidence import scale_places, scales, weigh
from harnesskit.measures.pairing import Pairs, pair_cases
from harnesskit.model.case_status import deciding_rank
from harnesskit.model.metrics import Metric, Metrics
from harnesskit.model.names import named, of_codes, spelled
from harnesskit.model.policy import RegressionPolicy
from harnesskit.model.results import CASE_DELTAS, CASE_STATUSES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from harnesskit.measures.case_rules import Work

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


def judge_pairs(pairs: Pairs, scale: pd.DataFrame, rules: RegressionPolicy, *, as_text: bool = True) -> pd.DataFrame:
    """Return the case deltas of sides that are matched already: the second half of `case_deltas`.

    Without `as_text` names stay categoricals: a simulation that hands its deltas on spells no text.
    """
    work = _working_columns(pairs, scale, rules)
    out = work | rule_for(rules)(work, rules)._asdict()
    source = np.where(work["n_baseline"] == 0, -1, work["captured"])
    out["n_unmatched"] = np.full(len(pairs.cells), sum(pairs.n_unmatched))
    texts: dict[str, Any] = {name: pairs.cells[name].array for name in ("case_id", "kind", "metric", "cluster")}
    texts |= {name: named(out[name]) for name in ("interval_kind", "status", "reason", "note")}
    texts["baseline_source"] = of_codes(source, ["control", "captured"])
    texts["policy"] = of_codes(np.zeros(len(pairs.cells), dtype=int), [rules.label])
    columns = {name: spelled(column) if as_text else column for name, column in texts.items()}
    columns |= {name: _counts(out[name]) for name in _COUNTS}
    return pd.DataFrame({name: columns[name] if name in columns else out[name] for name in CASE_DELTAS.columns})


def _working_columns(pairs: Pairs, scale: pd.DataFrame, policy: RegressionPolicy) -> Work:
    """Return cells, evidence and scale side by side: columns with an entry per case and metric."""
    cells, at = pairs.cells, scale_places(pairs, scale)
    work: Work = {str(n): c.to_numpy() for n, c in cells.items() if not isinstance(c.dtype, pd.CategoricalDtype)}
    work |= weigh(pairs, scale) | {str(name): column.to_numpy()[at] for name, column in scale.items()}
    work["delta"] = work["candidate"] - work["baseline"]
    apart = np.flatnonzero(pd.notna(work["mismatch"]))  # two graders: two scales
    for name in _COMPARED:
        work[name][apart] = None if name == "interval_kind" else np.nan
    work["case"], work["win"] = cells["case_id"].cat.codes.to_numpy(), (cells["kind"] == "win").to_numpy()
    work["lower_is_better"] = np.array([higher is False for higher in scale["higher_is_better"]], dtype=bool)[at]
    tol = work["tolerance"] / work["unit"]
    work["tol"] = np.where(np.isnan(tol), policy.tolerance, tol)
    work["tolerance"] = np.where(np.isnan(work["tolerance"]), work["unit"] * policy.tolerance, work["tolerance"])
    return work


def _counts(values: NDArray[Any]) -> pd.arrays.IntegerArray:
    """Return counts as whole numbers that may be missing."""
    missing = np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), dtype=bool)
    return pd.arrays.IntegerArray(np.where(missing, 1, values).astype(np.int64), missing)


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
