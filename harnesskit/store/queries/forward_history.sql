-- One row per online sample and grader of a metric in a period before a forward trial.
-- $metric, $since, $until
SELECT session_id, cluster, occurred_at, metric, value, status
FROM online_samples
WHERE metric = $metric AND occurred_at < $until AND occurred_at >= $since
ORDER BY occurred_at, sample_id, grader;
