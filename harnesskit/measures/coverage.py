"""Which traffic has a case and which has none: sessions by signature and slice, held against the cases."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from harnesskit.measures.near_duplicates import signatures
from harnesskit.measures.pass_bars import PassAt
from harnesskit.measures.trial_passes import metric_bars, passes, read_values
from harnesskit.model.frames import CASES, SAMPLES
from harnesskit.model.health_results import COVERAGE
from harnesskit.model.metrics import Metric, Metrics
from harnesskit.model.text import counted
from harnesskit.model.views import ONLINE_SAMPLES
from harnesskit.stats.proportions import clustered_proportion

HEALTHY, BREACH = "healthy", "breach:"
_BY = "coverage()"


def session_signatures(
    online: pd.DataFrame,
    *,
    metrics: Iterable[Metric] | None = None,
    pass_at: PassAt = None,
    slices: Sequence[str] = (),
) -> pd.DataFrame:
    """Give the signature of each online session by its scores: one row per session.

    ``breach:<metric>`` for every metric that failed its threshold in one of its turns, else ``healthy``; missing
    where no metric with a threshold was scored.

    Parameters
    ----------
    online
        Rows of online_samples: ``session_id, metric, value``; ``status, cluster, attributes`` when there.
    metrics, pass_at
        As for `harnesskit.case_flips`.
    slices
        Columns, or keys of ``attributes``, to keep.

    Returns
    -------
    DataFrame
        ``session_id, signature_key`` (JSON of the sorted labels), ``cluster``, and the slices.

    Examples
    --------
    >>> rows = pd.DataFrame({"session_id": ["s", "s", "t"], "metric": "q", "value": [0.9, 0.2, 0.8]})
    >>> session_signatures(rows, pass_at=0.5)["signature_key"].tolist()
    ['["breach:q"]', '["healthy"]']
    """
    by = "session_signatures()"
    ONLINE_SAMPLES.require(online, "session_id", "metric", "value", by=by)
    rows = online[online["session_id"].notna()].reset_index(drop=True)
    session, names = pd.factorize(rows["session_id"])
    value = read_values(rows, by)
    bars = metric_bars(rows, value, Metrics.of(metrics), pass_at, by)
    passed = passes(rows["metric"].to_numpy(dtype=object), value, bars)
    judged = np.bincount(session, ~np.isnan(passed), minlength=len(names)) > 0
    failed = rows.assign(_s=session)[passed == 0].drop_duplicates(["_s", "metric"]).sort_values(["_s", "metric"])
    labels: dict[int, list[str]] = {}
    for at, metric in zip(failed["_s"].tolist(), failed["metric"].tolist(), strict=True):
        labels.setdefault(at, []).append(f"{BREACH}{metric}")
    healthy = json.dumps([HEALTHY])
    keys = [
        None if not judged[at] else _key(labels[at]) if at in labels else healthy for at in range(len(names))
    ]  # fmt: skip
    out = pd.DataFrame({"session_id": names, "signature_key": pd.Series(keys, dtype=object)})
    first = rows.loc[~rows["session_id"].duplicated()].reset_index(drop=True)
    for column in ("cluster", *slices):
        out[column] = first[column] if column in first else _attribute(first, column)
    return out


def _key(labels: Iterable[str]) -> str:
    return json.dumps(sorted(labels), separators=(",", ":"), ensure_ascii=False)


def _attribute(rows: pd.DataFrame, key: str) -> pd.Series[Any]:
    """Return one key of the JSON in ``attributes``, as text, missing where it is not there."""
    if "attributes" not in rows:
        return pd.Series([None] * len(rows), dtype=object)
    known: dict[str, Any] = {}
    for text in rows["attributes"].dropna().unique():
        found = json.loads(text)
        value = found.get(key) if isinstance(found, dict) else None
        known[text] = None if value is None else value if isinstance(value, str) else json.dumps(value)
    return rows["attributes"].map(known).astype(object)


def coverage(cases: pd.DataFrame, traffic: pd.DataFrame, *, slices: Sequence[str] = ()) -> pd.DataFrame:
    """Hold the traffic against the cases: one row per signature and slice value, what to add first on top.

    A case stands for a signature when its labels, those that occur in the traffic, are exactly these; for the value of
    a slice when it has the label ``slice:value`` or was captured from a session of that slice. Intervals are exact
    (Clopper-Pearson), on the effective number of sessions where users are known (`cluster`).

    Parameters
    ----------
    cases
        Rows of the table cases: ``case_id, signature`` (or ``signature_key``); ``session_id, kind, replayable`` when
        there.
    traffic
        One row per session: `harnesskit.session_signatures`, or ``session_id, signature_key`` by hand.
    slices
        Columns of `traffic`.

    Returns
    -------
    DataFrame
        By the contract ``coverage``: first the traffic as a whole (with a replayable case, without one, not scored),
        then signatures and slices, what to add first on top, by the lower end of the share.

    Raises
    ------
    FrameError
        A column is missing.

    Examples
    --------
    >>> cases = pd.DataFrame({"case_id": ["a"], "signature_key": ['["healthy"]']})
    >>> keys = ['["healthy"]'] * 6 + ['["breach:q"]'] * 4
    >>> found = coverage(cases, pd.DataFrame({"session_id": range(10), "signature_key": keys}))
    >>> found[["by", "value", "action", "n_sessions"]].to_numpy().tolist()[1:3]
    [['traffic', 'without a replayable case', 'add', 4], ['traffic', 'not scored', 'keep', 0]]
    """
    CASES.require(cases, "case_id", by=_BY)
    SAMPLES.require(traffic, "session_id", by=_BY, what="as the traffic")
    CASES.require(traffic, "signature_key", *slices, by=_BY, what="as the traffic")
    scored = traffic[traffic["signature_key"].notna()].reset_index(drop=True)
    known = _known_cases(cases)
    vocabulary = {label for key in scored["signature_key"].unique() for label in json.loads(key)}
    own = [_key(label for label in labels if label in vocabulary) for labels in signatures(cases.reset_index())]
    rows = [_row("signature", key, scored["signature_key"].eq(key), scored, known[np.array(own, dtype=object) == key])
            for key in sorted(scored["signature_key"].unique())]  # fmt: skip
    covered = {row["value"] for row in rows if row["n_replayable"]}
    for name in slices:
        for value in sorted(traffic[name].dropna().astype(str).unique()):
            hit = traffic[name].astype(str).eq(value) & traffic[name].notna()
            captured = known["session_id"].isin(traffic.loc[hit, "session_id"]) & known["session_id"].notna()
            labelled = np.array([f"{name}:{value}" in labels for labels in signatures(cases.reset_index())], dtype=bool)
            rows.append(_row(name, value, hit, traffic, known[captured.to_numpy() | labelled]))
    rows.sort(key=lambda row: (row["action"] == "keep", row["action"] != "add", -row["low"], row["by"], row["value"]))
    frame = pd.DataFrame([*_whole(scored, traffic, covered), *rows], columns=list(COVERAGE.columns))
    counts = ("n_sessions", "n_cases", "n_replayable", "n_failures", "n_wins")
    return frame.astype(dict.fromkeys(counts, "Int64"))


def _known_cases(cases: pd.DataFrame) -> pd.DataFrame:
    out = cases.reset_index(drop=True)
    out = out.assign(**{name: value for name, value in (("session_id", None), ("kind", "win")) if name not in out})
    return out.assign(replayable=out["replayable"].astype(bool) if "replayable" in out else True)


def _share(hit: pd.Series[Any], traffic: pd.DataFrame) -> tuple[float, float, float]:
    if not len(hit):
        return np.nan, np.nan, np.nan
    cluster = None
    if "cluster" in traffic and traffic["cluster"].notna().any():
        codes = pd.factorize(traffic["cluster"])[0]
        cluster = np.where(codes < 0, len(codes) + np.arange(len(codes)), codes)
    found = clustered_proportion(hit.to_numpy(dtype=float), cluster)
    return float(hit.mean()), found.low, found.high


def _row(by: str, value: str, hit: pd.Series[Any], traffic: pd.DataFrame, own: pd.DataFrame) -> dict[str, Any]:
    share, low, high = _share(hit, traffic)
    n, ready = int(hit.sum()), int(own["replayable"].sum())
    action = "add" if own.empty else "keep" if ready else "attach_input"
    seen = f"{counted(n, 'session')} of {len(traffic):,} ({low:.1%} to {high:.1%} of the traffic)"
    reason = {
        "add": f"{seen}, and no case",
        "attach_input": f"{seen}, and none of {counted(len(own), 'case')} has a replay input",
        "keep": f"{seen}, {counted(ready, 'replayable case')}",
    }[action]
    return {
        "by": by, "value": value, "action": action, "reason": reason, "n_sessions": n, "share": share, "low": low,
        "high": high, "n_cases": len(own), "n_replayable": ready,
        "n_failures": int(own["kind"].eq("failure").sum()), "n_wins": int(own["kind"].ne("failure").sum()),
    }  # fmt: skip


def _whole(scored: pd.DataFrame, traffic: pd.DataFrame, covered: set[str]) -> list[dict[str, Any]]:
    """Return the rows on the traffic as a whole."""
    has = scored["signature_key"].isin(covered)
    parts = [
        ("with a replayable case", has, scored, "keep", "scored sessions whose signature has a replayable case"),
        ("without a replayable case", ~has, scored, "add", "scored sessions whose signature has none"),
        ("not scored", traffic["signature_key"].isna(), traffic, "keep", "of all sessions: their signature is unknown"),
    ]
    rows = []
    for value, hit, among, action, reason in parts:
        share, low, high = _share(hit, among)
        rows.append(
            {"by": "traffic", "value": value, "action": action if hit.any() or action == "add" else "keep",
             "reason": reason, "n_sessions": int(hit.sum()), "share": share, "low": low, "high": high}
        )  # fmt: skip
    return rows
