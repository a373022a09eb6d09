"""The checks of a case that may become, or is, a protected win."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from harnesskit.measures.evidence_rows import MET, UNKNOWN, UNMET, row
from harnesskit.measures.near_duplicates import near_duplicates, signatures
from harnesskit.model.errors import listed
from harnesskit.stats.beta_pass import pass_chance, passes_needed, predictive_pass
from harnesskit.stats.intervals import clopper_pearson
from harnesskit.stats.passk import pass_at_k, pass_hat_k

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harnesskit.measures.win_runs import Bars, WinRuns
    from harnesskit.model.metrics import Metrics
    from harnesskit.model.promotion_policy import PromotionPolicy

HOPELESS = 0.20
"""Chance of the pass rate asked for at which a case is rejected."""
BANK = 5
NOISE, NOISE_DF = 0.10, 3.0
TOGETHER = 3


@dataclass(frozen=True)
class Standing:
    """Everything the checks of a case are made from."""

    rules: PromotionPolicy
    runs: WinRuns
    bars: Bars
    known: Metrics
    prior: tuple[float, float]
    prior_cases: int
    noise: pd.DataFrame | None
    cases: pd.DataFrame | None
    protected: bool
    stale_before: pd.Timestamp | None
    stale_days: int

    @property
    def n(self) -> int:
        """Fresh runs."""
        return len(self.runs.passed)

    @property
    def passes(self) -> int:
        """Fresh runs that passed."""
        return int(self.runs.passed.sum())

    def chance(self, passes: int) -> float:
        """Return the chance of the pass rate asked for, had this many runs passed."""
        return pass_chance(passes, self.n - passes, bar=self.rules.pass_bar, prior=self.prior)


def win_checks(of: Standing) -> list[dict[str, Any]]:
    """Return every row."""
    counts = {"n": of.n, "n_candidate": of.n, "n_cases": 1}
    rows = [_fresh(of), _pass_rate(of), _predicted(of), _missing(of), *_each_metric(of), *_together(of)]
    rows += [_stale(of)] if of.protected else []
    rows += [_bank(of), *_among(of)]
    return [{**counts, **one} for one in rows]


def _fresh(of: Standing) -> dict[str, Any]:
    out = ", ".join(f"{n} {why}" for why, n in of.runs.left_out.items())
    note = f"left out: {out}" if out else ""
    if of.runs.fingerprint is None:
        note = "; ".join([*([note] if note else []), "no fingerprint: runs of other versions cannot be told apart"])
    if of.n == 0 and of.runs.left_out.get("of another fingerprint"):
        return row("fresh_runs", UNKNOWN, note, reason="fingerprint_mismatch", runs_needed=_needed(of))
    return row("fresh_runs", MET, note, estimate=float(of.n))


def _pass_rate(of: Standing) -> dict[str, Any]:
    rules, n, passes = of.rules, of.n, of.passes
    chance = of.chance(passes)
    both = clopper_pearson(passes, n) if n else None
    needed = _needed(of)
    reason: str | None
    state, reason, note = UNKNOWN, "insufficient_evidence", f"{passes} of {n} fresh runs passed"
    if n >= rules.min_passes and chance >= rules.pass_chance:
        state, reason = MET, None
    elif n >= rules.min_passes and chance <= HOPELESS:
        state, reason = UNMET, "demoted" if of.protected else "reject"
    elif not of.protected and n >= rules.min_passes and (needed is None or n + needed > rules.max_passes):
        state, reason = UNMET, "reject"
        note += f"; {rules.max_passes} runs can no longer show a pass rate of {rules.pass_bar:g}"
    if state == UNMET and _excused(of):
        state, reason = UNKNOWN, "missing_data"
    if of.prior_cases:
        a, b = of.prior
        note += f"; prior Beta({a:.2g}, {b:.2g}) from {of.prior_cases} wins"
    return row(
        "pass_rate", state, note, estimate=passes / n if n else None, low=both.low if both else None,
        high=both.high if both else None, interval_kind="Clopper-Pearson" if both else None, bar=rules.pass_bar,
        scale="chance", evidence=chance, bound=rules.pass_chance, looks=n, reason=reason,
        runs_needed=None if state != UNKNOWN else needed,
    )  # fmt: skip


def _needed(of: Standing) -> int | None:
    """Return the passes in a row still needed, at least up to the fewest runs that decide."""
    fails = of.n - of.passes
    more = passes_needed(of.passes, fails, bar=of.rules.pass_bar, chance=of.rules.pass_chance, prior=of.prior)
    return None if more is None else max(more, of.rules.min_passes - of.n)


def _excused(of: Standing) -> bool:
    """Whether a rejection rests on scores that are missing: it would not stand had these runs passed."""
    lost = int(of.runs.missing.sum())
    if not of.n or lost / of.n <= of.rules.max_missing:
        return False
    passes = of.passes + lost
    if of.chance(passes) <= HOPELESS:
        return False
    more = passes_needed(passes, of.n - passes, bar=of.rules.pass_bar, chance=of.rules.pass_chance, prior=of.prior)
    return of.protected or (more is not None and of.n + more <= of.rules.max_passes)


def _predicted(of: Standing) -> dict[str, Any]:
    """Return the forecast of the next run on the worst metric; it makes a case provisional, never a win."""
    found = []
    for name, bar in of.bars.bar.items():
        x = of.bars.sign[name] * of.runs.scores[name].dropna().to_numpy(dtype=float)
        unit = float(of.known[name].unit or 1.0)
        sd, df = _noise_of(of.noise, name, unit)
        if len(x):
            found.append((predictive_pass(x, threshold=bar, prior_sd=sd, prior_df=df).p, name, len(x)))
        elif name in of.bars.required:
            found.append((0.0, name, 0))
    worst = min(found, default=(0.0, None, 0))
    sure = of.n >= of.rules.min_passes and of.passes == of.n and worst[0] >= of.rules.pass_chance
    note = "chance that the next run reaches the threshold of the worst metric; blind to runs that collapse"
    return row("predicted_pass", MET if sure else UNKNOWN, note, metric=worst[1], estimate=worst[0], scale="chance",
               evidence=worst[0], bound=of.rules.pass_chance, bar=of.rules.pass_chance)  # fmt: skip


def _noise_of(noise: pd.DataFrame | None, metric: str, unit: float) -> tuple[float, float]:
    if noise is not None and "metric" in noise:
        found = noise[noise["metric"] == metric]
        if len(found) and pd.notna(found["sd"].iloc[0]):
            df = float(found["prior_df"].iloc[0]) if "prior_df" in found else NOISE_DF
            return float(found["sd"].iloc[0]), df if np.isfinite(df) and df > 0 else NOISE_DF
    return NOISE * unit, NOISE_DF


def _missing(of: Standing) -> dict[str, Any]:
    lost = int(of.runs.missing.sum())
    share = lost / of.n if of.n else 0.0
    facts = {"estimate": share, "bar": of.rules.max_missing, "scale": "share"}
    note = f"{lost} of {of.n} runs lack a score that they need: no pass" if lost else ""
    return row("missing_data", UNKNOWN if _excused(of) else MET, note, **facts)


def _each_metric(of: Standing) -> Iterator[dict[str, Any]]:
    for name, bar in sorted(of.bars.bar.items()):
        x = of.bars.sign[name] * of.runs.scores[name].dropna().to_numpy(dtype=float)
        k, n = int((x >= bar - 1e-9).sum()), len(x)
        both = clopper_pearson(k, n) if n else None
        needed = "" if name in of.bars.required else "; counts where it was graded"
        yield row(
            f"passes {name}", UNKNOWN, f"{k} of {n} scores reach {of.bars.sign[name] * bar:g}{needed}", metric=name,
            estimate=k / n if n else None, low=both.low if both else None, high=both.high if both else None,
            interval_kind="Clopper-Pearson" if both else None, scale="share", n=n,
        )  # fmt: skip


def _together(of: Standing) -> Iterator[dict[str, Any]]:
    k = min(TOGETHER, of.n)
    if k:
        for check, found, word in (("pass_at_k", pass_at_k, "at least one"), ("pass_hat_k", pass_hat_k, "all")):
            value = float(found(of.n, of.passes, k))
            yield row(check, UNKNOWN, f"chance that {word} of {k} runs pass", estimate=value, scale="chance")


def _stale(of: Standing) -> dict[str, Any]:
    newest = of.runs.newest
    if of.n == 0:
        return row(
            "stale", UNKNOWN, "no run of this fingerprint", reason="stale_control", runs_needed=of.rules.min_passes
        )
    if of.stale_before is not None and pd.notna(newest) and newest < of.stale_before:
        note = f"the newest run is of {newest:%Y-%m-%d}: older than {of.stale_days} days"
        return row("stale", UNKNOWN, note, reason="stale_control", runs_needed=of.rules.min_passes)
    return row("stale", MET, f"newest run {newest:%Y-%m-%d}" if pd.notna(newest) else "")


def _bank(of: Standing) -> dict[str, Any]:
    note = f"{of.n} runs stand as its control bank" + (f"; {BANK} are wanted" if of.n < BANK else "")
    return row("control_bank", UNKNOWN, note, estimate=float(of.n), bar=float(BANK))


def _among(of: Standing) -> Iterator[dict[str, Any]]:
    """Return near-duplicates and what the case covers among the wins there are."""
    cases, own = of.cases, of.runs.case_id
    if cases is None or own not in set(cases["case_id"].astype(str)):
        return
    again = near_duplicates(cases, own)
    named = listed([f"{one.case_id} ({one.why})" for one in again.itertuples(index=False)])
    yield row("near_duplicates", UNKNOWN, named or "no case like it", estimate=float(len(again)), n=len(cases) - 1)
    labels = signatures(cases)
    ids, kinds = cases["case_id"].astype(str).tolist(), cases["kind"].tolist() if "kind" in cases else []
    mine = set(labels[ids.index(own)])
    others = [set(s) for i, k, s in zip(ids, kinds, labels, strict=False) if k == "win" and i != own]
    shared = sum(bool(mine & one) for one in others)
    new = sorted(mine - set().union(*others)) if others else sorted(mine)
    told = f"{shared} of {len(others)} wins share a label with it"
    yield row("coverage", UNKNOWN, told + (f"; only it covers {listed(new)}" if new else ""), estimate=float(shared),
              n=len(others))  # fmt: skip
