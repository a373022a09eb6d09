"""What calibration hands out: one row per metric, per threshold, per pair of metrics, per setting of the gate."""

from __future__ import annotations

from harnesskit.model.contract import Contract

_CI = "{} end of its 95 % interval (Clopper-Pearson on sessions, the effective number of them where users group them)"
_ALL = "{} end of its interval, which holds at all thresholds of the metric at once"

CALIBRATION = Contract(
    name="calibration",
    grain="metric",
    key=("metric",),
    columns={
        "metric": "name of the metric",
        "state": "calibrated, not calibrated (too few labels), unlabelled, or no scale (direction or range not known)",
        "threshold": "the configured threshold; missing when there is none",
        "n_sessions": "sessions with a row of this metric",
        "n_scored": "of these, with at least one usable score",
        "n_unscored": "of these, without one: in no rate",
        "breaches": "scored sessions on the bad side of the threshold",
        "n_labelled": "scored sessions with a label",
        "n_failed": "of these, the ones that people call failed",
        "n_label_only": "labelled sessions without a score of this metric: in no rate",
        "n_disputed": "sessions whose raters are evenly split: not labelled",
        "tp": "failed and in breach", "fp": "good and in breach", "fn": "failed, no breach", "tn": "good, no breach",
        "precision": "share of the breaches that did fail",
        "precision_low": _CI.format("lower"), "precision_high": _CI.format("upper"),
        "recall": "share of the failed sessions that are in breach",
        "recall_low": _CI.format("lower"), "recall_high": _CI.format("upper"),
        "false_alarm_rate": "share of the good sessions that are in breach",
        "false_alarm_rate_low": _CI.format("lower"), "false_alarm_rate_high": _CI.format("upper"),
        "f1": "2 tp / (2 tp + fp + fn)", "f1_low": _CI.format("lower"), "f1_high": _CI.format("upper"),
        "best_threshold": "threshold of the best F1: middle of the plateau of the smoothed curve",
        "best_threshold_low": "lower end of its 95 % bootstrap interval", "best_threshold_high": "upper end",
        "best_f1": "F1 there on the labels that chose it: too good",
        "best_f1_expected": "F1 to expect of new sessions: corrected for optimism by bootstrap",
        "target_precision": "the precision asked for",
        "certified_threshold": "threshold of the largest recall whose precision is above the target with confidence",
        "certified_recall": "recall there", "certified_precision": "precision there",
        "certified_flagged": "labelled sessions in breach there",
        "labels_needed": "about how many more labels would establish one: 0 when found, missing when not in sight",
        "lowest_threshold": "the reference's choice: the first one that reaches the target on the labels",
        "lowest_recall": "recall there",
        "cheapest_threshold": "threshold of the least cost; missing when no alarm at all is cheapest",
        "cheapest_cost": "cost per labelled session there", "cost": "cost per labelled session at the threshold",
        "minimum": "lowest score of a session", "median": "middle one", "mean": "mean", "maximum": "highest",
        "sd": "standard deviation",
        "warning": "what to know before it is used, in words",
    },
)  # fmt: skip

SWEEP = Contract(
    name="threshold sweep",
    grain="metric and threshold",
    key=("metric", "threshold"),
    columns={
        "metric": "name of the metric",
        "threshold": "a score on its bad side is a breach",
        "breaches": "scored sessions in breach, labelled or not",
        "n_scored": "scored sessions",
        "n_labelled": "of these, with a label",
        "tp": "failed and in breach", "fp": "good and in breach", "fn": "failed, no breach", "tn": "good, no breach",
        "precision": "share of the breaches that did fail",
        "precision_low": _ALL.format("lower"), "precision_high": _ALL.format("upper"),
        "recall": "share of the failed sessions that are in breach",
        "recall_low": _ALL.format("lower"), "recall_high": _ALL.format("upper"),
        "f1": "2 tp / (2 tp + fp + fn)", "f1_low": _ALL.format("lower"), "f1_high": _ALL.format("upper"),
    },
)  # fmt: skip

METRIC_AGREEMENT = Contract(
    name="metric agreement",
    grain="pair of metrics",
    key=("metric_a", "metric_b"),
    columns={
        "metric_a": "one metric; missing in the row on all metrics together",
        "metric_b": "another one",
        "n": "sessions that have a score of both (of all)",
        "share_scored": "share of all sessions that these are",
        "agree": "share of them on which the verdicts (breach or not) are the same",
        "low": "lower end of its 95 % interval (Clopper-Pearson)",
        "high": "upper end of that interval",
    },
)

GATE_REPLAY = Contract(
    name="gate replay",
    grain="setting of the gate",
    key=("window", "target", "gain", "drop"),
    columns={
        "window": "turns without a gain after which a series stalls",
        "target": "peak from which a series no longer stalls",
        "gain": "rise above the peak that counts as a gain",
        "drop": "fall below the peak beyond which a series regresses",
        "n_sessions": "sessions",
        "n_values": "scored values",
        "n_unscored": "turns without a value: they change nothing",
        "stalled": "alarms for a stall", "regressed": "alarms for a regression",
        "alarmed_turns": "turns of a session with an alarm of any metric: at most so many notices",
        "alarmed_sessions": "sessions with an alarm",
        "n_labelled": "sessions with a label",
        "tp": "failed and alarmed", "fp": "good and alarmed", "fn": "failed, no alarm", "tn": "good, no alarm",
        "precision": "share of the alarmed sessions that did fail",
        "precision_low": "lower end of its 95 % interval (Clopper-Pearson)", "precision_high": "upper end",
        "recall": "share of the failed sessions that are alarmed",
        "recall_low": "lower end of its 95 % interval (Clopper-Pearson)", "recall_high": "upper end",
    },
)  # fmt: skip

LABELLED_SCORES = Contract(
    name="labelled scores",
    grain="session and metric",
    key=("session_id", "metric"),
    columns={
        "session_id": "the session",
        "metric": "name of the metric",
        "value": "its score, reduced to one; missing when unscored",
        "failed": "whether people call it failed; missing without a label, or when raters are evenly split",
    },
)
