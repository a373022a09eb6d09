"""Promote, retire or pending: the verdict on a guard, with its reasons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from harnesskit.decisions.check_promotion import decide_check
from harnesskit.decisions.forward_promotion import decide_forward, is_forward
from harnesskit.decisions.guard_rule import Settled, decision, read_evidence
from harnesskit.decisions.promotion_reasons import THIN, promotion_reasons
from harnesskit.decisions.win_promotion import decide_win
from harnesskit.model.decision import PENDING_REASONS, Decision
from harnesskit.model.errors import PolicyError, nearest
from harnesskit.model.promotion_policy import PromotionPolicy

MAIN = ("benefit",)
BEFORE = (
    *(
        "no_matching_replayable_case",
        "fingerprint_mismatch",
        "stale_control",
        "env_wait_timeout",
        "replay_inconclusive",
    ),
    *("candidate_not_exercised", "missing_data", "labels_missing", "insufficient_evidence", "trial_in_progress"),
    *("guard_incomplete", "thin_guard", "round_budget_exhausted"),
)
"""Pending reasons: what makes the others moot comes first."""
WORST = ("harm", "harmful_effect")
"""Reasons to retire that are named before others."""
_KINDS = ("rule", "case", "check")
_BY = "decide_promotion()"


def decide_promotion(
    evidence: pd.DataFrame,
    *,
    policy: str | PromotionPolicy = "budgeted",
    subject: str = "rule",
    guard_kind: str = "rule",
    remarks: Sequence[str] = (),
) -> Decision:
    """Judge a guard by its evidence: ``promote``, ``retire`` or ``pending``.

    ``retire`` when a check is unmet: an effect worth having is ruled out, the guard harms its own cases, or it harms
    protected wins. ``pending`` when a check that decides is open; its reason is one word of a closed set. ``promote``
    when the benefit is shown and nothing is open: no harm to the wins, a mean drop of the margin ruled out, enough wins
    replayed. A row without a reason informs and never decides; a row that is not met and has one does, whoever made it.

    Parameters
    ----------
    evidence
        Rows of `harnesskit.promotion_evidence`, `forward_trial`, `win_evidence` or `check_evidence`; reads ``check,
        state``, and the other columns of the contract when there.
    policy
        The policy that the evidence was made under; another one is an error.
    subject
        What is decided on, e.g. a rule id.
    guard_kind
        ``rule``, ``case`` or ``check``.
    remarks
        Sentences on how the evidence came about, added to the reasons.

    Returns
    -------
    Decision
        ``reason`` is the pending reason, the check that retired it, or ``benefit``; ``detail`` says more
        (``no_worthwhile_effect``, ``harm``, ``harmful_effect``, ``thin guard``); ``runs_needed`` are further replays.

    Raises
    ------
    FrameError
        A column or the main check is missing, a check is there twice, or a state is none.
    PolicyError
        The evidence was made under another policy, the policy is the reference's, or the kind of guard is not known.

    Examples
    --------
    >>> rows = [{"check": "benefit", "state": "met", "estimate": 0.21}, {"check": "futility", "state": "met"}]
    >>> decide_promotion(pd.DataFrame(rows), subject="r-1").verdict
    'promote'
    >>> rows = [{"check": "benefit", "state": "unknown", "reason": "insufficient_evidence", "runs_needed": 12}]
    >>> found = decide_promotion(pd.DataFrame(rows))
    >>> found.verdict, found.reason, found.runs_needed
    ('pending', 'insufficient_evidence', 12)
    """
    rules = PromotionPolicy.parse(policy)
    if guard_kind not in _KINDS:
        raise PolicyError(f"no kind of guard {guard_kind!r}{nearest(guard_kind, _KINDS)}; use rule, case or check.")
    if rules.mode == "reference":
        raise PolicyError(
            f"{_BY} weighs evidence, which the policy 'reference' does not use; ask "
            "harness.validate_candidates(policy='reference') for the reference's own answer."
        )
    found = _other_kind(evidence, rules, subject, guard_kind)
    if found is None:
        rows = read_evidence(evidence, rules, MAIN, by=_BY)
        settled = settle_rule(rows)
        reasons = promotion_reasons(rows, settled, rules)
        found = decision(rows, settled, reasons, subject=subject, guard_kind=guard_kind, policy=rules)
    return replace(found, reasons=[*found.reasons, *remarks])


def _other_kind(evidence: pd.DataFrame, rules: PromotionPolicy, subject: str, guard_kind: str) -> Decision | None:
    if guard_kind == "case":
        return decide_win(evidence, policy=rules, subject=subject)
    if guard_kind == "check":
        return decide_check(evidence, policy=rules, subject=subject)
    return decide_forward(evidence, policy=rules, subject=subject) if is_forward(evidence) else None


def settle_rule(rows: pd.DataFrame) -> Settled:
    """Return the verdict of rows about a rule replayed on its cases, and the row that decided.

    Examples
    --------
    >>> settle_rule(pd.DataFrame({"check": ["benefit"], "state": ["met"], "reason": [None]})).verdict
    'promote'
    """
    listing: list[dict[str, Any]] = [
        {str(k): None if pd.isna(v) else v for k, v in one.items()} for one in rows.to_dict("records")
    ]
    speaking = [one for one in listing if one["state"] != "met" and one.get("reason")]
    unmet = [one for one in speaking if one["state"] == "unmet" and one["reason"] not in PENDING_REASONS]
    if unmet:
        first = min(unmet, key=lambda one: WORST.index(one["reason"]) if one["reason"] in WORST else len(WORST))
        return Settled("retire", str(first["check"]), str(first["reason"]), first, None)
    main = next(one for one in listing if one["check"] == MAIN[0])
    waiting = [one for one in speaking if one["reason"] in PENDING_REASONS]
    if not waiting and main["state"] == "met":
        thin = any(str(one.get("note") or "").startswith(THIN) for one in listing)
        return Settled("promote", MAIN[0], THIN if thin else "", main, None)
    if not waiting:
        return Settled("pending", "insufficient_evidence", "", main, _count(main.get("runs_needed")))
    first = min(waiting, key=lambda one: BEFORE.index(one["reason"]))
    same = [one.get("runs_needed") for one in waiting if one["reason"] == first["reason"]]
    needed = [int(n) for n in same if n is not None]
    return Settled("pending", str(first["reason"]), "", first, max(needed, default=None))


def _count(value: Any) -> int | None:
    return None if value is None else int(value)
