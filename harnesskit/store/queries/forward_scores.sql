-- One row per online sample, metric and grader of the sessions of a forward trial.
-- $sessions: the ids of the sessions, a list
SELECT sample_id, session_id, metric, grader, value, status, reason
FROM online_samples
WHERE session_id IN (SELECT unnest(CAST($sessions AS VARCHAR[])))
ORDER BY session_id, metric, grader, sample_id;
