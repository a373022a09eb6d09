"""May a check start to stop sessions? Its alarms in shadow, held against labels."""

from __future__ import annotations

import pandas as pd

from harnesskit.measures.check_rows import Shadow, check_rows
from harnesskit.measures.check_sessions import checked_sessions
from harnesskit.measures.evidence_rows import evidence_frame
from harnesskit.model.errors import PolicyError
from harnesskit.model.promotion_policy import PromotionPolicy

_BY = "check_evidence()"


def check_evidence(
    alarms: pd.DataFrame,
    labels: pd.DataFrame | None = None,
    *,
    policy: str | PromotionPolicy = "budgeted",
    metric: str | None = None,
    bar: float | None = None,
    higher_is_better: bool = True,
    cost_false_stop: float | None = None,
) -> pd.DataFrame:
    """Weigh a grader with a bar that watched online sessions in shadow: one row per check.

    The unit is the session. Precision is the share of its alarms that people call failures, recall the share of
    failures that it alarms on; both with exact intervals (Clopper-Pearson; on the effective number of sessions where
    clusters group them, Korn & Graubard 1998), or a betting confidence sequence under an open-ended policy, which may
    be looked at with every label. Where labels were chosen by the alarm, recall is put together from the two groups,
    for the sessions that it saw. A failed session that the check gave no answer on was not found. A session without an
    answer is not healthy: it is counted, and in no rate.

    Parameters
    ----------
    alarms
        ``session_id`` and ``alarm`` (true, false, missing), or ``value`` with `bar`; one row per session or trace;
        ``cluster, occurred_at, status`` when there. Every session that the check saw belongs in it.
    labels
        Rows of the table labels: ``session_id, failed``, and ``rater, at, metric`` when there. Of each rater the
        newest label counts, then the majority; a session on which raters are evenly split is not labelled.
    policy
        ``min_precision``, ``min_recall`` and ``max_alarm_rate`` are the bars; `open_ended` for repeated looks.
    metric
        Keep labels of this metric and of the whole session only.
    bar, higher_is_better
        Where there is no column ``alarm``: a value on the bad side of `bar` is an alarm.
    cost_false_stop
        What stopping a good session costs, in any unit.

    Raises
    ------
    FrameError
        A column is missing, or an alarm or label is neither true nor false.
    PolicyError
        The policy is the reference's, or the cost is negative.

    Examples
    --------
    >>> alarms = pd.DataFrame({"session_id": range(300), "alarm": [True] * 30 + [False] * 270})
    >>> labels = pd.DataFrame({"session_id": range(300), "failed": [True] * 29 + [False] * 271})
    >>> evidence = check_evidence(alarms, labels).set_index("check")
    >>> evidence["state"][["precision", "recall", "alarm_rate"]].tolist()
    ['met', 'met', 'met']
    """
    rules = PromotionPolicy.parse(policy)
    if rules.mode == "reference":
        raise PolicyError(f"{_BY} has no policy 'reference': use budgeted (one look) or open_ended.")
    if cost_false_stop is not None and not cost_false_stop >= 0:
        raise PolicyError(f"{_BY}: the cost of a false stop must be 0 or more; found {cost_false_stop!r}.")
    sessions = checked_sessions(
        alarms, labels, metric=metric, bar=bar, higher_is_better=higher_is_better, by=_BY
    )  # fmt: skip
    return evidence_frame(check_rows(Shadow(rules, sessions, metric, cost_false_stop)), rules.label)
