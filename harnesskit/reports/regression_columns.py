"""The columns that the tables of the regression report show, and how."""

from __future__ import annotations

from harnesskit.reports.cells import Column

CASES = (
    Column("case_id", "Case", "text"),
    Column("metric", "Metric", "text"),
    Column("kind", "Kind", "text"),
    Column("status", "Status", "status"),
    Column("suspect", "Suspect", "mark"),
    Column("delta", "Change", "change"),
    Column("low", "95 % interval", "interval", "high"),
    Column("baseline", "Baseline", "number"),
    Column("candidate", "Candidate", "number"),
    Column("n_baseline", "Trials base / cand.", "pair", "n_candidate"),
    Column("reason", "Reason", "text"),
    Column("note", "Note", "text"),
    Column("runs_needed", "Replays to settle", "count"),
    Column("n_unscored", "Unscored", "count"),
    Column("interval_kind", "Interval by", "text"),
)
METRICS = (
    Column("metric", "Metric", "text"),
    Column("kind", "Kind", "text"),
    Column("n_paired", "Cases compared", "of", "n_cases"),
    Column("baseline", "Baseline mean", "number"),
    Column("candidate", "Candidate mean", "number"),
    Column("delta", "Mean change", "change"),
    Column("low", "95 % interval", "interval", "high"),
    Column("percent", "Change in %", "percent"),
    Column("n_regressed", "Regressed", "count"),
    Column("n_inconclusive", "Inconclusive", "count"),
    Column("n_unchanged", "Unchanged", "count"),
    Column("n_improved", "Improved", "count"),
    Column("n_skipped", "Skipped", "count"),
    Column("higher_is_better", "Higher is better", "flag"),
)
RUNS = (
    Column("run_id", "Run", "text"),
    Column("role", "Role", "text"),
    Column("label", "Label", "text"),
    Column("agent", "Agent", "text"),
    Column("version", "Version", "text"),
    Column("started_at", "Started", "text"),
    Column("finished_at", "Finished", "text"),
    Column("fingerprint", "Fingerprint", "text"),
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
    Column("ended", "Ended", "text"),
    Column("baseline_id", "Compared with", "text"),
    Column("verdict", "Verdict", "text"),
    Column("n_asked", "Cases asked for", "count"),
    Column("n_kept", "Results kept", "count"),
    Column("n_scored", "Scored", "count"),
    Column("n_regressed", "Regressed", "count"),
    Column("n_improved", "Improved", "count"),
    Column("n_unchanged", "Unchanged", "count"),
    Column("n_inconclusive", "Inconclusive", "count"),
    Column("n_skipped", "Skipped", "count"),
    Column("reason", "First reason", "text"),
)
