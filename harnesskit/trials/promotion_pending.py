"""Verdicts on a rule that nothing was replayed for: pending, with the reason."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from harnesskit.decisions.promotion import decide_promotion
from harnesskit.measures.evidence_rows import evidence_frame, row
from harnesskit.model.decision import Decision
from harnesskit.model.promotion_policy import PromotionPolicy

CAN_BE_TRIED = "can_be_tried"


def undecided(
    rule_id: str,
    reason: str,
    note: str,
    policy: PromotionPolicy,
    remarks: Sequence[str] = (),
    needed: int | None = None,
) -> tuple[Decision, pd.DataFrame]:
    """Return the verdict ``pending`` with its rows of evidence.

    Parameters
    ----------
    rule_id
        The rule.
    reason
        A word of the closed set.
    note
        The same in words, a clause.
    policy
        The policy that was asked for.
    remarks
        Sentences to say beside it.
    needed
        Replays that would about settle it.
    """
    rows = [row("benefit", "unknown"), row(CAN_BE_TRIED, "unknown", note, reason=reason, runs_needed=needed)]
    evidence = evidence_frame(rows, policy.label)
    return decide_promotion(evidence, policy=policy, subject=rule_id, remarks=tuple(remarks)), evidence
