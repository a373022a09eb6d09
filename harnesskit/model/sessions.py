"""The contracts of frames of live sessions, as a forward trial and the check of a check take them."""

from __future__ import annotations

from harnesskit.model.contract import Contract
from harnesskit.model.frames import LABELS

SESSIONS = Contract(
    name="sessions",
    grain="session (and metric, and trace, when there are several)",
    key=("session_id",),
    columns={
        "session_id": "live session",
        "arm": "candidate (it had the rule) or control; after and before where nothing was drawn",
        "cluster": "what the arm was drawn for: a user, a task; missing means the session stands alone",
        "occurred_at": "when it happened, UTC; without it the order of the rows counts",
        "metric": "metric of the row, in the long form",
        "value": "score, in the long form; in the wide form the column is called as the metric is",
        "status": "ok or scored, else the session is unscored",
        "stratum": "task type or the like, known before the session",
    },
)

ALARMS = Contract(
    name="alarms",
    grain="session (or trace)",
    key=("session_id",),
    columns={
        "session_id": LABELS.columns["session_id"],
        "alarm": "whether the check would have stopped it; missing: the check gave no answer",
        "value": "score that is held against the bar, where there is no column alarm",
        "cluster": "what groups sessions that depend on each other, e.g. a user",
        "occurred_at": "when it happened, UTC",
        "status": "ok or scored, else the check gave no answer",
    },
)
