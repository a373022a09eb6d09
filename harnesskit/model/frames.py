"""The contracts of the tables of a workspace: names, grain, keys, and what each column means.

The schema in ``store/schema.sql`` has these columns in this order, and every meaning is the column's ``COMMENT``.
"""

from __future__ import annotations

from harnesskit.model.contract import Contract

CASES = Contract(
    name="cases",
    grain="case",
    key=("case_id",),
    columns={
        "case_id": "identity of the case, exactly as in its file",
        "kind": "failure (to fix) or win (to protect)",
        "session_id": "session that the case was captured from",
        "created_at": "when it was captured, UTC; missing when the file gives no readable time",
        "signature": "condition labels in file order, repeats kept, e.g. breach:tool_correctness",
        "signature_key": "JSON of the sorted labels, repeats kept: equal for cases with the same signature",
        "baseline_scores": "JSON object, metric to captured score; null where the score was not a usable number",
        "replay_input": "JSON payload for the replay function, exactly as in the file; missing when none was attached",
        "replayable": "true when a replay input other than null is attached",
        "notes": "free text kept at capture",
        "file": "path of the case file, relative to the workspace",
        "content_hash": "SHA-256 of the bytes of the file",
    },
)

RUNS = Contract(
    name="runs",
    grain="run",
    key=("run_id",),
    columns={
        "run_id": "identity of the run; journal:<byte offset> for a run found in the journal, captured for the "
        "captured baselines, online:<source> for imported production samples",
        "role": "captured, control, candidate, replay or online",
        "label": "name given by people",
        "rule_id": "candidate rule under test, if the run tests one",
        "agent": "name of the agent that produced the samples",
        "version": "version of that agent",
        "started_at": "when the run began, UTC",
        "finished_at": "when the run ended, UTC; missing while it is running or when it was cut off",
        "parameters": "JSON object of run settings and counts",
        "policy": "JSON object of the policy frozen before the first replay; missing when there was none",
        "fingerprint": "JSON object naming what produced the samples (agent, prompt, model, tools, judge, rules hash)",
    },
)

SAMPLES = Contract(
    name="samples",
    grain="attempt",
    key=("sample_id",),
    columns={
        "sample_id": "identity of the attempt",
        "run_id": "run that the attempt belongs to",
        "case_id": "case that was replayed; missing for online samples without a case",
        "session_id": "session of this attempt (a replay always makes a new one)",
        "trace_id": "trace (turn) inside the session, if the sample is one turn",
        "turn_index": "position of the turn in its session",
        "arm": "condition inside the run, e.g. control or candidate",
        "trial": "1 for the first independent repeat of a case in a run and arm, then 2, 3, ...",
        "attempt": "1 for the first try of a trial, higher for retries of the same trial",
        "counts": "true for the one attempt of a trial that is evidence: the last that finished",
        "pair": "identity of the control/candidate pair the attempt belongs to",
        "round": "round of an adaptive run in which the attempt was made",
        "cluster": "what groups dependent samples (user, task family); missing means the sample stands alone",
        "occurred_at": "when the attempt happened, UTC",
        "status": "scored, inconclusive, skipped, error or timeout",
        "reason": "why the status is not scored",
        "input": "JSON input given to the agent",
        "output": "JSON output of the agent",
        "steps": "JSON list of the steps (tool calls, messages) taken",
        "error": "text of the error, if one was raised",
        "duration_s": "seconds of execution, waiting for the environment not included",
        "env_wait_s": "seconds spent waiting for the environment",
        "input_tokens": "tokens read by the model",
        "output_tokens": "tokens written by the model",
        "cost_usd": "cost in US dollars",
        "candidate_surfaced": "true when the candidate rule was found through the rule tools during this replay",
        "attributes": "JSON object of everything else the source said",
    },
)

SCORES = Contract(
    name="scores",
    grain="sample, metric and grader",
    key=("sample_id", "metric", "grader"),
    columns={
        "sample_id": "attempt that was scored",
        "metric": "name of the metric, exactly as given",
        "grader": "who scored it",
        "grader_version": "version of the grader, settings included",
        "value": "the score; missing unless the status is ok",
        "status": "ok, unscored, error, out_of_range or not_applicable",
        "reason": "why there is no value, or the grader's explanation",
    },
)

METRICS = Contract(
    name="metrics",
    grain="metric",
    key=("metric",),
    columns={
        "metric": "name of the metric",
        "tier": "0 outcome, 1 every turn, 2 when tier 1 fired, 3 when tier 2 breached; missing when not declared",
        "low": "lowest possible value; missing when unbounded",
        "high": "highest possible value; missing when unbounded",
        "higher_is_better": "true when a higher value is better; missing when not known",
        "threshold": "a value on the bad side of it is a breach; missing when none is declared",
        "tolerance": "largest change, in the metric's own unit, that still counts as no change",
        "declared": "false for a metric that only turned up in the data",
    },
)

