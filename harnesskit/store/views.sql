-- What users query. Every view leaves out what is later than the variable as_of (NULL: nothing).

-- One row per case; an id that stands in two files is in neither, and is a row of problems.
CREATE VIEW cases AS
SELECT * FROM (SELECT * FROM raw.cases QUALIFY count(*) OVER (PARTITION BY case_id) = 1)
WHERE getvariable('as_of') IS NULL OR created_at <= getvariable('as_of');

-- One row per attempt of a run; one without a time belongs to the time of its run.
CREATE VIEW raw.past_samples AS
SELECT * FROM raw.samples
WHERE getvariable('as_of') IS NULL OR (coalesce(occurred_at <= getvariable('as_of'), true) AND run_id NOT IN
    (SELECT run_id FROM raw.runs WHERE coalesce(started_at, finished_at) > getvariable('as_of')));

-- One row per run; the captured baselines and each online source count as one run.
CREATE VIEW runs AS
SELECT * FROM raw.runs
WHERE getvariable('as_of') IS NULL OR (coalesce(coalesce(started_at, finished_at) <= getvariable('as_of'), true)
    AND (role <> 'online' OR run_id IN (SELECT run_id FROM raw.past_samples))) -- an online source has no time of its own
UNION ALL
SELECT 'captured', 'captured', 'captured baselines', NULL, NULL, NULL, min(created_at), max(created_at), NULL, NULL, NULL
FROM cases HAVING count(*) > 0
UNION ALL
SELECT 'online:' || source, 'online', source, NULL, NULL,
    CASE WHEN min(version) = max(version) THEN min(version) END, min(occurred_at), max(occurred_at), NULL, NULL, NULL
FROM raw.online
WHERE getvariable('as_of') IS NULL OR occurred_at <= getvariable('as_of')
GROUP BY source;

-- One row per attempt: those of runs, the capture of each case, and the online ones.
CREATE VIEW samples AS
SELECT * FROM raw.past_samples
UNION ALL
SELECT 'captured:' || case_id, 'captured', case_id, session_id, NULL, NULL, NULL, 1, 1, true, NULL, NULL, NULL,
    created_at, 'scored', NULL, replay_input, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
FROM cases
UNION ALL
SELECT * EXCLUDE (metric, grader, grader_version, value, score_status, score_reason, head, source, version)
FROM raw.online
WHERE head AND (getvariable('as_of') IS NULL OR occurred_at <= getvariable('as_of'));

-- One row per captured case and metric, before any range is looked at; inside this schema a bare cases is raw.cases.
CREATE VIEW raw.captured AS
SELECT c.case_id, c.kind, c.session_id, c.created_at, c.file, j.key AS metric, TRY_CAST(j.value AS DOUBLE) AS value
FROM main.cases AS c, json_each(c.baseline_scores) AS j;

-- One row per sample, metric and grader, before any range is looked at; the run tells equal sample ids apart.
CREATE VIEW raw.all_scores AS
SELECT * FROM raw.scores
WHERE getvariable('as_of') IS NULL OR (run_id, sample_id) IN (SELECT (run_id, sample_id) FROM raw.past_samples)
UNION ALL
SELECT 'captured', 'captured:' || case_id, metric, 'harness', NULL, value,
    CASE WHEN value IS NULL THEN 'unscored' ELSE 'ok' END,
    CASE WHEN value IS NULL THEN 'the case file gives no usable number' END
FROM raw.captured
UNION ALL
SELECT run_id, sample_id, metric, grader, grader_version, value, score_status, score_reason
FROM raw.online
WHERE metric IS NOT NULL AND (getvariable('as_of') IS NULL OR occurred_at <= getvariable('as_of'));

-- One row per sample, metric and grader; a value outside the declared range of its metric is out_of_range, not a value.
CREATE VIEW raw.ranged_scores AS
SELECT s.run_id, s.sample_id, s.metric, s.grader, s.grader_version, s.value,
    s.status = 'ok' AND coalesce(s.value < m.low - 1e-9 OR s.value > m.high + 1e-9, false) AS outside,
    s.status, s.reason, m.low, m.high
FROM raw.all_scores AS s LEFT JOIN raw.metrics AS m USING (metric);

CREATE VIEW raw.checked_scores AS
SELECT run_id, sample_id, metric, grader, grader_version,
    CASE WHEN outside THEN NULL ELSE value END AS value,
    CASE WHEN outside THEN 'out_of_range' ELSE status END AS status,
    CASE WHEN outside
        THEN value || ' is outside the declared range ' || coalesce(low::VARCHAR, '-') || ' to ' || coalesce(high::VARCHAR, '-')
        ELSE reason END AS reason
