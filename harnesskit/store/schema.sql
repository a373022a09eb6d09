-- The tables that hold what was read, one row per thing in a file. Times are UTC; JSON is text that the readers have checked.
-- What users query are the views of views.sql, which say what counts; nothing here is thrown away or merged.

CREATE SCHEMA raw;

-- One row per case file that could be used.
CREATE TABLE raw.cases (
    case_id VARCHAR, kind VARCHAR, session_id VARCHAR, created_at TIMESTAMP, signature VARCHAR[], signature_key VARCHAR,
    baseline_scores JSON, replay_input JSON, replayable BOOLEAN, notes VARCHAR, file VARCHAR, content_hash VARCHAR
);

-- One row per run.
CREATE TABLE raw.runs (
    run_id VARCHAR, role VARCHAR, label VARCHAR, rule_id VARCHAR, agent VARCHAR, version VARCHAR, started_at TIMESTAMP,
    finished_at TIMESTAMP, parameters JSON, policy JSON, fingerprint JSON
);

-- One row per attempt.
CREATE TABLE raw.samples (
    sample_id VARCHAR, run_id VARCHAR, case_id VARCHAR, session_id VARCHAR, trace_id VARCHAR, turn_index BIGINT,
    arm VARCHAR, trial BIGINT, attempt BIGINT, counts BOOLEAN, pair VARCHAR, round BIGINT, cluster VARCHAR,
    occurred_at TIMESTAMP, status VARCHAR, reason VARCHAR, input JSON, output JSON, steps JSON, error VARCHAR,
    duration_s DOUBLE, env_wait_s DOUBLE, input_tokens BIGINT, output_tokens BIGINT, cost_usd DOUBLE,
    candidate_surfaced BOOLEAN, attributes JSON
);

-- One row per sample, metric and grader; the run tells samples of the same id apart.
CREATE TABLE raw.scores (
    run_id VARCHAR, sample_id VARCHAR, metric VARCHAR, grader VARCHAR, grader_version VARCHAR, value DOUBLE,
    status VARCHAR, reason VARCHAR
);

-- One row per online sample and metric (a sample without scores has one row); stands in while no Parquet is there.
CREATE TABLE raw.no_online (
    sample_id VARCHAR, run_id VARCHAR, case_id VARCHAR, session_id VARCHAR, trace_id VARCHAR, turn_index BIGINT,
    arm VARCHAR, trial BIGINT, attempt BIGINT, counts BOOLEAN, pair VARCHAR, round BIGINT, cluster VARCHAR,
    occurred_at TIMESTAMP, status VARCHAR, reason VARCHAR, input JSON, output JSON, steps JSON, error VARCHAR,
    duration_s DOUBLE, env_wait_s DOUBLE, input_tokens BIGINT, output_tokens BIGINT, cost_usd DOUBLE,
    candidate_surfaced BOOLEAN, attributes JSON, metric VARCHAR, grader VARCHAR, grader_version VARCHAR, value DOUBLE,
    score_status VARCHAR, score_reason VARCHAR, head BOOLEAN, source VARCHAR, version VARCHAR
);
CREATE VIEW raw.online AS SELECT * FROM raw.no_online;

-- One row per metric with a declaration, the reference's own included.
CREATE TABLE raw.metrics (
    metric VARCHAR, tier BIGINT, low DOUBLE, high DOUBLE, higher_is_better BOOLEAN, threshold DOUBLE, tolerance DOUBLE,
    declared BOOLEAN
);

-- One row per rule: its latest record.
CREATE TABLE raw.rules (
    rule_id VARCHAR, status VARCHAR, metric VARCHAR, scope VARCHAR, applicability VARCHAR, tags VARCHAR[],
    failure_signatures VARCHAR[], rule VARCHAR, rationale VARCHAR, source_notice_id VARCHAR, created_at TIMESTAMP,
    trial_started_at TIMESTAMP, baseline_sessions BIGINT, baseline_breached_sessions BIGINT, baseline_window BIGINT,
    observed_sessions VARCHAR[], breached_sessions VARCHAR[], replay_attempts BIGINT, trial_verdict VARCHAR,
    records BIGINT
);

-- One row per notice file, or per notice known from the journal only.
CREATE TABLE raw.notices (
    notice_id VARCHAR, session_id VARCHAR, created_at TIMESTAMP, turn_index BIGINT, severity VARCHAR,
    signatures VARCHAR[], status VARCHAR, summary VARCHAR, metrics JSON, flagged_traces VARCHAR[],
    recommended_scope VARCHAR, applicability_hint VARCHAR, resolution JSON, resolution_kind VARCHAR,
    resolution_rule_id VARCHAR, observe_only BOOLEAN, file VARCHAR
);

-- One row per journal record.
CREATE TABLE raw.events (
    "offset" BIGINT, line BIGINT, type VARCHAR, ts TIMESTAMP, rule_id VARCHAR, case_id VARCHAR, session_id VARCHAR,
    payload JSON
);

-- One row per label.
CREATE TABLE raw.labels (
    session_id VARCHAR, rater VARCHAR, "at" TIMESTAMP, failed BOOLEAN, metric VARCHAR, value DOUBLE, note VARCHAR
);

-- One row per signed review, or what was done on one.
CREATE TABLE raw.decisions (
    decision_id VARCHAR, "at" TIMESTAMP, subject VARCHAR, guard_kind VARCHAR, verdict VARCHAR, reason VARCHAR,
    detail VARCHAR, author VARCHAR, approver VARCHAR, note VARCHAR, override VARCHAR, policy JSON, policy_hash VARCHAR,
    evidence_hash VARCHAR, report_hash VARCHAR, package_version VARCHAR, review_by TIMESTAMP, supersedes VARCHAR,
    previous_hash VARCHAR, "action" VARCHAR, guard_hash VARCHAR, fingerprint JSON
);

-- One row per thing that was wrong in a file.
CREATE TABLE raw.problems (
    source VARCHAR, file VARCHAR, line BIGINT, field VARCHAR, severity VARCHAR, kind VARCHAR, message VARCHAR
);
