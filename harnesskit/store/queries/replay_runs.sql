-- One row per run that replayed cases, newest first.
-- no parameters
SELECT r.run_id, r.role, r.label, r.agent, r.version, r.rule_id, coalesce(r.finished_at, r.started_at) AS ended,
    count(s.sample_id) AS n_samples,
    count(s.sample_id) FILTER (WHERE s.status = 'scored') AS n_scored,
    count(DISTINCT s.case_id) AS n_cases,
    CAST(r.parameters ->> '$.total' AS BIGINT) AS n_asked
FROM runs AS r LEFT JOIN samples AS s ON s.run_id = r.run_id AND s.counts
WHERE r.role IN ('replay', 'control')
GROUP BY r.run_id, r.role, r.label, r.agent, r.version, r.rule_id, r.finished_at, r.started_at, r.parameters
ORDER BY ended DESC NULLS LAST, r.run_id;
