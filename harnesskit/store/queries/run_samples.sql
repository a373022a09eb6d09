-- One row per counting sample of a run.
-- $run: the run.
SELECT s.*, r.role, coalesce(c.kind, s.attributes ->> '$.kind') AS kind
FROM samples AS s LEFT JOIN runs AS r USING (run_id) LEFT JOIN cases AS c USING (case_id)
WHERE s.run_id = $run AND s.counts
ORDER BY s.case_id, s.arm, s.trial, s.sample_id;
