"""The columns that the tables of the regression report show, and how."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from harnesskit.reports.cells import Column
from harnesskit.reports.regression_words import clustered

CASES = (
    Column("case_id", "Case", "text"),
    Column("metric", "Metric", "text"),
    Column("kind", "Kind", "text"),
    Column("status", "Status", "status", "suspect"),
    Column("delta", "Change", "change"),
    Column("low", "95 % interval", "interval", "high"),
    Column("baseline", "Baseline → candidate", "arrow", "candidate"),
    Column("reason", "Reason", "text"),
    Column("runs_needed", "More trials", "count"),
    Column("n_baseline", "Trials base / cand.", "pair", "n_candidate", rare=True),
    Column("note", "Note", "text", rare=True),
    Column("n_unscored", "Unscored", "count", rare=True),
    Column("interval_kind", "Interval by", "text", rare=True),
)
METRICS = (
    Column("metric", "Metric", "text"),
    Column("kind", "Kind", "text"),
    Column("n_paired", "Cases compared", "of", "n_cases"),
    Column("delta", "Mean change", "change"),
    Column("low", "95 % interval", "interval", "high"),
    Column("baseline", "Means, baseline → candidate", "arrow", "candidate"),
    Column("n_regressed", "Cases regressed", "count"),
    Column("n_inconclusive", "inconclusive", "count"),
    Column("n_unchanged", "unchanged", "count"),
    Column("n_improved", "improved", "count"),
    Column("n_skipped", "Cases skipped", "count", rare=True),
    Column("percent", "Change in %", "percent", rare=True),
    Column("higher_is_better", "Higher is better", "flag", rare=True),
)
_BOTH = (
    Column("clusters_low", "95 % interval over clusters (used)", "interval", "clusters_high"),
    Column("cases_low", "95 % interval over cases", "interval", "cases_high"),
    Column("n_clusters", "Clusters", "count", rare=True),
)


def metric_columns(comparison: pd.DataFrame) -> tuple[Column, ...]:
    """Return the columns of the table of mean changes: both intervals, each by its name, where cases have clusters."""
    if not any(clustered(row) for row in comparison.to_dict("records")):
        return METRICS
    place = next(i for i, column in enumerate(METRICS) if column.name == "low")
    alone = comparison["clusters_low"].isna().any()
    kept = (replace(METRICS[place], label="95 % interval, as used"),) if alone else ()
    rest = (replace(column, rare=column.rare or column.name == "n_improved") for column in METRICS[place + 1 :])
    return (*METRICS[:place], *kept, *_BOTH, *rest)  # one column less, so that the table fits a page


RUNS = (
    Column("run_id", "Run", "text"),
    Column("role", "Role", "text"),
    Column("label", "Label", "text"),
    Column("version", "Version", "text"),
    Column("started_at", "Started", "time"),
    Column("finished_at", "Finished", "time"),
    Column("agent", "Agent", "text", rare=True),
    Column("fingerprint", "Fingerprint", "text", rare=True),
)
STATES = (
    Column("side", "Side", "text"),
    Column("metric", "Metric", "text"),
    Column("kind", "Kind", "text"),
    Column("state", "State", "text"),
    Column("n_cases", "Cases", "count"),
    Column("n_trials", "Trials", "count"),
    Column("reason", "Reason", "text"),
)
LEDGER = (
    Column("metric", "Metric", "text"),
    Column("kind", "Kind", "text"),
    Column("n_cases", "Cases asked for", "count"),
    Column("n_paired", "Scored on both sides", "count"),
    Column("n_baseline_only", "Baseline only", "count"),
    Column("n_candidate_only", "Candidate only", "count"),
    Column("n_skipped", "Skipped", "count"),
)
OVERVIEW = (
    Column("run_id", "Run", "text"),
    Column("verdict", "Verdict", "text"),
    Column("reason", "First reason", "text"),
    Column("n_regressed", "Cases regressed", "count"),
    Column("n_unchanged", "unchanged", "count"),
    Column("n_inconclusive", "inconclusive", "count"),
    Column("n_scored", "Cases scored", "of", "n_asked"),
    Column("baseline_id", "Compared with", "text"),
    Column("ended", "Ended", "time"),
    Column("n_improved", "Cases improved", "count", rare=True),
    Column("n_skipped", "Cases skipped", "count", rare=True),
    Column("n_kept", "Results kept", "count", rare=True),
)
