-- One row per counting sample, metric and grader of captures, controls and replays.
-- A sample without any score has one row without a metric. Arms under a rule on trial are left out: they try what may never be taken.
SELECT g.sample_id, g.run_id, g.role, g.arm, g.case_id, g.trial, g.pair, g.metric, g.grader, g.value, g.status,
    g.occurred_at
FROM case_scores AS g JOIN (SELECT run_id, rule_id FROM runs) AS r USING (run_id)
WHERE g.role IN ('captured', 'control', 'replay') AND g.case_id IS NOT NULL
    AND (r.rule_id IS NULL OR g.arm = 'control')
UNION ALL
SELECT s.sample_id, s.run_id, r.role, s.arm, s.case_id, s.trial, s.pair, NULL, NULL, NULL, s.status, s.occurred_at
FROM samples AS s JOIN runs AS r USING (run_id)
WHERE r.role IN ('control', 'replay') AND s.counts AND s.case_id IS NOT NULL AND (r.rule_id IS NULL OR s.arm = 'control')
    AND NOT EXISTS (SELECT 1 FROM raw.all_scores AS g WHERE g.run_id = s.run_id AND g.sample_id = s.sample_id)
ORDER BY case_id, run_id, sample_id, metric, grader;
