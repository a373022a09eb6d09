-- One row per counting sample, metric and grader of some runs; a sample without any score has one row without a metric.
-- $runs: the runs.
SELECT sample_id, run_id, role, arm, case_id, kind, session_id, cluster, trial, pair, round, metric, grader,
    grader_version, value, status, reason, occurred_at, candidate_surfaced
FROM case_scores WHERE run_id IN (SELECT unnest($runs)) AND case_id IS NOT NULL
UNION ALL
SELECT s.sample_id, s.run_id, r.role, s.arm, s.case_id, coalesce(c.kind, known_kind(s.attributes)), s.session_id,
    s.cluster, s.trial, s.pair, s.round, NULL, NULL, NULL, NULL,
    CASE WHEN s.status IN ('skipped', 'error', 'timeout') THEN s.status ELSE 'unscored' END,
    coalesce(s.reason, s.status), s.occurred_at, s.candidate_surfaced
FROM samples AS s LEFT JOIN runs AS r USING (run_id) LEFT JOIN cases AS c USING (case_id)
WHERE s.run_id IN (SELECT unnest($runs)) AND s.counts AND s.case_id IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM raw.all_scores AS g WHERE g.run_id = s.run_id AND g.sample_id = s.sample_id)
ORDER BY run_id, case_id, sample_id, metric, grader;
