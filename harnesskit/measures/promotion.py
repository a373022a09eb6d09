"""Evidence about a guard from its replays: one row per check, everything a decision needs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from harnesskit.measures.evidence_rows import evidence_frame
from harnesskit.measures.promotion_benefit import benefit_of, benefit_rows, spread_rows
from harnesskit.measures.promotion_guard import guard_of, guard_rows
from harnesskit.measures.promotion_quality import compliance, doubt_of, missing_data
from harnesskit.measures.promotion_trial import Trial, trial_of
from harnesskit.model.metrics import Metric
from harnesskit.model.promotion_policy import PromotionPolicy

if TYPE_CHECKING:
    import pandas as pd


def promotion_evidence(
    control: pd.DataFrame,
    candidate: pd.DataFrame,
    *,
    target_metric: str,
    policy: str | PromotionPolicy = "budgeted",
    metrics: Iterable[Metric] | None = None,
    failures: Sequence[str] | None = None,
    wins: Sequence[str] | None = None,
    n_wins: int | None = None,
    guard_metrics: Sequence[str] | None = None,
    prior_sd: float | None = None,
) -> pd.DataFrame:
    """Weigh the replays of a candidate against control runs: one row per check.

    Failing cases say whether the candidate helps: the mean change over them, every candidate run counted, read or not
    (intention to treat). Protected wins say what it breaks. Changes are on the common scale: 1 is the declared range
    of a metric, positive is better. A captured score of a failure is never a control (it was kept because it was
    low); that of a win stands for one control run where there is no other.

    Parameters
    ----------
    control, candidate
        Rows of case_scores, failures and wins told apart by ``kind``. Reads ``case_id, kind, metric, value``, and when
        there ``status, reason, sample_id, trial, candidate_surfaced, source, role, grader, fingerprint`` and
        ``round``: the number of the replay (or of its round) in the trial, over both arms. Control rows without one
        are the bank, made before the first replay. Without any ``round`` everything is one look, and the note says so.
        A replay that gave nothing is a row without a metric, with its status and reason.
    target_metric
        What the candidate is to improve. Where 80 % of the runs of both arms have ``outcome_correct``, that decides.
    policy
        A name or a `PromotionPolicy`, fixed before the first replay. ``reference`` weighs nothing and is an error.
    metrics
        Declarations of ranges and directions; an undeclared metric is 0 to 1, higher is better.
    failures, wins
        Ids of the failing cases and of the protected wins chosen beforehand; by default the failures that the
        candidate was replayed on, and every win in either frame.
    n_wins
        Protected wins in all, when more than those chosen: for the blind spot.
    guard_metrics
        Metrics watched on the wins; by default those that both sides of the wins have.
    prior_sd
        Standard deviation of one run of the target metric, on the common scale, as known before the first replay; by
        default from the banked runs of the wins, else .10.

    Returns
    -------
    DataFrame
        By the contract ``promotion evidence``. Rows ``benefit``, ``futility``, ``harmful_effect``,
        ``effect_when_read``, ``compliance``, ``missing_data``, ``missing_data_wins``, ``harm``, ``non_inferiority``,
        ``guard_coverage``, ``blind_spot``, ``generality`` (5 failing cases or more) or ``one_case``. A row that is not
        met and decides has a ``reason``; one without a reason informs.

    Raises
    ------
    FrameError
        A column is missing, a kind is neither win nor failure, a score is text, or a metric has two graders.
    PolicyError
        The policy is not known, or is the reference's.

    Examples
    --------
    >>> import pandas as pd
    >>> cases = {"case_id": ["f1", "f2", "w1", "w2"] * 2, "kind": ["failure", "failure", "win", "win"] * 2}
    >>> before = pd.DataFrame({**cases, "metric": "q", "value": [0.3, 0.4, 0.9, 0.8, 0.35, 0.45, 0.85, 0.9]})
    >>> after = before.assign(value=before["value"].where(before["kind"] == "win", before["value"] + 0.4))
    >>> rows = promotion_evidence(before, after, target_metric="q").set_index("check")
    >>> rows.loc["benefit", "state"], round(float(rows.loc["benefit", "estimate"]), 2)
    ('met', 0.4)
    >>> rows.loc["benefit", "note"].split("; ")[-1]
    'one look at all runs: the rows have no round'
    """
    trial = trial_of(
        control, candidate, target_metric=target_metric, policy=policy, metrics=metrics, failures=failures, wins=wins,
        n_wins=n_wins, guard_metrics=guard_metrics, prior_sd=prior_sd, by="promotion_evidence()",
    )  # fmt: skip
    return evidence_of(trial)


def evidence_of(trial: Trial) -> pd.DataFrame:
    """Return the evidence of a trial, one row per check."""
    benefit = benefit_of(trial)
    read, where_read = compliance(trial, benefit)
    doubt = doubt_of(trial)
    missing = missing_data(trial, benefit, compared=doubt is None)
    rows = [
        *benefit_rows(trial, benefit, doubt=doubt, callable_=read.callable_ and missing.callable_),
        *where_read,
        read.row,
        missing.row,
        *guard_rows(trial, benefit, guard_of(trial, benefit)),
        *spread_rows(trial, benefit),
    ]
    return evidence_frame(rows, trial.policy.label)
