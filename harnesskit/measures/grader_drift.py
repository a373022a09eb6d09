"""Same output, new verdict: what changed between two runs because the grader did, not the agent."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from harnesskit.measures.pass_bars import PassAt, PassBar, pass_bars
from harnesskit.model.analyses import GRADER_DRIFT
from harnesskit.model.errors import FrameError, listed
from harnesskit.model.metrics import Metric, Metrics
from harnesskit.model.views import CASE_SCORES
from harnesskit.stats.intervals import clopper_pearson, mean_interval

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

NO_GRADER = "(no grader)"
SAME = "the same grader scores the same output differently: part of the noise of a run is the judge's"
OTHER = "another grader scores the same output differently: grade both runs with one before comparing them"
NOTHING = "no output was graded by both"
_SLACK = 1e-9


def grader_drift(
    baseline: pd.DataFrame,
    candidate: pd.DataFrame,
    *,
    metrics: Iterable[Metric] | None = None,
    pass_at: PassAt = None,
) -> pd.DataFrame:
    """Say how often the same output got a new verdict: one row per metric and pair of graders.

    Outputs are the same when case and text are. Where one was graded several times on a side its mean counts. A change
    on the same output is the grader's; without one, the graders may still differ on outputs that were not graded twice.

    Parameters
    ----------
    baseline, candidate
        Frames with ``case_id, metric, value, output`` (text, or a hash of it), and ``grader, grader_version`` when
        there: rows of case_scores joined to the ``output`` of their samples by ``sample_id``.
    metrics, pass_at
        What passes, as for `harnesskit.case_flips`.

    Returns
    -------
    DataFrame
        By the contract ``grader drift``, sorted by its key. Shares and changes are over outputs; the interval of the
        mean change is a t interval over cases.

    Raises
    ------
    FrameError
        A column is missing, or a score is text.
    PolicyError
        `pass_at` names a metric that is not there, or is not a finite number.

    Examples
    --------
    >>> rows = pd.DataFrame({"case_id": ["a", "b"], "metric": "q", "output": ["yes", "no"], "value": [0.9, 0.8]})
    >>> again = rows.assign(value=[0.2, 0.8])
    >>> drift = grader_drift(rows.assign(grader="old"), again.assign(grader="new"), pass_at=0.5).iloc[0]
    >>> int(drift["n_same_output"]), int(drift["n_changed_verdict"]), round(float(drift["mean_change"]), 2)
    (2, 1, -0.35)
    """
    known = Metrics.of(metrics)
    before, after = _graded(baseline, known), _graded(candidate, known)
    values = pd.concat([before, after]).groupby("metric")["value"]
    scores = {str(name): column.to_numpy(dtype=float) for name, column in values}
    bars = pass_bars(scores, scores, known, pass_at, by="grader_drift()")
    both = before.merge(after, on=["case_id", "metric", "output"], suffixes=("_baseline", "_candidate"))
    rows = [
        {"metric": metric, "grader_baseline": old, "grader_candidate": new, **_drift(group, bars[metric], old == new)}
        for metric, old, new, group in _pairs(before, after, both)
    ]
    frame = pd.DataFrame(rows, columns=list(GRADER_DRIFT.columns))
    return frame.astype(dict.fromkeys(("n_same_output", "n_changed_value", "n_changed_verdict"), "Int64"))


def _graded(frame: pd.DataFrame, known: Metrics) -> pd.DataFrame:
    """Return one row per metric, case, output and grader: the mean of its scores."""
    CASE_SCORES.require(frame, "case_id", "metric", "value", "output", by="grader_drift()")
    rows = frame.reset_index(drop=True)
    value = pd.to_numeric(rows["value"], errors="coerce").astype(float)
    odd = value.isna() & rows["value"].notna()
    if odd.any():
        some = listed(sorted({repr(v) for v in rows.loc[odd, "value"]}))
        raise FrameError(f"grader_drift() needs numbers in column 'value'; found {some}. Convert or empty them.")
    out = pd.DataFrame({c: _text(rows[c]) for c in ("metric", "case_id", "output")}).assign(
        grader=_graders(rows), value=value
    )
    out = out[np.isfinite(value) & out.notna().all(axis=1)]
    limits = {str(name): known[str(name)] for name in out["metric"].unique()}
    inside = [not limits[m].declared or limits[m].holds(v) for m, v in zip(out["metric"], out["value"], strict=True)]
    keys = ["metric", "case_id", "output", "grader"]
    return out[np.array(inside, dtype=bool)].groupby(keys, as_index=False, sort=True).agg(value=("value", "mean"))


def _text(column: pd.Series[Any]) -> pd.Series[Any]:
    return column.astype(object).where(column.isna(), column.astype(str))


def _graders(rows: pd.DataFrame) -> pd.Series[Any]:
    """Return grader and version as one text."""
    none = pd.Series(None, index=rows.index, dtype=object)
    name, version = (_text(rows[c]) if c in rows else none for c in ("grader", "grader_version"))
    return name.fillna(NO_GRADER).astype(str) + (" " + version).fillna("").astype(str)


def _pairs(
    before: pd.DataFrame, after: pd.DataFrame, both: pd.DataFrame
) -> Iterator[tuple[str, str, str, pd.DataFrame]]:
    """Yield every metric and pair of graders that both sides have, with the outputs that both graded."""
    pairs = before[["metric", "grader"]].drop_duplicates().merge(
        after[["metric", "grader"]].drop_duplicates(), on="metric", suffixes=("_baseline", "_candidate")
    )  # fmt: skip
    keys = ["metric", "grader_baseline", "grader_candidate"]
    groups = dict(iter(both.groupby(keys)))
    for metric, old, new in pairs.sort_values(keys)[keys].itertuples(index=False):
        yield str(metric), str(old), str(new), groups.get((metric, old, new), both.iloc[:0])


def _drift(rows: pd.DataFrame, bar: PassBar, same_grader: bool) -> dict[str, Any]:
    before, after = (rows[f"value_{side}"].to_numpy(dtype=float) for side in ("baseline", "candidate"))
    n, moved = len(rows), np.abs(after - before) > _SLACK
    barred = not np.isnan(bar.score)
    turned = _passes(before, bar) != _passes(after, bar)
    k = int((turned if barred else moved).sum())
    share = clopper_pearson(k, n) if n else None
    change = mean_interval((rows["value_candidate"] - rows["value_baseline"]).groupby(rows["case_id"]).mean())
    return {
        "n_same_output": n, "n_changed_value": int(moved.sum()),
        "n_changed_verdict": int(turned.sum()) if barred else None,
        "changed_share": k / n if n else np.nan, "low": share.low if share else np.nan,
        "high": share.high if share else np.nan, "mean_change": float((after - before).mean()) if n else np.nan,
        "mean_low": change.low, "mean_high": change.high, "pass_at": bar.score,
        "warning": NOTHING if not n else None if not moved.any() else SAME if same_grader else OTHER,
    }  # fmt: skip


def _passes(values: NDArray[np.float64], bar: PassBar) -> NDArray[np.bool_]:
    met = values <= bar.score + _SLACK if bar.higher_is_better is False else values >= bar.score - _SLACK
    return np.asarray(met, dtype=bool)
