"""Is the eval set in order? Per case: age, what happened to it, how sure that is, and what to do."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from harnesskit.measures.case_actions import case_actions
from harnesskit.measures.case_noise_rows import noisiest_metrics
from harnesskit.measures.case_timeline import ROLES, case_timeline
from harnesskit.measures.duplicate_cases import duplicate_cases
from harnesskit.measures.pass_bars import PassAt
from harnesskit.measures.trial_passes import read_values
from harnesskit.model.contract import require_kinds
from harnesskit.model.frames import CASES
from harnesskit.model.health_results import CORPUS_HEALTH, TOO_FEW
from harnesskit.model.metrics import Metric, Metrics
from harnesskit.stats.case_rates import count_bounds

if TYPE_CHECKING:
    from numpy.typing import NDArray

FLAKY_SHARE, STEADY_SHARE = 0.05, 0.20
"""A case is flaky when the share of trials that turn is above the first for sure, steady when below the second."""
MARKS = {"pass": "✓", "fail": "✗", "mixed": "~", "none": "·"}
_SHOWN = 12
_BY = "corpus_health()"
_COUNTS = ("n_runs", "n_trials", "passed", "n_unscored", "n_repeats", "noise_df")


def corpus_health(
    cases: pd.DataFrame,
    samples: pd.DataFrame,
    *,
    metrics: Iterable[Metric] | None = None,
    pass_at: PassAt = None,
    as_of: datetime | str | None = None,
    stale_days: int = 90,
) -> pd.DataFrame:
    """Say what each case is worth and what to do with it: one row per case.

    Candidate runs do not count: they try changes that may never be taken. *flaky* and *steady* rest on trials of one
    run that disagree: flaky when the exact 95 % interval of the share that turns lies above .05, steady when its
    one-sided 95 % bound is at most .20 (14 trials without a turn), else too few runs to say. A case that always passes
    or always fails tells nothing about a change, but a win that always passes is still worth protecting.

    Parameters
    ----------
    cases
        Rows of the table cases: ``case_id``; ``kind, created_at, replayable, replay_input, signature`` when there.
    samples
        Rows of case_scores, as `harnesskit.case_timeline` takes them.
    metrics, pass_at
        As for `harnesskit.case_flips`.
    as_of
        Time that ages count to; the newest time in the two frames when None.
    stale_days
        Days after which a run, or a baseline, is old.

    Returns
    -------
    DataFrame
        By the contract ``corpus health``, the most pressing action first.

    Raises
    ------
    FrameError, PolicyError
        A column is missing, a kind is unknown, a score is text, or `pass_at` names a metric without scores.

    Examples
    --------
    >>> cases = pd.DataFrame({"case_id": ["a", "b"], "kind": "win", "replayable": [True, False]})
    >>> runs = pd.DataFrame({"case_id": "a", "metric": "q", "run_id": "r", "value": [0.9, 0.2, 0.8, 0.1, 0.9]})
    >>> corpus_health(cases, runs, pass_at=0.5)[["case_id", "action", "stability"]].to_numpy().tolist()
    [['b', 'attach_input', 'too few runs to say'], ['a', 'repair', 'flaky']]
    """
    CASES.require(cases, "case_id", by=_BY)
    known = Metrics.of(metrics)
    out = _case_rows(cases)
    timeline = case_timeline(samples, metrics=known, pass_at=pass_at)
    now = _now(out, timeline, as_of)
    out["age_days"] = (now - out["created_at"]).dt.total_seconds() / 86400
    out = out.merge(_standing(timeline), on="case_id", how="left")
    out = out.merge(noisiest_metrics(_own_rows(samples), known), on="case_id", how="left")
    out = out.merge(_baselines(timeline), on="case_id", how="left")
    out["baseline_source"] = out["baseline_source"].fillna("none")
    out = out.merge(_copies(cases), on="case_id", how="left")
    _estimates(out)
    out = out.astype(dict.fromkeys(_COUNTS, "Int64"))
    out["action"], out["reason"], rank = case_actions(out, timeline, now=now, stale_days=stale_days)
    order = out.assign(_rank=rank).sort_values(["_rank", "case_id"], kind="stable").index
    return CORPUS_HEALTH.order(out.loc[order, list(CORPUS_HEALTH.columns)])


def _case_rows(cases: pd.DataFrame) -> pd.DataFrame:
    out = cases.reset_index(drop=True).copy()
    if "kind" in out:
        require_kinds(out["kind"], by=_BY)
    out["kind"] = out["kind"].fillna("win") if "kind" in out else "win"
    created = out["created_at"] if "created_at" in out else pd.Series([pd.NaT] * len(out))
    out["created_at"] = pd.to_datetime(created, utc=True)
    if "replayable" not in out:
        out["replayable"] = out["replay_input"].notna() if "replay_input" in out else True
    out["replayable"] = out["replayable"].astype(bool)
    if "signature_key" not in out:
        out["signature_key"] = None
    return out[["case_id", "kind", "created_at", "replayable", "signature_key"]].drop_duplicates("case_id")


def _now(cases: pd.DataFrame, timeline: pd.DataFrame, as_of: datetime | str | None) -> pd.Timestamp:
    if as_of is not None:
        stamp = pd.Timestamp(as_of)
        return stamp.tz_localize("UTC") if stamp.tzinfo is None else stamp.tz_convert("UTC")
    newest = [t for t in (cases["created_at"].max(), timeline["at"].max()) if pd.notna(t)]
    return pd.Timestamp(max(newest)) if newest else pd.Timestamp(0, tz="UTC")


def _own_rows(samples: pd.DataFrame) -> pd.DataFrame:
    """Return the scores of the runs that count, captures left out, NaN where there is none."""
    rows = samples[samples["case_id"].notna()]
    if "role" in rows:
        rows = rows[rows["role"].isin([role for role in ROLES if role != "captured"]) | rows["role"].isna()]
    rows = rows.reset_index(drop=True)
    return rows.assign(value=read_values(rows, _BY))


def _standing(timeline: pd.DataFrame) -> pd.DataFrame:
    """Return one row per case: marks, last event, and the counts of its runs."""
    line = timeline.assign(mark=timeline["state"].map(MARKS))
    tail = line.groupby("case_id").tail(_SHOWN)
    marks: defaultdict[str, str] = defaultdict(str)
    for case, mark in zip(tail["case_id"].tolist(), tail["mark"].tolist(), strict=True):
        marks[case] += mark
    out = pd.Series(marks, name="timeline", dtype=object).rename_axis("case_id").to_frame()
    out["last_event"] = timeline.groupby("case_id")["event"].last()
    runs = timeline[timeline["role"].ne("captured").fillna(True)]
    n, passed = runs["n"].to_numpy(dtype=float), runs["passed"].to_numpy(dtype=float)
    several = n > 1
    counts = pd.DataFrame(
        {
            "case_id": runs["case_id"].to_numpy(dtype=object), "n_runs": n > 0, "n_trials": n, "passed": passed,
            "n_unscored": runs["n_unscored"].to_numpy(dtype=float), "n_repeats": np.where(several, n, 0),
            "_turned": np.where(several, np.minimum(passed, n - passed), 0),
            "_flips": np.where(several, 2 * passed * (n - passed) / np.maximum(n - 1, 1), 0),
        }
    )  # fmt: skip
    out = out.join(counts.groupby("case_id").sum())
    judged = runs[runs["n"] > 0].groupby("case_id")[["run_id", "at"]].last()
    out = out.join(judged.rename(columns={"run_id": "last_run", "at": "last_at"}))
    return out.reset_index()


def _baselines(timeline: pd.DataFrame) -> pd.DataFrame:
    """Return where the newest baseline of each case comes from: a control run before its capture."""
    rows = timeline[timeline["role"].isin(["control", "captured"]) & (timeline["n"] > 0)]
    rows = rows.assign(_captured=rows["role"].eq("captured")).sort_values(
        ["case_id", "_captured", "at"], ascending=[True, False, True], kind="stable"
    )
    last = rows.drop_duplicates("case_id", keep="last").rename(columns={"role": "baseline_source", "at": "baseline_at"})
    return last[["case_id", "baseline_source", "baseline_at"]]


def _copies(cases: pd.DataFrame) -> pd.DataFrame:
    if "replay_input" not in cases:
        none = pd.Series([None] * len(cases), dtype=object)
        return pd.DataFrame({"case_id": cases["case_id"].to_numpy(), "duplicate_of": none, "similar_to": none})
    return duplicate_cases(cases)[["case_id", "duplicate_of", "similar_to"]].drop_duplicates("case_id")


def _estimates(out: pd.DataFrame) -> None:
    """Add what the counts say, with how sure it is."""
    for name in ("n_runs", "n_trials", "passed", "n_unscored", "n_repeats", "_turned", "_flips"):
        out[name] = out[name].astype(float).fillna(0.0)
    n, passed, repeats = (out[c].to_numpy(dtype=float) for c in ("n_trials", "passed", "n_repeats"))
    turned = out["_turned"].to_numpy(dtype=float)
    for name, ends in zip(("pass_low", "pass_high"), count_bounds(passed, n), strict=True):
        out[name] = np.where(n > 0, ends, np.nan)
    out["flip_rate"] = np.where(repeats > 0, out["_flips"] / np.maximum(repeats, 1), np.nan)
    surely = count_bounds(turned, repeats)[0] > FLAKY_SHARE
    at_most = count_bounds(turned, repeats, confidence=0.90)[1] <= STEADY_SHARE
    out["stability"] = _words(surely, at_most, "flaky", "steady")
    out["information"] = 4 * (passed + 1) * (n - passed + 1) / ((n + 2) * (n + 3))
    both = (passed > 0) & (passed < n)
    always = count_bounds(np.minimum(passed, n - passed), n, confidence=0.90)[1] <= STEADY_SHARE
    out["informs"] = _words(both, always, "tells", "says nothing")


def _words(one: NDArray[Any], two: NDArray[Any], first: str, second: str) -> NDArray[Any]:
    return np.select([one, two], [first, second], TOO_FEW).astype(object)
