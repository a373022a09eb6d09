-- One row per case and metric: the captured score that a journaled regression run compared with.
-- $run: the run.
SELECT s.sample_id, 'captured' AS role, s.case_id, known_kind(s.attributes) AS kind, b.key AS metric,
    TRY_CAST(b.value AS DOUBLE) AS value,
    CASE WHEN TRY_CAST(b.value AS DOUBLE) IS NULL THEN 'unscored' ELSE 'ok' END AS status
FROM samples AS s, json_each(s.attributes -> '$.baseline_scores') AS b
WHERE s.run_id = $run
ORDER BY s.case_id, metric;
