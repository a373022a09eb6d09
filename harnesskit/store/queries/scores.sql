-- One row per counting sample, metric and grader.
-- $run, $role, $arm, $case, $kind, $metric: lists of values; $since, $until: times. NULL means any.
SELECT sample_id, run_id, role, arm, case_id, kind, session_id, cluster, trial, pair, round, metric, grader,
    grader_version, value, status, reason, occurred_at, candidate_surfaced
FROM case_scores
WHERE ($run IS NULL OR list_contains($run, run_id))
    AND ($role IS NULL OR list_contains($role, role))
    AND ($arm IS NULL OR list_contains($arm, arm))
    AND ($case IS NULL OR list_contains($case, case_id))
    AND ($kind IS NULL OR list_contains($kind, kind))
    AND ($metric IS NULL OR list_contains($metric, metric))
    AND ($since::TIMESTAMP IS NULL OR occurred_at >= $since::TIMESTAMP)
    AND ($until::TIMESTAMP IS NULL OR occurred_at < $until::TIMESTAMP)
ORDER BY run_id, case_id, sample_id, metric, grader;