RULES = Contract(
    name="rules",
    grain="rule (its latest record)",
    key=("rule_id",),
    columns={
        "rule_id": "identity of the rule",
        "status": "candidate, active or retired; unknown when the record says anything else",
        "metric": "metric the rule is meant to improve",
        "scope": "topic the rule is filed under",
        "applicability": "global, topical or task",
        "tags": "labels of the rule",
        "failure_signatures": "signatures of the failures the rule was written for",
        "rule": "text of the rule",
        "rationale": "why it was written",
        "source_notice_id": "notice it was written for",
        "created_at": "when the rule was first written, UTC",
        "trial_started_at": "when its forward trial began, UTC",
        "baseline_sessions": "sessions behind the breach rate before the trial",
        "baseline_breached_sessions": "of these, sessions with a breach of the rule's metric",
        "baseline_window": "journal records looked at for that rate",
        "observed_sessions": "sessions seen during the trial",
        "breached_sessions": "of these, sessions with a breach; repeats kept as recorded",
        "replay_attempts": "replay rounds spent on the rule",
        "trial_verdict": "verdict recorded in the trial, e.g. promoted:<reason>",
        "records": "number of records of this rule in rules.jsonl",
    },
)

NOTICES = Contract(
    name="notices",
    grain="notice",
    key=("notice_id",),
    columns={
        "notice_id": "identity of the notice",
        "session_id": "session it is about",
        "created_at": "when it was posted, UTC",
        "turn_index": "turn of the session that raised it",
        "severity": "breach, trend or needs_human; unknown when the file says anything else",
        "signatures": "condition labels, e.g. breach:tool_correctness",
        "status": "pending or acknowledged; unknown when the file says anything else",
        "summary": "one line of text",
        "metrics": "JSON list of the alerting scores",
        "flagged_traces": "traces named as the cause",
        "recommended_scope": "scope the harness proposes for a rule",
        "applicability_hint": "global, topical or task",
        "resolution": "JSON of how it was resolved; missing while pending",
        "resolution_kind": "candidate, duplicate, already_covered, no_proposal or unactionable",
        "resolution_rule_id": "rule that resolved it",
        "observe_only": "true when it was only journaled, never posted",
        "file": "path of the notice file relative to the workspace; missing for one known from the journal only",
    },
)

EVENTS = Contract(
    name="events",
    grain="journal record",
    key=("offset",),
    columns={
        "offset": "byte at which the record begins in journal.jsonl",
        "line": "line number, from 1; missing when read from the tail",
        "type": "kind of event",
        "ts": "when it was written, UTC; missing when the record gives no readable time",
        "rule_id": "rule it speaks of",
        "case_id": "case it speaks of",
        "session_id": "session it speaks of",
        "payload": "JSON of the whole record",
    },
)

LABELS = Contract(
    name="labels",
    grain="label",
    key=("session_id", "rater", "at"),
    columns={
        "session_id": "session that was judged",
        "rater": "who judged it",
        "at": "when, UTC",
        "failed": "true when the session failed",
        "metric": "metric that was judged; missing for the whole session",
        "value": "value given on a scale, if one was used",
        "note": "free text",
    },
)

DECISIONS = Contract(
    name="decisions",
    grain="signed review, or what was done on one",
    key=("decision_id",),
    columns={
        "decision_id": "identity of the review",
        "at": "when it was signed, UTC",
        "subject": "what was decided on, e.g. a rule id or a run id",
        "guard_kind": "rule, case or check; missing for a regression run",
        "verdict": "promote, retire or pending; pass, fail or inconclusive",
        "reason": "reason of the closed set",
        "detail": "what the reason leaves open",
        "author": "who wrote the review",
        "approver": "who approved it",
        "note": "free text",
        "override": "why the verdict was overruled, if it was",
        "policy": "JSON object of the policy",
        "policy_hash": "SHA-256 of the policy",
        "evidence_hash": "SHA-256 of the evidence",
        "report_hash": "SHA-256 of the report that was signed",
        "package_version": "version of harnesskit",
        "review_by": "date by which it must be looked at again, UTC",
        "supersedes": "earlier decision that this one replaces",
        "previous_hash": "hash of the record before it in decisions.jsonl",
        "action": "sign, or what was done: promote, retire, revoke",
        "guard_hash": "SHA-256 of the guard as it was judged, e.g. of a rule's text; missing for a run",
        "fingerprint": "JSON object of what produced the candidate's samples; missing when it is not known",
    },
)

PROBLEMS = Contract(
    name="problems",
    grain="thing that was wrong on the way in",
    key=("source", "file", "line", "field", "kind"),
    columns={
        "source": "kind of file: evalset, rules, journal, mailbox, history, dump, scopes, run, online, labels, ...",
        "file": "path relative to the workspace",
        "line": "line number from 1, for files with a record per line",
        "field": "field inside the record, dotted",
        "severity": "problem (something was refused or could not be read) or note (read by a stated rule)",
        "kind": "short name of what was wrong",
        "message": "what was found and what was done about it",
    },
)

TABLES: dict[str, Contract] = {
    c.name: c for c in (CASES, RUNS, SAMPLES, SCORES, METRICS, RULES, NOTICES, EVENTS, LABELS, DECISIONS, PROBLEMS)
}
