-- One row per metric: the mean score of some samples of a case.
-- $case: the case. $samples: their ids.
SELECT metric, avg(value) AS value, count(*) AS n
FROM case_scores
WHERE case_id = $case AND sample_id IN (SELECT unnest($samples)) AND status = 'ok' AND value IS NOT NULL
GROUP BY metric
ORDER BY metric;
