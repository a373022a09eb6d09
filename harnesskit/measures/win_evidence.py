"""Is a fixed case a win to protect? Its fresh runs as evidence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

import pandas as pd

from harnesskit.measures.evidence_rows import evidence_frame
from harnesskit.measures.win_rows import Standing, win_checks
from harnesskit.measures.win_runs import bars_of, passes_of_wins, require_scores, win_runs
from harnesskit.model.metrics import Metric, Metrics
from harnesskit.model.promotion_policy import PromotionPolicy
from harnesskit.stats.beta_pass import PRIOR, pass_prior

_BY = "win_evidence()"


def win_evidence(
    scores: pd.DataFrame,
    *,
    policy: str | PromotionPolicy = "budgeted",
    thresholds: Mapping[str, float] | None = None,
    metrics: Iterable[Metric] | None = None,
    fingerprint: str | None = None,
    shown_by: Iterable[str] = (),
    wins: pd.DataFrame | None = None,
    noise: pd.DataFrame | None = None,
    cases: pd.DataFrame | None = None,
    protected: bool = False,
    as_of: datetime | None = None,
    stale_days: int = 90,
) -> pd.DataFrame:
    """Weigh the fresh runs of one case: one row per check.

    A run passes when every metric that it needs reaches its threshold; a missing score is no pass. P(pass rate >=
    `pass_bar`) with the prior Beta(4, 1), or that of the corpus of wins, decides (METHODS 6): 7 of 7 or 13 of 14 at
    the defaults. It is rejected when that chance is .20 or less, or when the runs left can no longer reach it. The
    forecast of the next run from its scores says how far they are above the threshold, and knows nothing of runs that
    collapse: it makes a case provisional, never a win.

    Parameters
    ----------
    scores
        Rows of case_scores of one case: ``case_id, metric, value``, and ``sample_id, run_id, trial, status, reason,
        role, source, fingerprint, occurred_at, kind`` when there. The captured run, runs of another fingerprint, and
        those named in `shown_by` do not count.
    thresholds
        Metric to the score from which it passes, required of every run; else those that `metrics` declare.
    fingerprint
        What the runs must have been made by; else that of the newest run.
    shown_by
        Sample, run or session ids of what showed the fix: chosen because it passed.
    wins
        Rows of case_scores of the protected wins: their pass rates make the prior.
    noise
        `harnesskit.noise_table` of the workspace, for the forecast; else .10 of the range.
    cases
        The table cases: near-duplicates of this case, and what it covers, are then shown.
    protected
        The case is a win already: is it still one? It is demoted when the chance is .20 or less, and is stale when
        its newest run is older than `stale_days` before `as_of`, or none is of this fingerprint.

    Raises
    ------
    FrameError
        A column is missing, there are several cases, or a score is text.
    PolicyError
        No metric has a threshold.

    Examples
    --------
    >>> runs = pd.DataFrame({"case_id": "c-1", "metric": "q", "value": [0.9, 0.8, 0.85, 0.95, 0.9, 0.8, 0.9]})
    >>> evidence = win_evidence(runs, thresholds={"q": 0.7}).set_index("check")
    >>> evidence["state"]["pass_rate"], round(float(evidence["evidence"]["pass_rate"]), 3)
    ('met', 0.914)
    """
    rules, known = PromotionPolicy.parse(policy), Metrics.of(metrics)
    require_scores(scores, _BY)
    seen = scores["metric"].dropna().astype(str).unique()
    bars, without = bars_of(seen, thresholds, known, by=_BY)
    runs = win_runs(
        scores, bars, known, fingerprint=fingerprint, shown_by=shown_by, unthresholded=without, by=_BY
    )  # fmt: skip
    counts = passes_of_wins(wins, bars, known, by=_BY) if wins is not None else ([], [])
    standing = Standing(
        rules=rules,
        runs=runs,
        bars=bars,
        known=known,
        prior=pass_prior(*counts) if counts[1] else PRIOR,
        prior_cases=len(counts[1]),
        noise=noise,
        cases=cases,
        protected=protected,
        stale_before=None if as_of is None else _utc(as_of) - pd.Timedelta(days=stale_days),
        stale_days=stale_days,
    )
    return evidence_frame(win_checks(standing), rules.label)


def _utc(moment: datetime) -> pd.Timestamp:
    stamp = pd.Timestamp(moment)
    return stamp.tz_localize("UTC") if stamp.tzinfo is None else stamp.tz_convert("UTC")
