-- One row per session that people labelled on a metric and that the judge scored on it: the score beside their labels.
-- $metric
WITH judged AS (
    SELECT session_id, avg(value) AS value
    FROM online_samples
    WHERE metric = $metric AND status = 'ok' AND session_id IS NOT NULL
    GROUP BY session_id
), labelled AS (
    SELECT session_id, avg(CASE WHEN failed THEN 1.0 ELSE 0.0 END) AS failed
    FROM labels
    WHERE metric = $metric AND failed IS NOT NULL
    GROUP BY session_id
)
SELECT session_id, j.value, l.failed
FROM judged AS j JOIN labelled AS l USING (session_id)
ORDER BY session_id;
