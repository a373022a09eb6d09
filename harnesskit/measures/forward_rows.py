"""The checks of a forward trial, one row each: a fair draw, benefit, futility, harm, guardrails, missing scores."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from harnesskit.measures.breach_rates import breach_rows
from harnesskit.measures.evidence_rows import MET, UNKNOWN, UNMET, row
from harnesskit.measures.trial_evidence import Units, pair_units, path_of, units_of
from harnesskit.stats.benefit import further_replays
from harnesskit.stats.eprocess import bets, shift_interval
from harnesskit.stats.forward import TrialPath, guard_path
from harnesskit.stats.sequential import repeated_interval
from harnesskit.stats.trial_pairs import BLOCK

if TYPE_CHECKING:
    from harnesskit.measures.trial_history import Expected
    from harnesskit.measures.trial_units import Sessions
    from harnesskit.model.metrics import Metric
    from harnesskit.model.promotion_policy import PromotionPolicy
    from harnesskit.stats.trial_pairs import Pairs

OBSERVED = "observational: nothing was drawn at random, so a drift of the calendar looks like an effect; it may retire"
GUARD_LEVEL = 0.01
SUSPICIOUS = 0.01
"""Chance of so uneven a draw below which it is not taken for one."""
FEW_PROMISED = 40


@dataclass(frozen=True)
class Trial:
    """A forward trial, weighed."""

    rules: PromotionPolicy
    sessions: Sessions
    target: Metric
    others: dict[str, Metric]
    known: dict[str, Expected]
    doubts: dict[str, str | None]
    units: Units
    pairs: Pairs
    path: TrialPath | None
    observational: bool
    by_stratum: bool

    @property
    def open_ended(self) -> bool:
        """Whether the evidence is an e-process."""
        return self.rules.mode == "open_ended"


def checks(trial: Trial) -> list[dict[str, Any]]:
    """Return every row."""
    counts = {
        "n_control": int((trial.units.scored & ~trial.units.treated).sum()),
        "n_candidate": int((trial.units.scored & trial.units.treated).sum()),
        "n_cases": len(trial.units.table),
    }
    return [
        _randomised(trial) | counts,
        *_target(trial, _held(trial)),
        *(_guardrail(trial, name) for name in sorted(trial.others)),
        *breach_rows(trial.units, trial.target),
        _assignment(trial) | counts,
    ]


def _randomised(trial: Trial) -> dict[str, Any]:
    """Say whether the arms look drawn: neither mostly one of them, nor one before the other."""
    treated = trial.units.treated
    n, with_rule = len(treated), int(treated.sum())
    if trial.observational:
        return row("randomised", UNKNOWN, f"{OBSERVED}, never promote", reason="insufficient_evidence", n=n)
    doubt = ""
    if n and stats.binomtest(with_rule, n).pvalue < SUSPICIOUS:
        doubt = f"{with_rule} of {n} units have the rule: too uneven for a fair draw"
    elif 0 < with_rule < n:
        place = np.arange(n)
        test = stats.mannwhitneyu(place[treated], place[~treated])
        if float(test.pvalue) < SUSPICIOUS:
            doubt = "the units with the rule came earlier or later than those without: no fair draw"
    if doubt:
        return row("randomised", UNKNOWN, f"{doubt}; {OBSERVED}, never promote", reason="insufficient_evidence", n=n)
    return row("randomised", MET, f"{with_rule} of {n} units had the rule", n=n)


def _target(trial: Trial, held: str | None) -> list[dict[str, Any]]:
    """Return the rows of the target; `held` is the verdict with missing scores at their worst, if that was asked."""
    path, rules = trial.path, trial.rules
    if path is None:
        note = str(trial.doubts[trial.target.name])
        return [row("benefit", UNKNOWN, note, reason="missing_data", metric=trial.target.name)]
    last = path.last
    seen = _standing(trial, last)
    needed = _sessions_needed(trial)
    at = (lambda values: float(values[last])) if last >= 0 else (lambda values: None)
    good, bad = path.verdict == "promote", path.verdict == "retire"
    lost = held is not None and held != path.verdict
    note = _after(trial)
    harm = last >= 0 and bool((path.harm[: last + 1] >= path.harm_bound[: last + 1]).any())
    benefit = row(
        "benefit", MET if good else UNKNOWN, note, evidence=at(path.promote), bound=at(path.promote_bound),
        bar=0.0, reason=None if good else "insufficient_evidence", runs_needed=None if good or bad else needed, **seen,
    )  # fmt: skip
    futility = row(
        "futility", UNKNOWN if bad and lost else UNMET if bad else MET,
        f"an effect of {rules.worthwhile:g} or more is {'ruled out' if bad else 'not ruled out'}"
        + ("; this rests on an effect that only shifts scores" if bad and trial.open_ended else ""),
        evidence=at(path.retire), bound=at(path.retire_bound), bar=rules.worthwhile,
        reason=("missing_data" if lost else "no_worthwhile_effect") if bad else None, **seen,
    )  # fmt: skip
    harmful = row(
        "harmful_effect", UNMET if harm and not lost else MET, "", evidence=at(path.harm), bound=at(path.harm_bound),
        bar=0.0, reason="harmful_effect" if harm and not lost else None, **seen,
    )  # fmt: skip
    return [benefit, futility, harmful, _missing(trial, held)]


def _standing(trial: Trial, last: int) -> dict[str, Any]:
    """Return what benefit, futility and harm have in common at a look: estimate, interval, counts, scale."""
    path = trial.path
    assert path is not None
    facts: dict[str, Any] = {
        "metric": trial.target.name, "scale": "e" if trial.open_ended else "z", "looks": last + 1,
        "n": 2 * (last + 1) if trial.open_ended else None,
    }  # fmt: skip
    if last < 0:
        return facts | {"n_control": 0, "n_candidate": 0, "n_cases": 0, "n": 0}
    n1, n0 = int(path.n_treated[last]), int(path.n_control[last])
    facts |= {"estimate": float(path.estimate[last]), "n_candidate": n1, "n_control": n0, "n": n1 + n0,
              "n_cases": n1 + n0}  # fmt: skip
    if trial.open_ended:
        d = (trial.units.value[trial.pairs.treated] - trial.units.value[trial.pairs.control])[: last + 1]
        low, high = shift_interval(d, bets(2**0.5 * trial.known[trial.target.name].sd))
        kind = "confidence sequence of the shift, valid at every look"
    else:
        z = path.promote[last]
        se = abs(float(path.estimate[last] / z)) if z else math.nan
        info = np.arange(path.first_pair + 1, path.first_pair + 2 + last)
        planned = max(trial.rules.budget // 2, 1)
        both = repeated_interval(float(path.estimate[last]), se, look=last + 1, info=info, planned=float(planned))
        low, high, kind = both.low, both.high, "repeated confidence interval"
    ends = {"low": low if np.isfinite(low) else None, "high": high if np.isfinite(high) else None}
    return facts | ends | {"interval_kind": kind if ends["low"] is not None or ends["high"] is not None else None}


def _held(trial: Trial) -> str | None:
    """Return the verdict with the missing scores at their worst; None where too few are missing to ask."""
    path, table = trial.path, trial.units.table
    if path is None or not path.verdict:
        return None
    share, gap = _missing_shares(trial)
    if share <= trial.rules.max_missing and gap <= trial.rules.max_missing_gap:
        return None
    ends = _ends(trial.target)
    if ends is None:
        return ""
    worst = ends[::-1] if path.verdict == "promote" else ends
    filled = units_of(trial.sessions, trial.target.name, trial.known[trial.target.name], fill=worst)
    assert len(filled.table) == len(table)
    pairs = pair_units(filled, trial.sessions, by_stratum=trial.by_stratum)
    return path_of(filled, pairs, trial.known[trial.target.name], trial.rules).verdict


def _ends(metric: Metric) -> tuple[float, float] | None:
    """Return the worst and the best score on the common scale; None for an open range."""
    if metric.low is None or metric.high is None or metric.unit is None:
        return None
    sign = -1.0 if metric.higher_is_better is False else 1.0
    low, high = sorted((sign * metric.low / metric.unit, sign * metric.high / metric.unit))
    return low, high


def _missing_shares(trial: Trial) -> tuple[float, float]:
    table = trial.units.table
    sizes = table.groupby("treated")[["n_sessions", "n_unscored"]].sum()
    share = (sizes["n_unscored"] / sizes["n_sessions"]).to_dict()
    total = int(table["n_sessions"].sum())
    overall = int(table["n_unscored"].sum()) / total if total else 0.0
    return overall, abs(share.get(True, 0.0) - share.get(False, 0.0))


def _missing(trial: Trial, held: str | None) -> dict[str, Any]:
    table, treated = trial.units.table, trial.units.treated
    n = table["n_sessions"].to_numpy(dtype=int)
    lost = table["n_unscored"].to_numpy(dtype=int)
    words = (
        f"no score in {int(lost[treated].sum())} of {int(n[treated].sum())} sessions with the rule and "
        f"{int(lost[~treated].sum())} of {int(n[~treated].sum())} without; they count as neither healthy nor breached"
        if lost.any()
        else ""
    )
    overall, _ = _missing_shares(trial)
    facts = {"metric": trial.target.name, "estimate": overall, "bar": trial.rules.max_missing, "scale": "share",
             "n": int(n.sum())}  # fmt: skip
    verdict = trial.path.verdict if trial.path is not None else ""
    if held is None:
        return row("missing_data", MET, words, **facts)
    if held == verdict:
        return row("missing_data", MET, f"{words}; the verdict holds with them at their worst", **facts)
    note = f"{words}; with them at their worst the verdict would not be {verdict}"
    return row("missing_data", UNKNOWN, note, reason="missing_data", **facts)


def _guardrail(trial: Trial, name: str) -> dict[str, Any]:
    """Return whether a metric that must not get worse did; over every session there is, decided or not."""
    if trial.doubts[name]:
        return row(f"guardrail {name}", MET, f"not guarded: {trial.doubts[name]}", metric=name)
    units = units_of(trial.sessions, name, trial.known[name])
    pairs = pair_units(units, trial.sessions, by_stratum=trial.by_stratum)
    d = units.value[pairs.treated] - units.value[pairs.control]
    path = guard_path(d, sd=2**0.5 * trial.known[name].sd, alpha=GUARD_LEVEL)
    harm = path.crossed is not None
    last = len(d) - 1 if path.crossed is None else path.crossed
    facts = {
        "metric": name, "scale": "e", "bound": 1 / GUARD_LEVEL, "looks": last + 1, "n": 2 * (last + 1),
        "n_candidate": last + 1, "n_control": last + 1, "n_cases": 2 * (last + 1), "bar": 0.0,
        "evidence": float(path.e[last]) if last >= 0 else 1.0,
        "estimate": float(d[: last + 1].mean()) if last >= 0 else None,
    }  # fmt: skip
    note = "" if last >= 0 else "not guarded yet: no pair has a score of it"
    return row(f"guardrail {name}", UNMET if harm else MET, note, reason="harm" if harm else None, **facts)


def _assignment(trial: Trial) -> dict[str, Any]:
    """Say how the evidence was put together."""
    known, pairs = trial.known[trial.target.name], trial.pairs
    said = [
        f"{len(pairs.treated)} pairs"
        + (f", {pairs.unpaired} scored units without a partner" if pairs.unpaired else ""),
        f"standard deviation of a session {known.sd:.3f} ({known.source})",
    ]
    if pairs.blocks >= BLOCK:
        said.append(f"{pairs.blocks - pairs.blocks % BLOCK} units in balanced blocks of four")
    if trial.by_stratum:
        said.append("pairs inside strata")
    if known.n:
        what = [f"{len(known.strata)} strata"] * (len(known.strata) > 1) + [f"{len(known.clusters)} clusters"] * bool(
            known.clusters
        )
        said.append(f"expected from {known.n} units before the trial" + (f": {', '.join(what)}" if what else ""))
    if not trial.sessions.by_time:
        said.append("in the order of the rows: not every session has a time")
    outside = int(trial.sessions.table["treated"].isna().sum())
    if outside:
        said.append(f"{outside} sessions without an arm left out")
    again = int((trial.units.table["n_sessions"] > 1).sum())
    if again:
        said.append(f"{again} units have several sessions: their mean counts, as it is now")
    if not trial.open_ended and trial.rules.budget < FEW_PROMISED:
        said.append(f"fewer than {FEW_PROMISED} units promised: the error is above its level (.064 with 20)")
    return row("assignment", UNKNOWN, "; ".join(said), metric=trial.target.name)


def _after(trial: Trial) -> str:
    """Return how many units came after the decision."""
    path = trial.path
    if path is None or path.decided is None:
        return ""
    later = len(trial.units.table) - 1 - int(trial.pairs.closed[path.first_pair + path.decided])
    return f"decided at look {path.decided + 1}; {later} later units change nothing" if later else ""


def _sessions_needed(trial: Trial) -> int:
    """Return about how many further sessions settle an effect of the worthwhile size (METHODS 9)."""
    used = int(trial.units.scored.sum())
    if not trial.open_ended:
        return max(trial.rules.budget - used, 0)
    sd = trial.known[trial.target.name].sd
    rate = float(trial.units.table["n_sessions"].sum()) / max(used, 1)
    left = further_replays(sd**2, worthwhile=trial.rules.worthwhile, spent=used, alpha=trial.rules.alpha)
    return max(2, math.ceil(left * rate))
