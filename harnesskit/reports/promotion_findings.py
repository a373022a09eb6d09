"""What the evidence about a guard says, in sentences: its effect, the wins, the charts, and what would overturn it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from harnesskit.model.decision import Decision
from harnesskit.model.text import counted, shorten, visible
from harnesskit.reports.cells import cell, missing, number
from harnesskit.reports.promotion_words import more_of

_Rows = Mapping[str, Mapping[str, Any]]


def is_forward(rows: _Rows) -> bool:
    """Whether the evidence comes from live sessions."""
    return "randomised" in rows


_KINDS = {
    "case": "Runs of it that fail: from now on every regression run replays it.",
    "check": "Labels to come that say otherwise of the sessions it stops, or of those it lets pass.",
}
"""What would overturn a promotion that is not of a rule."""


def overturn_words(decision: Decision, rows: _Rows, frozen: Mapping[str, Any], wins: pd.DataFrame | None) -> list[str]:
    """Return what would overturn the verdict, in sentences."""
    left = len(frozen.get("held_out", ()))
    elsewhere = f"{counted(left, 'further failing case')} of the same kind, not replayed here, showing otherwise."
    fresh = "Another agent, prompt, model, tool, judge or text of the guard: the evidence is about these only."
    if decision.verdict == "pending":
        return _open(decision, rows)
    if decision.verdict == "promote":
        seen = 0 if wins is None or wins.empty else int((~wins["replayed"].fillna(False).astype(bool)).sum())
        unseen = f" ({counted(seen, 'win')} not replayed in this trial)" if seen else ""
        said = [
            _KINDS.get(str(decision.guard_kind))
            or "A protected win that turns out to be harmed: the regression run of the new active set, due after "
            f"promoting, looks for it{unseen}.",
            _if_true_effect(rows.get("benefit", {}), replayed=not is_forward(rows)),
            elsewhere if left else "",
        ]
        return [one for one in (*said, fresh) if one]
    if decision.reason == "harm":
        worst = "" if wins is None or wins.empty else f" ({_name(wins.iloc[0]['case_id'])})"
        return [
            (
                f"Another cause of the drop of the wins that decided{worst}: replay them without the guard; if "
                "they are as "
                "low now, the control bank is stale, not the guard harmful."
            ),
            "A changed text: it is a new guard, tried anew with an error budget of its own.",
        ]
    return [
        *([elsewhere] if left else []),
        "A new trial of the same text, with fresh replays and half the chance of promoting a useless guard.",
        "A changed text: it is a new guard, tried anew with an error budget of its own.",
    ]


def _open(decision: Decision, rows: _Rows) -> list[str]:
    said = []
    if decision.runs_needed is not None:
        said.append(f"Nothing is decided. About {counted(decision.runs_needed, more_of(decision))} would settle it.")
    waiting = rows.get("harm", {})
    more = waiting.get("runs_needed")
    if decision.reason == "insufficient_evidence" and not missing(more):
        said.append(
            f"If a benefit is shown, the protected wins take about {counted(int(float(more or 0)), 'replay')} more."
        )
    return said or ["Nothing is decided; the reasons above say what is missing."]


def _if_true_effect(benefit: Mapping[str, Any], *, replayed: bool) -> str:
    if missing(benefit.get("low")) or missing(benefit.get("estimate")):
        return ""
    low, estimate = (number(float(benefit[name]), signed=True) for name in ("low", "estimate"))
    chosen = f": the estimate of {estimate} comes from cases that were chosen for having failed" if replayed else ""
    return f"A true effect below {low}, the lower end of its interval{chosen}."


def effect_words(rows: _Rows, decision: Decision, effects: pd.DataFrame | None, frozen: Mapping[str, Any]) -> list[str]:
    """Return the effect on the failing cases with its interval, where the evidence stands, and the looks so far."""
    row = rows.get("benefit", {})
    if missing(row.get("estimate")):
        return ["No change of a failing case could be measured."]
    interval = cell(row.get("low"), "interval", high=row.get("high")).text
    kind = "" if missing(row.get("interval_kind")) else f"; {row['interval_kind']}"
    unit = "session" if is_forward(rows) else "failing case"
    said = [
        (
            f"Mean change of {counted(int(float(row.get('n_cases') or 0)), unit)} in {_name(row.get('metric'))}: "
            f"{number(float(row['estimate']), signed=True)} ({interval}{kind}), positive is better."
        )
    ]
    looks = "" if missing(row.get("looks")) else f" after {counted(int(float(row['looks'])), 'look')}"
    for check, what in (("benefit", "for a benefit"), ("futility", "against an effect worth having")):
        one = rows.get(check, {})
        if not missing(one.get("evidence")) and not missing(one.get("bound")):
            scale = "E-value" if one.get("scale") == "e" else "z"
            said.append(
                f"Evidence {what}{looks}: {scale} {float(one['evidence']):.3g}, boundary {float(one['bound']):.3g}."
            )
    if (
        decision.reason == "futility"
        and not missing(row.get("high"))
        and float(row["high"]) > float(rows["futility"]["bar"])
    ):
        said.append(
            f"The interval reaches beyond {float(rows['futility']['bar']):g} because it is two-sided at 95 % "
            "and allows for "
            "all looks; the rule of futility may be wrong about such an effect once in "
            f"{_once(decision.policy)} trials."
        )
    return said + _sources(effects, frozen)


def _sources(effects: pd.DataFrame | None, frozen: Mapping[str, Any]) -> list[str]:
    """Return whether the effect is seen beyond the cases that the guard was written for."""
    if effects is None or effects.empty:
        return []
    said = []
    for role, words in (("gave rise to it", "that gave rise to the guard"), ("other", "of other sessions")):
        part = effects.loc[(effects["role"] == role).to_numpy(dtype=bool), "delta"].dropna()
        if len(part):
            said.append(f"{counted(len(part), 'case')} {words}: {number(float(part.mean()), signed=True)}")
    told = [f"Apart: {'; '.join(said)}."] if said else []
    sessions = effects["session_id"].nunique() if "session_id" in effects else None
    families = effects["signature"].astype(str).nunique() if "signature" in effects else None
    if sessions and families:
        more = len(frozen.get("held_out", ()))
        held = (
            f"; {counted(more, 'further case')} of this kind {'was' if more == 1 else 'were'} not replayed"
            if more
            else ""
        )
        told.append(
            f"The cases come from {counted(int(sessions), 'session')} in {families} "
            f"{'family' if families == 1 else 'families'} (same labels){held}."
        )
    return told


def guard_words(rows: _Rows, decision: Decision) -> list[str]:
    """Return what was seen of protected wins, and what could not be seen."""
    said: list[str] = []
    if decision.verdict == "retire" and missing(rows.get("non_inferiority", {}).get("estimate")):
        return ["They were not looked at: the guard was retired on its failing cases."] if "harm" in rows else said
    coverage, mean, harm, blind = (rows.get(c, {}) for c in ("guard_coverage", "non_inferiority", "harm", "blind_spot"))
    if not missing(coverage.get("note")):
        said.append(f"{_first_up(str(coverage['note']))}.")
    if not missing(mean.get("estimate")):
        low = (
            ""
            if missing(mean.get("low"))
            else f", at least {number(float(mean['low']), signed=True)} ({mean['interval_kind']})"
        )
        said.append(f"Mean change over wins and metrics: {number(float(mean['estimate']), signed=True)}{low}.")
    if not missing(harm.get("evidence")) and not missing(mean.get("estimate")):
        bound = "" if missing(harm.get("bound")) else f"; {float(harm['bound']):g} retires"
        said.append(f"Evidence that some win is harmed: {float(harm['evidence']):.3g} to 1{bound}.")
    if not missing(blind.get("note")):
        said.append(f"Blind spot: {blind['note']}.")
    return said


def compliance_finding(rows: pd.DataFrame) -> str:
    """Return what the chart of compliance shows, in a sentence."""
    by = {str(row["check"]): row for row in rows.to_dict("records")}
    said = [
        f"{words} {number(float(by[check]['estimate']), signed=True)} "
        f"({cell(by[check]['low'], 'interval', high=by[check]['high']).text})"
        for check, words in (("benefit", "All replays"), ("effect_when_read", "where it was read"))
        if check in by and not missing(by[check]["estimate"])
    ]
    share = by.get("compliance", {}).get("estimate")
    read = "" if missing(share) else f" It was read in {100 * float(share or 0):.0f} % of the replays."
    return f"{'; '.join(said)}.{read} Whether it is read is not drawn at random, so the first one decides."


def trials_finding(trials: pd.DataFrame) -> str:
    """Return what the chart of all runs shows, in a sentence."""
    counts = trials.groupby("side")["value"].count()
    return (
        f"{counted(trials['case_id'].nunique(), 'failing case')}: {int(counts.get('baseline', 0))} scored runs "
        "without the "
        f"guard, {int(counts.get('candidate', 0))} with it."
    )


def _first_up(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _once(policy: Mapping[str, Any]) -> str:
    beta = policy.get("beta")
    return f"{1 / float(beta):.0f}" if beta else "ten"


def path_finding(path: pd.DataFrame, unit: str = "replay") -> str:
    """Return what the chart of the evidence shows, in a sentence."""
    said = []
    for check, rows in path.groupby("check", sort=False):
        last = rows.iloc[-1]
        beyond = "at or beyond" if float(last["evidence"]) >= float(last["bound"]) else "below"
        said.append(
            f"{check}: {float(last['evidence']):.3g} after {counted(int(last['replays']), unit)}, {beyond} "
            "the boundary "
            f"of {float(last['bound']):.3g}"
        )
    return "Evidence at the last look. " + "; ".join(said) + "."


def wins_finding(wins: pd.DataFrame) -> str:
    """Return what the forest of wins shows, in a sentence; `wins` has the most harmed first."""
    replayed = wins[wins["replayed"].fillna(False).to_numpy(dtype=bool)]
    if replayed.empty:
        return f"None of {counted(len(wins), 'win')} was replayed."
    first = replayed.iloc[0]
    return (
        f"{len(replayed)} of {counted(len(wins), 'win')} replayed. First row: {_name(first['case_id'])}, change "
        f"{number(float(first['delta']), signed=True)}, likelihood ratio of harm {float(first['harm']):.3g}."
    )


def _name(value: object) -> str:
    return shorten(visible(value if isinstance(value, str) else cell(value).text), 60) or "(not given)"
