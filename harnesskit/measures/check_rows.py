"""The checks of a check: precision, recall, alarm rate, drift since the labels, and what a false stop costs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy import stats

from harnesskit.measures.evidence_rows import MET, UNKNOWN, UNMET, row
from harnesskit.stats.betting import betting_bands
from harnesskit.stats.drift import cusum, self_starting
from harnesskit.stats.intervals import Interval
from harnesskit.stats.proportions import clustered_proportion, newcombe, recall_by_strata, units_for_lower

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from harnesskit.measures.check_sessions import CheckedSessions
    from harnesskit.model.promotion_policy import PromotionPolicy

    Flags = NDArray[np.bool_]

CHOSEN = 0.01
"""Chance of so different shares of labels among alarmed and silent sessions, had they been drawn alike."""
FEW = 10
DRIFTED = 0.01
BASELINE = 20


@dataclass(frozen=True)
class Shadow:
    """What a check did in shadow."""

    rules: PromotionPolicy
    sessions: CheckedSessions
    metric: str | None
    cost: float | None

    def column(self, name: str) -> Flags:
        """Return a yes-or-no column."""
        return np.asarray(self.sessions.table[name].to_numpy(dtype=bool))

    def share(self, hits: Flags, among: Flags, confidence: float = 0.95) -> tuple[Interval, str]:
        """Return the interval of a share of some sessions, and how it was made; 0 to 1 without any."""
        if not among.any():
            return Interval(0.0, 1.0), "no session"
        if self.rules.mode == "open_ended":
            bands = betting_bands(hits[among].astype(float), confidence=confidence)
            return Interval(float(bands.low[-1]), float(bands.high[-1])), "betting confidence sequence"
        if not self.sessions.clustered:
            return clustered_proportion(hits[among], confidence=confidence), "Clopper-Pearson"
        cluster = self.sessions.table["cluster"].to_numpy()[among]
        return clustered_proportion(hits[among], cluster, confidence=confidence), "Clopper-Pearson, effective sessions"


def check_rows(of: Shadow) -> list[dict[str, Any]]:
    """Return every row."""
    alarm, labelled = of.column("alarm"), of.column("labelled")
    precision, recall = _precision(of), _recall(of)
    rows = [precision, recall, _alarm_rate(of), _drift(of), _false_stops(of, precision), _labels(of)]
    counts = {"n_cases": len(alarm), "n_candidate": int(labelled.sum()), "metric": of.metric}
    return [{**counts, **one} for one in rows]


def _precision(of: Shadow) -> dict[str, Any]:
    alarm, labelled, failed = (of.column(name) for name in ("alarm", "labelled", "failed"))
    among = alarm & labelled
    both, kind = of.share(failed, among)
    n, hits = int(among.sum()), int((failed & among).sum())
    wanted = units_for_lower(hits / n if n else 1.0, of.rules.min_precision)
    needed = None if wanted is None else max(1, wanted - n)
    note = f"{hits} of {n} alarms with a label were failures"
    return _held("precision", both, of.rules.min_precision, note, estimate=hits / n if n else None, kind=kind, n=n,
                 needed=needed)  # fmt: skip


def _recall(of: Shadow) -> dict[str, Any]:
    alarm, labelled, failed = (of.column(name) for name in ("alarm", "labelled", "failed"))
    among = failed & labelled
    n, hits = int(among.sum()), int((alarm & among).sum())
    rate = float(alarm.mean()) if len(alarm) else 0.0
    if _chosen(alarm, labelled) and alarm.any():
        level = 1 - (1 - 0.95) / 2
        found, _ = of.share(failed, labelled & alarm, level)
        lost, _ = of.share(failed, labelled & ~alarm, level)
        both, kind = recall_by_strata(rate, found, lost), "put together from alarmed and silent sessions"
        estimate = _by_strata(rate, alarm, labelled, failed)
        note = (
            f"{hits} of {n} labelled failures were alarmed on; labels were chosen by the alarm: each group is weighed"
        )
        note += "" if (labelled & ~alarm).any() else "; no silent session has a label"
    else:
        both, kind = of.share(alarm, among)
        estimate, note = hits / n if n else None, f"{hits} of {n} labelled failures were alarmed on"
    wanted = units_for_lower(hits / n if n else 1.0, of.rules.min_recall)
    base = n / int(labelled.sum()) if n else max(rate, 0.05)
    needed = None if wanted is None else max(1, math.ceil((max(wanted - n, 1)) / base))
    return _held("recall", both, of.rules.min_recall, note, estimate=estimate, kind=kind, n=n, needed=needed)


def _chosen(alarm: Flags, labelled: Flags) -> bool:
    """Whether alarmed sessions were labelled more or less often than silent ones."""
    if not labelled.any() or labelled.all():
        return False
    table = [[int((labelled & side).sum()), int((~labelled & side).sum())] for side in (alarm, ~alarm)]
    return bool(stats.fisher_exact(table).pvalue < CHOSEN)


def _by_strata(rate: float, alarm: Flags, labelled: Flags, failed: Flags) -> float | None:
    shares = [float(failed[labelled & side].mean()) if (labelled & side).any() else None for side in (alarm, ~alarm)]
    if shares[0] is None or shares[1] is None or rate * shares[0] + (1 - rate) * shares[1] == 0:
        return None
    return rate * shares[0] / (rate * shares[0] + (1 - rate) * shares[1])


def _held(
    check: str, both: Interval, bar: float, note: str, *, estimate: float | None, kind: str, n: int, needed: int | None
) -> dict[str, Any]:
    """Return a row of a share that must be at least `bar`."""
    state = MET if n and both.low >= bar else UNMET if n and both.high < bar else UNKNOWN
    reason = {MET: None, UNMET: f"{check}_too_low", UNKNOWN: "labels_missing"}[state]
    return row(check, state, note, estimate=estimate, low=both.low if n else None, high=both.high if n else None,
               interval_kind=kind if n else None, bar=bar, scale="share", evidence=both.low if n else None, bound=bar,
               n=n, looks=1, reason=reason, runs_needed=needed if state == UNKNOWN else None)  # fmt: skip


def _alarm_rate(of: Shadow) -> dict[str, Any]:
    alarm, answered = of.column("alarm"), of.column("answered")
    both, kind = of.share(alarm, answered)
    n, hits = int(answered.sum()), int((alarm & answered).sum())
    most = of.rules.max_alarm_rate
    state = MET if n and both.high <= most else UNMET if n and both.low > most else UNKNOWN
    reason = {MET: None, UNMET: "alarms_too_often", UNKNOWN: "insufficient_evidence"}[state]
    none = len(answered) - n
    note = f"{hits} of {n} sessions alarmed" + (f"; on {none} sessions it gave no answer" if none else "")
    wanted = units_for_lower(1 - (hits / n if n else 0.0), 1 - most)
    return row("alarm_rate", state, note, estimate=hits / n if n else None, low=both.low if n else None,
               high=both.high if n else None, interval_kind=kind if n else None, bar=most, scale="share", n=n,
               evidence=both.high if n else None, bound=most, reason=reason,
               runs_needed=max(1, wanted - n) if state == UNKNOWN and wanted else None)  # fmt: skip


def _drift(of: Shadow) -> dict[str, Any]:
    """Compare the sessions since the newest label with those up to it: the labels speak for these only."""
    alarm, answered, last = of.column("alarm"), of.column("answered"), of.sessions.last_label
    place = np.arange(len(alarm))
    before, after = answered & (place <= last), answered & (place > last)
    if last < 0 or not of.sessions.by_time or not before.any() or not after.any():
        why = "no label yet" if last < 0 else "no times are known" if not of.sessions.by_time else "no session since"
        return row("drift", MET, f"drift since the labels was not asked: {why}")
    (k0, n0), (k1, n1) = ((int((alarm & side).sum()), int(side.sum())) for side in (before, after))
    p = float(stats.fisher_exact([[k1, n1 - k1], [k0, n0 - k0]]).pvalue)
    low, high = newcombe((k1, n1), (k0, n0))
    moved = [f"the alarm rate went from {k0 / n0:.2f} to {k1 / n1:.2f}"] if p < DRIFTED else []
    value = of.sessions.table["value"].to_numpy(dtype=float)
    known, since = value[before & np.isfinite(value)], value[after & np.isfinite(value)]
    if len(known) >= BASELINE and len(since):
        z = self_starting(known, since)
        moved += [f"its scores drift {way}" for way, path in (("down", z), ("up", -z)) if cusum(path).alarm is not None]
    note = "; ".join(moved) or f"sessions since the newest label ({n1}) are like those before"
    return row("drift", UNKNOWN if moved else MET, note, estimate=k1 / n1 - k0 / n0, low=low, high=high,
               interval_kind="Newcombe", scale="share", n=n1, bar=0.0,
               reason="labels_missing" if moved else None)  # fmt: skip


def _false_stops(of: Shadow, precision: dict[str, Any]) -> dict[str, Any]:
    """Say how many sessions would be stopped for nothing, and what that costs."""
    answered = of.column("answered")
    rate = float(of.column("alarm")[answered].mean()) if answered.any() else math.nan
    if precision["estimate"] is None or math.isnan(rate):
        return row("false_stops", UNKNOWN, "not known without labels of alarms", scale="share")
    estimate, low, high = (rate * (1 - precision[name]) for name in ("estimate", "high", "low"))
    note = (
        f"{1000 * estimate:.0f} of 1000 sessions would be stopped for nothing ({1000 * low:.0f} to {1000 * high:.0f})"
    )
    if of.cost is not None:
        middle, least, most = (f"{1000 * share * of.cost:.4g}" for share in (estimate, low, high))
        note += f", at a cost of {middle} ({least} to {most})"
    return row("false_stops", UNKNOWN, note, estimate=estimate, low=low, high=high, scale="share",
               interval_kind="from the precision", n=precision["n"])  # fmt: skip


def _labels(of: Shadow) -> dict[str, Any]:
    labelled, failed = of.column("labelled"), of.column("failed")
    bad, good = int((failed & labelled).sum()), int((~failed & labelled).sum())
    said = [f"{bad + good} sessions have a label: {bad} failed, {good} did not"]
    if min(bad, good) < FEW:
        said.append(f"fewer than {FEW} of a kind: not calibrated")
    if of.sessions.disputed:
        said.append(f"left out for evenly split raters: {of.sessions.disputed}")
    if of.sessions.unknown:
        said.append(f"labels of sessions that it never saw: {of.sessions.unknown}")
    silent = int((labelled & failed & ~of.column("answered")).sum())
    if silent:
        said.append(f"{silent} failures without an answer count as not found")
    return row("labels", UNKNOWN, "; ".join(said), n=bad + good, estimate=float(pd.Series(labelled).mean() or 0.0))
