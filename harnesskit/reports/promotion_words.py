"""Sentences of a promotion report: the policy, what would overturn the verdict, how many useless guards to expect."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
from pydantic import ValidationError

from harnesskit.model.decision import Decision
from harnesskit.model.promotion_policy import PromotionPolicy
from harnesskit.model.text import counted, shorten, visible
from harnesskit.reports.cells import cell, missing, utc

POWER = 0.8
"""Chance that a guard that does help is promoted, as assumed for the share of useless ones."""
_FORWARD = (
    (
        "Live sessions see the rule or not at random, by user or other cluster, in balanced blocks; the evidence is "
        "looked at after each, and is valid at every look."
    ),
    "Sessions without a score are counted, and are not healthy ones.",
)
SIGNED = ("signed", "overdue")


def policy_words(policy: Mapping[str, Any], kind: str | None) -> list[str]:
    """Return the policy of a guard in sentences with its numbers."""
    try:
        known = PromotionPolicy.model_validate(dict(policy))
    except ValidationError:
        return ["The decision was made under a policy of its own; its fields are in the table."]
    if kind == "case":
        return [
            (
                f"A case becomes a protected win when the chance that it passes at least {known.pass_bar:.0%} "
                "of its runs "
                f"is {known.pass_chance:.0%} or more, on {known.min_passes} to {known.max_passes} fresh runs."
            )
        ]
    if kind == "check":
        return [
            (
                f"A check may enforce when at least {known.min_precision:.0%} of its alarms are true and it "
                "finds at least "
                f"{known.min_recall:.0%} of the failures, both held against the ends of their intervals, and "
                "it stops at "
                f"most {known.max_alarm_rate:.0%} of the sessions."
            )
        ]
    if kind == "forward":
        return [*_FORWARD, *_benefit_words(known)[1:]]
    return [*_benefit_words(known), *_guard_words(known)]


def _benefit_words(known: PromotionPolicy) -> list[str]:
    budget = (
        f"At most {counted(known.budget, 'replay')} are made, one at a time, each where it tells most; the evidence is "
        "looked at after each, against boundaries that allow for all looks."
        if known.mode == "budgeted"
        else "Replays are made until the evidence decides; it may be looked at after each, on any day "
        f"(at most {counted(known.budget, 'replay')})."
    )
    return [
        budget,
        (
            f"A rule that does nothing is promoted with a chance of at most {known.alpha:g}; the mean "
            "improvement must also "
            f"be {known.min_effect:g} or more on the 0-to-1 scale."
        ),
        (
            f"A rule that improves its failing cases by {known.worthwhile:g} is retired with a chance of at most "
            f"{known.beta:g}."
        ),
    ]


def _guard_words(known: PromotionPolicy) -> list[str]:
    blind = "Wins that were not replayed only label a promotion."
    if known.max_blind_spot < 1:
        blind = (
            f"If one win in {1 / known.harmed_share:.0f} were harmed, the chance that none of the harmed ones was "
            f"replayed must be {known.max_blind_spot:g} or less."
        )
    return [
        (
            f"Protected wins are replayed once the benefit is shown. Evidence of harm of {known.harm_bar:g} to 1 "
            f"retires the rule; to promote, a mean drop of {known.ni_margin:g} over the wins must be ruled out "
            f"({known.ni_level:.0%}, one-sided), on at least {counted(known.min_guard_wins, 'win')}."
        ),
        blind,
        "All replays count, whether the rule was read in them or not; what was not scored is never a score.",
    ]


def policy_table(policy: Mapping[str, Any]) -> pd.DataFrame:
    """Return one row per field of the policy: its value and what it means."""
    fields = PromotionPolicy.model_fields
    rows = [
        (key, "not set" if value is None else cell(value).text, fields[key].description if key in fields else None)
        for key, value in policy.items()
    ]
    return pd.DataFrame(rows, columns=["field", "value", "meaning"], dtype=object)


def more_of(decision: Decision) -> str:
    """Return what more is needed of, as one of them."""
    return {"check": "more label", "case": "more run"}.get(decision.guard_kind or "rule", "more replay")


def status_words(reviews: pd.DataFrame | None, evidence_hash: str) -> str:
    """Return how the page stands: a draft, signed, or superseded; `reviews` are the signed reviews of this guard."""
    if reviews is None or reviews.empty:
        return "Draft: nobody has signed it."
    signed = reviews[(reviews["action"] == "sign").to_numpy(dtype=bool)] if "action" in reviews else reviews
    own = signed[(signed["evidence_hash"] == evidence_hash).to_numpy(dtype=bool)]
    holding = own[own["status"].isin(SIGNED).to_numpy(dtype=bool)]
    if len(holding):
        return _signature(holding.iloc[-1].to_dict())
    other = signed[signed["status"].isin(SIGNED).to_numpy(dtype=bool)]
    if len(own):
        last = own.iloc[-1]
        by = f" by {_name(other.iloc[-1]['decision_id'])}" if len(other) else ""
        return f"{'Revoked' if last['status'] == 'revoked' else 'Superseded'}{by}: review {_name(last['decision_id'])}."
    if len(other):
        told = other.iloc[-1]
        return (
            f"Draft: nobody has signed this evidence. The review that holds, {_name(told['decision_id'])} "
            f"({_name(told['verdict'])}), is of other evidence."
        )
    return "Draft: nobody has signed it."


def _signature(row: Mapping[Any, Any]) -> str:
    people = _name(row["author"])
    if not missing(row.get("approver")):
        people += f", approved by {_name(row['approver'])}"
    at = "" if missing(row.get("at")) else f" on {utc(row['at'])[:10]}"
    late = "; its review is overdue" if row["status"] == "overdue" else ""
    return f"Signed by {people}{at} ({_name(row['decision_id'])}){late}."


def review_by_words(reviews: pd.DataFrame | None) -> str:
    """Return the day by which the review is to be looked at again."""
    if reviews is not None and len(reviews):
        holding = reviews[reviews["status"].isin(SIGNED).to_numpy(dtype=bool)]
        days = holding["review_by"].dropna()
        if len(days):
            return f"{utc(days.iloc[-1])[:10]}"
    return 'not set; harness.sign(…, review_by="2026-12-31") sets it'


def useless_words(alpha: float, tried: int, promoted: int) -> list[str]:
    r"""Return how many candidates were tried, and the share of useless ones to expect among the promoted.

    The share is alpha p / (alpha p + power (1 - p)) for a part p of the candidates that does nothing (Wacholder et al.
    2004, the false positive report probability).

    Examples
    --------
    >>> useless_words(0.05, 4, 1)[1]
    'Share of useless guards to expect among those promoted: 6 % if half of all rules do nothing, 36 % if nine in ten.'
    """
    half, most = (alpha * p / (alpha * p + POWER * (1 - p)) for p in (0.5, 0.9))
    return [
        (
            f"{counted(tried, 'rule')} {'was' if tried == 1 else 'were'} tried here so far, {promoted} of them "
            "with the verdict promote."
        ),
        (
            f"Share of useless guards to expect among those promoted: {100 * half:.0f} % if half of all "
            "rules do nothing, "
            f"{100 * most:.0f} % if nine in ten."
        ),
        f"That holds for a chance of {alpha:g} to promote a useless one and {POWER:.0%} to promote one that helps.",
    ]


def _name(value: object) -> str:
    return shorten(visible(value if isinstance(value, str) else cell(value).text), 60) or "(not given)"