FROM raw.ranged_scores;

CREATE VIEW scores AS SELECT * EXCLUDE (run_id) FROM raw.checked_scores;

-- One row per metric: every declared one, and every one that turned up.
CREATE VIEW metrics AS
WITH found AS (SELECT DISTINCT metric FROM raw.all_scores)
SELECT m.* FROM raw.metrics AS m WHERE m.declared OR m.metric IN (SELECT metric FROM found)
UNION ALL
SELECT metric, NULL, 0.0, 1.0, true, NULL, NULL, false FROM found WHERE metric NOT IN (SELECT metric FROM raw.metrics);

-- One row per rule; looking back, the status is the one that the journal had recorded by then.
CREATE VIEW rules AS
WITH recorded AS (
    SELECT rule_id, arg_max(type, "offset") FILTER (ts <= getvariable('as_of')) AS type,
        arg_min(type, "offset") FILTER (ts > getvariable('as_of')) AS later
    FROM raw.events
    WHERE type IN ('rule_add', 'rule_promote', 'rule_retire')
    GROUP BY rule_id
)
SELECT r.* REPLACE (CASE
    WHEN getvariable('as_of') IS NULL OR (recorded.type IS NULL AND recorded.later IS NULL) THEN r.status
    WHEN recorded.type IS NULL AND recorded.later = 'rule_retire' THEN 'unknown' -- a candidate or active until then
    WHEN recorded.type IS NULL OR recorded.type = 'rule_add' THEN 'candidate'
    WHEN recorded.type = 'rule_promote' THEN 'active'
    ELSE 'retired' END AS status)
FROM raw.rules AS r LEFT JOIN recorded USING (rule_id)
WHERE getvariable('as_of') IS NULL OR r.created_at <= getvariable('as_of');

-- One row per notice; one that lies in both folders is the processed one, one in the mailbox wins over the journal's.
-- Looking back, one that was resolved later was still pending.
CREATE VIEW notices AS
SELECT * EXCLUDE (undone) REPLACE (
    CASE WHEN undone THEN 'pending' ELSE status END AS status,
    CASE WHEN NOT undone THEN resolution END AS resolution,
    CASE WHEN NOT undone THEN resolution_kind END AS resolution_kind,
    CASE WHEN NOT undone THEN resolution_rule_id END AS resolution_rule_id
)
FROM (
    SELECT *, getvariable('as_of') IS NOT NULL
        AND coalesce(TRY_CAST(resolution ->> '$.acked_at' AS TIMESTAMP) > getvariable('as_of'), false) AS undone
    FROM raw.notices
    WHERE getvariable('as_of') IS NULL OR created_at <= getvariable('as_of')
    QUALIFY row_number() OVER (PARTITION BY notice_id ORDER BY file DESC NULLS LAST, created_at, summary) = 1
);

CREATE VIEW events AS
SELECT * FROM raw.events WHERE getvariable('as_of') IS NULL OR ts <= getvariable('as_of');

CREATE VIEW labels AS
SELECT * FROM raw.labels WHERE getvariable('as_of') IS NULL OR "at" <= getvariable('as_of');

CREATE VIEW decisions AS
SELECT * FROM raw.decisions WHERE getvariable('as_of') IS NULL OR "at" <= getvariable('as_of');

-- The kind that a sample was recorded with; anything but win and failure is missing, so its case stays protected.
CREATE MACRO known_kind(attributes) AS
    CASE WHEN attributes ->> '$.kind' IN ('win', 'failure') THEN attributes ->> '$.kind' END;

-- One row per counting sample, metric and grader: what every measure takes.
CREATE VIEW case_scores AS
SELECT s.sample_id, s.run_id, r.role, s.arm, s.case_id, coalesce(c.kind, known_kind(s.attributes)) AS kind,
    s.session_id, s.cluster, s.trial, s.pair, s.round, g.metric, g.grader, g.grader_version, g.value, g.status,
    g.reason, s.occurred_at, s.candidate_surfaced
FROM samples AS s
JOIN raw.checked_scores AS g ON g.sample_id = s.sample_id AND g.run_id = s.run_id
LEFT JOIN runs AS r ON r.run_id = s.run_id
LEFT JOIN cases AS c ON c.case_id = s.case_id
WHERE s.counts;

