-- One row per online sample and grader of a metric, oldest first: what a check would have seen.
-- $metric, $grader (null: any)
SELECT sample_id, session_id, cluster, occurred_at, grader, value, status
FROM online_samples
WHERE metric = $metric AND (CAST($grader AS VARCHAR) IS NULL OR grader = $grader) AND session_id IS NOT NULL
ORDER BY occurred_at, sample_id, grader;
