"""The calibration report: whether a breach means a failure, and where the threshold should be."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import pandas as pd

from harnesskit.model.calibration import CALIBRATION, SWEEP
from harnesskit.model.text import counted
from harnesskit.plots.calibration import plot_scores_by_label, plot_threshold_sweep
from harnesskit.reports.cells import Column, number
from harnesskit.reports.document import Block, Chart, Code, Prose, Section, Table
from harnesskit.reports.model import Report

_FACTS = (
    Column("metric", "Metric", "text"),
    Column("state", "State", "text"),
    Column("n_scored", "Scored", "of", "n_sessions"),
    Column("n_labelled", "Labelled", "count"),
    Column("n_failed", "Failed", "count"),
    Column("threshold", "Threshold", "number"),
    Column("precision", "Precision", "number"), Column("precision_low", "95 %", "range", "precision_high"),
    Column("recall", "Recall", "number"), Column("recall_low", "95 % ", "range", "recall_high"),
    Column("f1", "F1", "number"), Column("f1_low", "95 %  ", "range", "f1_high"),
    Column("tp", "Failed, breach", "count", rare=True), Column("fp", "Good, breach", "count", rare=True),
    Column("fn", "Failed, none", "count", rare=True), Column("tn", "Good, none", "count", rare=True),
    Column("n_label_only", "Labels without a score", "count", rare=True),
    Column("n_disputed", "Raters split", "count", rare=True),
)  # fmt: skip
_CHOICES = (
    Column("metric", "Metric", "text"),
    Column("certified_threshold", "Certified", "number"),
    Column("certified_precision", "Precision", "number"),
    Column("certified_recall", "Recall", "number"),
    Column("labels_needed", "More labels", "count"),
    Column("lowest_threshold", "Lowest", "number"),
    Column("lowest_recall", "Its recall", "number"),
    Column("best_threshold", "Best F1 at", "number"),
    Column("best_threshold_low", "95 %", "range", "best_threshold_high"),
    Column("best_f1", "F1 here", "number"),
    Column("best_f1_expected", "F1 expected", "number"),
    Column("cheapest_threshold", "Cheapest", "number"),
    Column("cheapest_cost", "Its cost", "number"),
)
_SWEEP = (
    Column("metric", "Metric", "text"), Column("threshold", "Threshold", "number"),
    Column("breaches", "In breach", "of", "n_scored"),
    Column("tp", "Failed", "count"), Column("fp", "Good", "count"), Column("fn", "Missed", "count"),
    Column("precision", "Precision", "number"), Column("precision_low", "band", "range", "precision_high"),
    Column("recall", "Recall", "number"), Column("recall_low", "band ", "range", "recall_high"),
    Column("f1", "F1", "number"), Column("f1_low", "band  ", "range", "f1_high"),
)  # fmt: skip
_AGREEMENT = (
    Column("metric_a", "Metric", "text"), Column("metric_b", "and", "text"), Column("n", "Sessions", "count"),
    Column("share_scored", "Of all", "percent"), Column("agree", "One verdict", "number"),
    Column("low", "95 %", "range", "high"),
)  # fmt: skip
_MOST = 6


def calibration_report(
    calibration: pd.DataFrame,
    sweep: pd.DataFrame | None = None,
    *,
    agreement: pd.DataFrame | None = None,
    scores: pd.DataFrame | None = None,
    title: str = "Does a breach mean a failure?",
    reproduce: str | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> Report:
    """Arrange what labels say of the thresholds: at each one configured, which to choose, and every other one.

    Parameters
    ----------
    calibration, sweep, agreement
        `hk.calibrate`, `hk.sweep_thresholds`, `hk.metric_agreement`.
    scores
        One row per session and metric, ``metric, value, failed``, to draw how scores lie by label; without it no chart
        of them.
    title, reproduce, metadata
        Heading; a command line that makes this report again; facts for the foot.

    Returns
    -------
    Report
        ``.save("calibration.html")``, ``.md`` or ``.json``.

    Raises
    ------
    FrameError
        A column is missing.

    Examples
    --------
    >>> import harnesskit as hk
    >>> scores = pd.DataFrame({"session_id": range(40), "metric": "coherence", "value": [i / 40 for i in range(40)]})
    >>> labels = {i: i < 18 for i in range(40)}
    >>> report = calibration_report(hk.calibrate(scores, labels), hk.sweep_thresholds(scores, labels))
    >>> [section.title for section in report.sections]
    ['In short', 'At the configured threshold', 'Which threshold', 'Every threshold', 'How to read this']
    """
    CALIBRATION.require(calibration, "metric", "state", "warning", by="calibration_report()")
    table = calibration.reset_index(drop=True)
    facts = Table("metrics", "One row per metric", table, _FACTS)
    choices = Table("choices", "One row per metric", table, _choices(table))
    sections = [
        Section("In short", (Prose(tuple(_in_short(row) for row in _records(table)), listed=True),)),
        Section("At the configured threshold", (*_warnings(table), facts)),
        Section("Which threshold", (_choice_words(table), choices)),
    ]
    if sweep is not None:
        SWEEP.require(sweep, "metric", "threshold", "precision", "recall", "f1", by="calibration_report()")
        sections.append(Section("Every threshold", tuple(_charts(table, sweep, scores))))
    if agreement is not None and len(agreement):
        words = "Share of sessions on which two metrics give one verdict; the last row is all metrics together."
        shown = Table("agreement", "One row per pair of metrics", agreement, _AGREEMENT)
        sections.append(Section("Do metrics agree", (Prose((words,)), shown)))
    sections.append(Section("How to read this", (Prose(_READ, listed=True),)))
    if reproduce:
        sections.append(Section("How to reproduce", (Code(reproduce),)))
    return Report(title, None, tuple(sections), None, dict(metadata or {}))


_READ = (
    "The unit is the session: several scores of one are reduced first, by the rule that was asked for.",
    "A session without a score, or without a label, is in no rate; how many there are stands in the first table.",
    "The certified threshold has the precision with confidence; the lowest has it on these labels only, and finds few.",
    "F1 here is too good: the threshold was chosen on the same labels. F1 expected is corrected for that.",
    "Labels that were not drawn at random (only sessions that alarmed, say) make recall and F1 those of such sessions.",
)


def _choices(table: pd.DataFrame) -> tuple[Column, ...]:
    """Return the columns of the choices; those on costs only where costs were given."""
    costs = "cheapest_cost" in table and bool(table["cheapest_cost"].notna().any())
    return _CHOICES if costs else tuple(one for one in _CHOICES if not one.name.startswith("cheapest"))


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(name): value for name, value in row.items()} for row in frame.to_dict("records")]


def _in_short(row: dict[str, Any]) -> str:
    name, state = row["metric"], row["state"]
    if state == "no scale" or state == "unlabelled" or pd.isna(row.get("recall")):
        return f"{name}: {state}."
    precision = "no breach" if pd.isna(row["precision"]) else _range(row, "precision", "precision")
    said = f"{name}: {state}; at {number(row['threshold'])} {precision} and {_range(row, 'recall', 'recall')}."
    target = f"precision above {number(row['target_precision'])}"
    if pd.notna(row.get("certified_threshold")):
        at, recall = number(row["certified_threshold"]), number(row["certified_recall"])
        return f"{said} A threshold of {at} has {target} with confidence and finds {recall} of the failures."
    if pd.notna(row.get("labels_needed")):
        return f"{said} No threshold has {target} with confidence yet: about {int(row['labels_needed']):,} more labels."
    return f"{said} No threshold is in sight of {target}."


def _range(row: dict[str, Any], name: str, word: str) -> str:
    return f"{word} {number(row[name])} ({number(row[f'{name}_low'])} to {number(row[f'{name}_high'])})"


def _warnings(table: pd.DataFrame) -> list[Block]:
    said = tuple(f"{row['metric']}: {row['warning']}" for row in _records(table) if row["warning"])
    return [Prose(said, listed=True, strong=True)] if said else []


def _choice_words(table: pd.DataFrame) -> Prose:
    found = int(table["certified_threshold"].notna().sum()) if "certified_threshold" in table else 0
    return Prose((
        f"For {found} of {counted(len(table), 'metric')} a threshold reaches the precision asked for with confidence.",
        "Beside it: the lowest that has it on these labels, the one of the best F1, and the cheapest.",
    ))  # fmt: skip


def _charts(table: pd.DataFrame, sweep: pd.DataFrame, scores: pd.DataFrame | None) -> list[Block]:
    blocks: list[Block] = []
    for row in _records(table.head(_MOST)):
        name = row["metric"]
        bar = None if pd.isna(row.get("threshold")) else float(row["threshold"])
        rows = sweep[sweep["metric"] == name]
        if scores is not None and "failed" in scores and (scores["metric"] == name).any():
            mine = scores[scores["metric"] == name]
            words = f"{counted(row['n_scored'], 'scored session')} of {name}, {row['n_labelled']:,} of these labelled."
            plot = partial(plot_scores_by_label, threshold=bar)
            blocks.append(Chart(plot, mine, f"Scores by label: {name}", words, 7))
        if row.get("n_labelled") and len(rows):
            blocks.append(
                Chart(partial(plot_threshold_sweep, threshold=bar), rows, f"Thresholds: {name}", _in_short(row), 8)
            )
    if len(table) > _MOST:
        blocks.append(Prose((f"Only the first {_MOST} of {len(table)} metrics are drawn; the table has all.",)))
    return [*blocks, Table("sweep", "One row per metric and threshold", sweep, _SWEEP, open_rows=0)]
