"""The verdict on a trial of a rule, from its samples and its frozen part alone: the same whenever it is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import pandas as pd

from harnesskit.decisions.promotion import decide_promotion
from harnesskit.measures.evidence_rows import evidence_frame, row
from harnesskit.measures.failed_runs import OUTCOME
from harnesskit.measures.guard_wins import wins_of
from harnesskit.measures.ledger import evidence_ledger
from harnesskit.measures.pairs import replay_pairs
from harnesskit.measures.promotion import evidence_of
from harnesskit.measures.promotion_path import path_of
from harnesskit.measures.promotion_trial import trial_of
from harnesskit.model.decision import Decision
from harnesskit.model.promotion_policy import PromotionPolicy
from harnesskit.replays.setup import Record
from harnesskit.trials.promotion_frozen import FrozenPromotion
from harnesskit.trials.promotion_rows import Sides, made, sample_frame, side_frames
from harnesskit.trials.promotion_sentinels import banked_cases, stale_bank
from harnesskit.trials.promotion_values import Values
from harnesskit.trials.win import CONTROL

IS_CURRENT = "control_is_current"


class PromotionVerdict(NamedTuple):
    """Everything that follows from a trial; frames by their contracts."""

    decision: Decision
    evidence: pd.DataFrame
    path: pd.DataFrame
    wins: pd.DataFrame
    pairs: pd.DataFrame
    ledger: pd.DataFrame
    samples: pd.DataFrame
    control: pd.DataFrame
    candidate: pd.DataFrame


def judge_trial(
    frozen: FrozenPromotion,
    records: Sequence[Record],
    *,
    policy: PromotionPolicy | None = None,
    stopped: str | None = None,
    whole: bool = True,
) -> PromotionVerdict:
    """Judge a trial of a rule.

    Parameters
    ----------
    frozen, records
        The trial.
    policy
        Another policy than the frozen one: it was asked for after the evidence was there, and the reasons say so.
    stopped
        Why the replays ended.
    whole
        With path, wins, pairs and ledger; else these are empty.
    """
    rules = frozen.policy if policy is None else policy
    values = Values(frozen)
    values.take(made(records))
    sides, samples = side_frames(frozen, records), sample_frame(records)
    compared = sides if frozen.target == OUTCOME else Sides(*(_without_outcome(rows) for rows in sides))
    trial = trial_of(
        *compared, target_metric=frozen.target, policy=rules, metrics=frozen.metrics, failures=frozen.failures,
        wins=frozen.wins, n_wins=frozen.n_wins, guard_metrics=list(frozen.guard_metrics) or None,
        prior_sd=frozen.prior_sd if rules.prior_sd is None else rules.prior_sd, by="a trial",
    )  # fmt: skip
    evidence = _with_bank(evidence_of(trial), frozen, records, rules)
    decision = decide_promotion(
        evidence, policy=rules, subject=frozen.rule_id, remarks=_remarks(frozen, values, rules, stopped)
    )
    if not whole:
        none = pd.DataFrame()
        return PromotionVerdict(decision, evidence, none, none, none, none, samples, *sides)
    pairs = replay_pairs(*sides, target_metric=frozen.target, metrics=frozen.metrics, samples=samples)
    ledger = evidence_ledger(*sides, metrics=frozen.metrics)
    return PromotionVerdict(decision, evidence, path_of(trial), wins_of(trial), pairs, ledger, samples, *sides)


def _without_outcome(rows: pd.DataFrame) -> pd.DataFrame:
    """Leave out the outcomes of failures: the target was another metric before anything was replayed."""
    return rows[~((rows["kind"] == "failure") & (rows["metric"] == OUTCOME)).to_numpy(dtype=bool)]


def _with_bank(
    evidence: pd.DataFrame, frozen: FrozenPromotion, records: Sequence[Record], policy: PromotionPolicy
) -> pd.DataFrame:
    """Add whether control runs made along with the trial agree with the bank, where there are both."""
    fresh = [one for one in made(records) if one.sample.arm == CONTROL and one.sample.case_id in banked_cases(frozen)]
    if not fresh:
        return evidence
    if stale_bank(frozen, fresh):
        note = (
            "the control bank is stale: control runs made now differ from it by more than 3 standard errors, so "
            "nothing may be compared with it; a new trial makes its control runs anew"
        )
        added = row(IS_CURRENT, "unknown", note, reason="stale_control", n=len(fresh))
    else:
        added = row(IS_CURRENT, "met", "control runs made now agree with the bank", n=len(fresh))
    return pd.concat([evidence, evidence_frame([added], policy.label)], ignore_index=True).astype(evidence.dtypes)


def _remarks(frozen: FrozenPromotion, values: Values, policy: PromotionPolicy, stopped: str | None) -> tuple[str, ...]:
    """Return what a reader of the verdict has to know beside the checks."""
    spent = f"{values.spent} of at most {frozen.policy.budget} replays were made"
    said = [f"{spent}; they ended: {stopped}." if stopped else f"{spent}."]
    if policy != frozen.policy:
        said.append(
            f"The policy {policy.label!r} was asked for after the evidence was there; the trial was made under "
            f"{frozen.policy.label!r}, whose verdict is the one that counts."
        )
    aside = [case for case in frozen.failures if case not in values.failures]
    if aside:
        said.append(f"Set aside, as their control replays gave no scores: {', '.join(aside)}.")
    return (*said, *frozen.notes)
