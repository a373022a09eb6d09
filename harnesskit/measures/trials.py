"""One side of a comparison: rows of scores become one row per trial, by stated rules.

- A row without a case is never matched; it is counted.
- A row without a metric speaks for every metric of its case (a skipped case, a replay that raised); a score in it is
  not used, as nothing says which metric it is of.
- A kind other than win and failure is an error: a misspelt one would take its case out of protection.
- A sample id that turns up twice for a metric counts once; with two different scores it is an error.
- Two graders of one metric are an error: one has to be chosen.
- Rows of the same trial (turns of one run) are averaged; without a trial every row is a trial. Both are counted: rows
  averaged into another, and rows that are exact copies of another.
- A score outside the declared range, not finite, or with a status other than ok counts as unscored.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from harnesskit.measures.failed_runs import early_rows
from harnesskit.model.contract import require_kinds
from harnesskit.model.errors import FrameError, listed
from harnesskit.model.names import named, of_codes, row_numbers
from harnesskit.model.views import CASE_SCORES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from harnesskit.model.metrics import Metric, Metrics

STATES = SCORED, UNSCORED, SKIPPED = "scored", "unscored", "skipped"
"""Of a trial; of several rows of one trial the first of these counts."""
_SCORED_STATUSES = ("ok", "scored", "")
_SKIPPED_STATUSES = ("skipped", "not_applicable")
_TRIAL_KEYS = ("trial", "run_id", "arm", "round")
_TOLD_APART_BY = (
    *("case_id", "metric", "value", "run_id", "arm", "round", "session_id", "status", "reason", "grader"),
    *("occurred_at", "fingerprint", "source", "role", "turn", "turn_index", "trace_id"),
)
NOT_A_NUMBER = ("no score", "not a finite number")
NO_NAME = "a score without the name of a metric"


@dataclass(frozen=True)
class Side:
    """The trials of one side.

    Attributes
    ----------
    trials
        One row per trial and metric: ``case_id, metric`` (missing: all metrics of the case), ``value`` (missing unless
        scored), ``state``, ``reason``, ``fingerprint``, ``captured``, ``copies`` (1: an exact copy of another row),
        ``averaged`` (rows of its trial besides the first), ``early`` (a replay that ended in an error or a timeout).
    cases
        One row per case and what is said of it: ``case_id, kind, cluster``.
    n_unmatched
        Rows without a case.
    graders
        The grader of each metric, where it has a name.
    """

    trials: pd.DataFrame
    cases: pd.DataFrame
    n_unmatched: int
    graders: dict[str, str]


def one_side(frame: pd.DataFrame, metrics: Metrics, *, by: str, what: str, keep: Sequence[str] = ()) -> Side:
    """Return the trials of one side, from rows of case_scores, of baselines, or a hand-made frame.

    Parameters
    ----------
    frame
        Reads ``case_id, metric, value``, and when there ``kind, trial, run_id, arm, round, status, reason, source``,
        ``role, cluster, fingerprint, grader, sample_id``. A frame without columns is a side without rows.
    metrics
        Declarations; a value outside a declared range counts as unscored.
    by, what
        The public function and which of its frames this is, for errors.
    keep
        Further columns of the frame that the trials keep; of rows averaged into one, those of the first.
    """
    if hasattr(frame, "columns") and not len(frame.columns):
        frame = pd.DataFrame({"case_id": [], "metric": [], "value": []})
    CASE_SCORES.require(frame, "case_id", "metric", "value", by=by, what=what)
    if "kind" in frame:
        require_kinds(frame["kind"], by=by, what=what)
    matched = frame["case_id"].notna().to_numpy(dtype=bool)
    n_unmatched = int((~matched).sum())
    rows = (frame if not n_unmatched else frame[matched]).reset_index(drop=True)
    rows = _without_doubles(rows, f"{by}, {what},")
    graders = _graders(rows, f"{by}, {what},")
    n = len(rows)
    trials = pd.DataFrame(
        {
            "case_id": named(rows["case_id"]),
            "metric": named(rows["metric"]),
            "value": _numbers(rows["value"], f"{by} needs, {what},"),
            "fingerprint": named(rows["fingerprint"]) if "fingerprint" in rows else of_codes(np.zeros(n, int), [""]),
            "captured": _captured(rows),
            "copies": _copies(rows),
            "averaged": 0,
            "early": early_rows(rows),
            **{column: rows[column] for column in keep},
        },
        index=rows.index,
    )
    state, reason = _states(rows, trials, metrics)
    trials["value"] = np.where(state == STATES.index(SCORED), trials["value"], np.nan)
    trials["state"], trials["reason"] = of_codes(state, STATES), reason
    return Side(_one_per_trial(trials, rows), _facts(rows, trials["case_id"]), n_unmatched, graders)


def _numbers(column: pd.Series[Any], who: str) -> NDArray[np.float64]:
    if not pd.api.types.is_numeric_dtype(column):
        kept = column.dropna()
        odd = kept[[not isinstance(value, int | float | np.number | np.bool_) for value in kept]]
        if len(odd):
            some = listed(sorted({repr(value) for value in odd}))
            raise FrameError(f"{who} numbers in column 'value'; found {some}. Convert or empty them.")
    return pd.to_numeric(column).to_numpy(dtype=float, na_value=np.nan)


def _captured(rows: pd.DataFrame) -> NDArray[np.bool_]:
    for column in ("source", "role"):
        if column in rows:
            return (rows[column] == "captured").fillna(False).to_numpy(dtype=bool)
    return np.zeros(len(rows), dtype=bool)


def _states(rows: pd.DataFrame, trials: pd.DataFrame, metrics: Metrics) -> tuple[NDArray[np.int8], pd.Categorical]:
    """Return the state of each row, as its place in `STATES`, and why it has no score."""
    value, metric = trials["value"].to_numpy(), trials["metric"].cat
    outside, scale = _outside(value, metric.codes.to_numpy(), [metrics[name] for name in metric.categories])
    finite, nameless = np.isfinite(value), metric.codes.to_numpy() < 0
    status = named(rows["status"]) if "status" in rows else of_codes(np.full(len(rows), -1), [])
    of_status = [*status.categories, ""]
    ok = np.isin(of_status, _SCORED_STATUSES)[status.codes]
    state = np.where(ok & finite & ~outside & ~nameless, STATES.index(SCORED), STATES.index(UNSCORED)).astype(np.int8)
    state[np.isin(of_status, _SKIPPED_STATUSES)[status.codes]] = STATES.index(SKIPPED)
    lost = np.flatnonzero(state != STATES.index(SCORED))  # most rows are scored: only the others need words
    ok, outside, nameless = ok[lost], outside[lost], (finite & nameless)[lost]
    found = np.where(np.isnan(value[lost]), *NOT_A_NUMBER).astype(object)
    found = np.where(ok, found, np.array(of_status, dtype=object)[status.codes[lost]])
    if "reason" in rows:
        said = np.asarray(named(rows["reason"].iloc[lost]), dtype=object)
        found = np.where(pd.isna(said) | (said == ""), found, said)
    found = np.where(outside & ok, scale[trials["metric"].cat.codes.to_numpy()[lost]], found)
    reason = named(np.where(nameless & ~outside & ok, NO_NAME, found))
    codes = np.full(len(rows), -1)
    codes[lost] = reason.codes
    return state, of_codes(codes, reason.categories)


def _outside(
    value: NDArray[np.float64], metric: NDArray[Any], known: list[Metric]
) -> tuple[NDArray[np.bool_], NDArray[np.object_]]:
    """Return which values lie outside the range declared for their metric, and the range of each metric in words."""
    low = np.array([*(m.low if m.declared and m.low is not None else -np.inf for m in known), -np.inf])
    high = np.array([*(m.high if m.declared and m.high is not None else np.inf for m in known), np.inf])
    words = [f"outside the scale declared for the metric, {a:g} to {b:g}" for a, b in zip(low, high, strict=True)]
    slack = np.array([*(1e-9 * (m.span or 1.0) for m in known), 0.0])
    finite = np.isfinite(value)
    outside = finite & ((value < (low - slack)[metric]) | (value > (high + slack)[metric]))
    return np.asarray(outside, dtype=bool), np.array(words, dtype=object)


def _without_doubles(rows: pd.DataFrame, by: str) -> pd.DataFrame:
    if "sample_id" not in rows:
        return rows
    key = [c for c in ("sample_id", "metric", "grader") if c in rows]
    again = rows.duplicated(key, keep=False).to_numpy() & rows["sample_id"].notna().to_numpy()
    if not again.any():
        return rows
    differing = rows[again].groupby(key, dropna=False)["value"].nunique(dropna=False)
    if (differing > 1).any():
        ids = sorted({str(k[0]) for k in differing[differing > 1].index})
        raise FrameError(f"{by} found samples with two scores for one metric: {listed(ids)}. Keep one of each.")
    return rows[~(rows.duplicated(key).to_numpy() & again)].reset_index(drop=True)


def _copies(rows: pd.DataFrame) -> NDArray[np.int64]:
    """Return 1 for a row that is an exact copy of an earlier one and has nothing that makes it a trial of its own.

    Whole numbers are left out: a judge that says pass or fail repeats itself without copying anything.
    """
    bare = np.ones(len(rows), dtype=bool)
    for column in ("trial", "sample_id"):
        if column in rows:
            bare &= rows[column].isna().to_numpy(dtype=bool)
    if not bare.any():
        return np.zeros(len(rows), dtype=np.int64)
    again = bare & rows.duplicated([c for c in _TOLD_APART_BY if c in rows]).to_numpy(dtype=bool)
    value = pd.to_numeric(rows["value"], errors="coerce").to_numpy(dtype=float, na_value=np.nan)
    return np.asarray(again & np.isfinite(value) & (value != np.round(value)), dtype=np.int64)


def _graders(rows: pd.DataFrame, by: str) -> dict[str, str]:
    """Return the grader of each metric; two for one metric are an error."""
    if "grader" not in rows:
        return {}
    pairs = rows.loc[rows["metric"].notna() & rows["grader"].notna(), ["metric", "grader"]].drop_duplicates()
    twice = pairs[pairs["metric"].duplicated(keep=False)].sort_values(["metric", "grader"])
    if len(twice):
        metric = str(twice["metric"].iloc[0])
        graders = [str(g) for g in twice.loc[twice["metric"] == metric, "grader"]]
        raise FrameError(
            f"{by} found metric {metric!r} scored by {len(graders)} graders ({listed(graders)}), which do not mix. "
            f"Choose one, e.g. scores[scores['grader'] == {graders[0]!r}]."
        )
    return {str(metric): str(grader) for metric, grader in pairs.itertuples(index=False)}


def _one_per_trial(trials: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """Average the rows of one trial; rows without a trial stay as they are."""
    if "trial" not in rows or not rows["trial"].notna().any():
        return trials
    keys = {c: pd.factorize(rows[c])[0] for c in _TRIAL_KEYS if c in rows}
    key = row_numbers(*(trials[c].cat.codes.to_numpy() for c in ("case_id", "metric")), *keys.values())
    if (np.diff(key) > 0).all():  # in order, as most frames are: no row is there twice
        return trials
    together = pd.Series(key).duplicated(keep=False).to_numpy() & (keys["trial"] >= 0)
    if not together.any():
        return trials
    some = trials[together].assign(group=pd.factorize(key[together], sort=True)[0])
    first = some.sort_values(["group", "state", "reason"], kind="stable").drop_duplicates("group").set_index("group")
    first["value"] = some.groupby("group")["value"].mean()
    first["averaged"] = some.groupby("group").size() - 1
    return pd.concat([trials[~together], first[trials.columns]], ignore_index=True)


def _facts(rows: pd.DataFrame, case_id: pd.Series[Any]) -> pd.DataFrame:
    none = of_codes(np.full(len(rows), -1), [])
    facts = pd.DataFrame(
        {"case_id": case_id, **{c: named(rows[c]) if c in rows else none for c in ("kind", "cluster")}}
    )
    again = pd.Series(row_numbers(*(column.cat.codes.to_numpy() for _, column in facts.items()))).duplicated()
    return facts[~again.to_numpy()].reset_index(drop=True)