-- One row per case and metric: the captured score, and each scored control trial.
CREATE VIEW baselines AS
SELECT case_id, kind, metric, value, 'captured' AS source, NULL::BIGINT AS trial, 1 AS n, NULL::DOUBLE AS sd,
    created_at AS measured_at
FROM raw.captured WHERE value IS NOT NULL
UNION ALL
SELECT case_id, kind, metric, value, 'control', trial, count(*) OVER one, stddev_samp(value) OVER one, occurred_at
FROM case_scores
WHERE role = 'control' AND status = 'ok' AND case_id IS NOT NULL
WINDOW one AS (PARTITION BY case_id, metric, grader);

-- One row per replayed sample.
CREATE VIEW replays AS
SELECT s.*, r.role, r.label, r.rule_id, r.agent, r.version, r.fingerprint
FROM samples AS s JOIN runs AS r USING (run_id)
WHERE r.role IN ('control', 'candidate', 'replay');

-- One row per online sample and metric.
CREATE VIEW online_samples AS
SELECT s.sample_id, s.session_id, s.trace_id, s.cluster, s.occurred_at, g.metric, g.grader, g.value, g.status, g.reason,
    coalesce(r.label, r.run_id) AS source, r.version, s.arm, s.attributes
FROM raw.samples AS s
JOIN raw.runs AS r ON r.run_id = s.run_id AND r.role = 'online'
JOIN raw.checked_scores AS g ON g.sample_id = s.sample_id AND g.run_id = s.run_id
WHERE getvariable('as_of') IS NULL OR s.occurred_at <= getvariable('as_of')
UNION ALL
SELECT o.sample_id, o.session_id, o.trace_id, o.cluster, o.occurred_at, o.metric, o.grader,
    CASE WHEN o.score_status = 'ok' AND coalesce(o.value < m.low - 1e-9 OR o.value > m.high + 1e-9, false) THEN NULL
        ELSE o.value END,
    CASE WHEN o.score_status = 'ok' AND coalesce(o.value < m.low - 1e-9 OR o.value > m.high + 1e-9, false)
        THEN 'out_of_range' ELSE o.score_status END,
    o.score_reason, o.source, o.version, o.arm, o.attributes
FROM raw.online AS o LEFT JOIN raw.metrics AS m USING (metric)
WHERE o.metric IS NOT NULL AND (getvariable('as_of') IS NULL OR o.occurred_at <= getvariable('as_of'));

-- One row per thing that was wrong: in a file, or between files.
CREATE VIEW problems AS
SELECT * FROM raw.problems
UNION ALL
SELECT 'evalset', c.file, NULL, 'id', 'problem', 'duplicate_id',
    'The id ' || case_id || ' stands in ' || same.named || '; none of them was loaded. Give each case its own id.'
FROM raw.cases AS c JOIN (
    SELECT case_id, array_to_string(list_sort(list(file))[1:5], ' and ')
        || CASE WHEN count(*) > 5 THEN ' and ' || (count(*) - 5) || ' more' ELSE '' END AS named
    FROM raw.cases GROUP BY case_id HAVING count(*) > 1
) AS same USING (case_id)
UNION ALL
SELECT 'mailbox', file, NULL, 'id', 'problem', 'duplicate_id',
    'The notice ' || notice_id || ' lies in more than one file; the processed one holds.'
FROM raw.notices WHERE file IS NOT NULL QUALIFY count(*) OVER (PARTITION BY notice_id) > 1
UNION ALL
SELECT 'evalset', k.file, NULL, 'baseline_scores.' || k.metric, 'problem', 'out_of_range',
    k.value || ' is outside the range of ' || k.metric || ' (' || coalesce(m.low::VARCHAR, 'no lower end') || ' to '
    || coalesce(m.high::VARCHAR, 'no upper end') || '); it is kept out of every statistic.'
FROM raw.captured AS k JOIN raw.metrics AS m USING (metric)
WHERE k.value < m.low - 1e-9 OR k.value > m.high + 1e-9
UNION ALL
SELECT 'metrics', NULL, NULL, metric, 'problem', 'undeclared_range',
    'The metric ' || metric || ' is not declared and has ' || count(*) || ' value(s) outside 0 to 1 (from ' || min(value)
    || ' to ' || max(value) || '); its changes are shown without a verdict. Declare it in harnesskit/metrics.toml.'
FROM raw.all_scores
WHERE status = 'ok' AND (value < -1e-9 OR value > 1 + 1e-9) AND metric NOT IN (SELECT metric FROM raw.metrics)
GROUP BY metric;
