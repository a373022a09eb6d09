"""Which cases passed before and fail now, and the other way round."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from harnesskit.measures.pairing import BASELINE, CANDIDATE, Pairs, pair_cases, with_texts
from harnesskit.measures.pass_bars import PassAt, pass_bars
from harnesskit.model.analyses import CASE_FLIPS
from harnesskit.model.metrics import Metric, Metrics

if TYPE_CHECKING:
    from numpy.typing import NDArray

FLIPS = ("broken", "flaky", "fixed", "both fail", "both pass", "not compared")
"""Every word of the column ``flip``."""
NO_BAR = "no threshold: declare one or give pass_at"
_COUNTS = ("n_baseline", "n_candidate", "n_unscored", "passed_baseline", "passed_candidate")


def case_flips(
    baseline: pd.DataFrame,
    candidate: pd.DataFrame,
    *,
    metrics: Iterable[Metric] | None = None,
    pass_at: PassAt = None,
) -> pd.DataFrame:
    """Say which cases were fixed and which broke: one row per case and metric.

    A trial passes when its score reaches the metric's threshold. Repeats are reduced to a pass rate per case and side:
    all pass or all fail is a state, anything between is ``flaky``. A flip is shown and never decides: with few trials
    a flaky case flips by chance. Unscored trials are counted and are neither.

    Parameters
    ----------
    baseline, candidate
        As for `harnesskit.case_deltas`.
    metrics
        Declarations; their ``threshold`` says what passes. Scores that are all 0 or 1 pass at the better end without.
    pass_at
        The score from which a trial passes, in the metric's own unit; a number for every metric or a mapping by
        name. It comes before the declared threshold.

    Returns
    -------
    DataFrame
        By the contract ``case flips``, sorted by case and metric.

    Raises
    ------
    FrameError
        A column is missing, a score is text, or one metric has two graders.
    PolicyError
        `pass_at` names a metric that is not there, or is not a finite number.

    Examples
    --------
    >>> before = pd.DataFrame({"case_id": ["a", "a", "b", "b"], "metric": "q", "value": [0.9, 0.8, 0.9, 0.9]})
    >>> after = before.assign(value=[0.2, 0.3, 0.9, 0.4])
    >>> case_flips(before, after, pass_at=0.5)[["case_id", "flip", "rate_candidate"]].values.tolist()
    [['a', 'broken', 0.0], ['b', 'flaky', 0.5]]
    """
    known = Metrics.of(metrics)
    pairs = pair_cases(baseline, candidate, known, by="case_flips()")
    out = with_texts(pairs.cells[["case_id", "kind", "metric", "n_baseline", "n_candidate", "n_unscored"]])
    values = pairs.runs["value"].groupby(out["metric"].to_numpy(dtype=object)[pairs.runs["cell"].to_numpy()])
    bars = pass_bars({str(name): v.to_numpy() for name, v in values}, out["metric"], known, pass_at, by="case_flips()")
    out["pass_at"] = out["metric"].map({name: bar.score for name, bar in bars.items()}).astype(float)
    out["higher_is_better"] = out["metric"].map({name: bar.higher_is_better for name, bar in bars.items()})
    _count_passes(out, pairs)
    source = np.where(pairs.cells["captured"], "captured", "control").astype(object)
    out["baseline_source"] = np.where(out["n_baseline"] > 0, source, np.array(None, dtype=object))
    out["flip"], out["reason"] = _flips(out, pairs.cells["mismatch"])
    return CASE_FLIPS.order(out.astype(dict.fromkeys(_COUNTS, "Int64")))


def _count_passes(out: pd.DataFrame, pairs: Pairs) -> None:
    """Add the trials that pass, and their share, of each side."""
    cell, arm = (pairs.runs[c].to_numpy(dtype=np.int64) for c in ("cell", "arm"))
    bar, value = out["pass_at"].to_numpy(dtype=float)[cell], pairs.runs["value"].to_numpy(dtype=float)
    lower = out["higher_is_better"].eq(False).fillna(False).to_numpy(dtype=bool)[cell]
    passed = np.where(lower, value <= bar + 1e-9, value >= bar - 1e-9)
    for code, side in ((BASELINE, "baseline"), (CANDIDATE, "candidate")):
        n = out[f"n_{side}"].to_numpy(dtype=float)
        count = np.bincount(cell[arm == code], passed[arm == code], minlength=len(out)).astype(int)
        out[f"passed_{side}"] = count
        barred = (n > 0) & out["pass_at"].notna().to_numpy()
        out[f"rate_{side}"] = np.where(barred, count / np.maximum(n, 1), np.nan)


def _flips(out: pd.DataFrame, mismatch: pd.Series[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the flip of each row, and why there is none."""
    before, after = (out[f"rate_{side}"].to_numpy(dtype=float) for side in ("baseline", "candidate"))
    unclear = np.isnan(before) | np.isnan(after) | mismatch.notna().to_numpy(dtype=bool)
    mixed = ((before > 0) & (before < 1)) | ((after > 0) & (after < 1))
    cases = [unclear, mixed, (before == 1) & (after == 0), (before == 0) & (after == 1), before == 1]
    flip = np.select(cases, ["not compared", "flaky", "broken", "fixed", "both pass"], "both fail").astype(object)
    none = [out["pass_at"].isna(), out["n_baseline"] == 0, out["n_candidate"] == 0]
    said = [NO_BAR, "no baseline score", "no candidate score"]
    reason = np.select([np.asarray(n, dtype=bool) for n in none], said, "").astype(object)
    reason[reason == ""] = None
    reason = np.where(mismatch.notna(), mismatch, reason)
    return flip, reason
