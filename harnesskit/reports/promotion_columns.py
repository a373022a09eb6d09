"""The columns that the tables of the promotion report show, and how."""

from __future__ import annotations

from harnesskit.reports.cells import Column

FACTS = (Column("what", "What", "text"), Column("value", "What is known of it", "text"))
EFFECTS = (
    Column("case_id", "Failing case", "text"),
    Column("role", "Why it is here", "text"),
    Column("delta", "Change", "change"),
    Column("control", "Mean, without → with", "arrow", "candidate"),
    Column("n_control", "Runs without / with", "pair", "n_candidate"),
    Column("signature", "Labels", "text"),
    Column("notes", "What went wrong", "text"),
)
WINS = (
    Column("case_id", "Protected win", "text"),
    Column("delta", "Change", "change"),
    Column("low", "95 % interval", "interval", "high"),
    Column("harm", "Ratio of harm", "number"),
    Column("n_control", "Runs without / with", "pair", "n_candidate"),
    Column("baseline_source", "Compared with", "text"),
    Column("note", "Note", "text"),
)
ARMS = (
    Column("arm", "Arm", "text"),
    Column("kind", "Kind", "text"),
    Column("n_cases", "Cases", "count"),
    Column("n_runs", "Runs", "count"),
    Column("n_scored", "Scored", "of", "n_runs"),
    Column("n_failed", "Errors, time-outs", "count"),
    Column("n_other", "Proved nothing", "count"),
    Column("n_read", "Guard was read", "count"),
)
COSTS = (
    Column("quantity", "Per run", "text"),
    Column("unit", "Unit", "text"),
    Column("control", "Mean, without → with", "arrow", "candidate"),
    Column("delta", "Change", "change"),
    Column("low", "95 % interval", "interval", "high"),
    Column("n_cases", "Cases", "count"),
)
PATH = (
    Column("check", "Check", "text"),
    Column("look", "Look", "count"),
    Column("replays", "Replays so far", "count"),
    Column("n_control", "Runs without / with", "pair", "n_candidate"),
    Column("estimate", "Change", "change"),
    Column("scale", "Scale", "text"),
    Column("evidence", "Evidence", "number"),
    Column("bound", "Boundary", "number"),
    Column("decided", "Decided", "mark"),
)
PAIRS = (
    Column("case_id", "Case", "text"),
    Column("kind", "Kind", "text"),
    Column("delta", "Change", "change"),
    Column("control", "Score, without → with", "arrow", "candidate"),
    Column("read", "Guard read", "flag"),
    Column("control_sample", "Run without", "text"),
    Column("candidate_sample", "Run with", "text"),
)
LINEAGE = (
    Column("run_id", "Trial", "text"),
    Column("started_at", "Begun", "text"),
    Column("verdict", "Verdict", "text"),
    Column("reason", "Reason", "text"),
    Column("replays", "Replays", "count"),
    Column("policy", "Policy", "text"),
    Column("text", "Text that was tried", "text"),
)
LOOKS = (
    Column("at", "Asked", "time"),
    Column("policy", "Policy", "text"),
    Column("verdict", "Verdict under it", "text"),
)
OTHERS = (
    Column("id", "Guard", "text"),
    Column("text", "Text", "text"),
    Column("promoted_at", "Promoted", "time"),
    Column("since", "Since the last regression run", "mark"),
)
REVIEWS = (
    Column("decision_id", "Record", "text"),
    Column("at", "When", "time"),
    Column("action", "What", "text"),
    Column("status", "Stands", "text"),
    Column("verdict", "Verdict", "text"),
    Column("author", "Author", "text"),
    Column("approver", "Approver", "text"),
    Column("review_by", "Review by", "time"),
    Column("override", "Override", "text"),
    Column("note", "Note", "text"),
)
LEDGER = (
    Column("side", "Side", "text"),
    Column("metric", "Metric", "text"),
    Column("kind", "Kind", "text"),
    Column("state", "State", "text"),
    Column("n_cases", "Cases", "count"),
    Column("n_trials", "Runs", "count"),
    Column("reason", "Reason", "text"),
)
