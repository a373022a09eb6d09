-- One row per attempt of some runs, retries included: what it cost.
-- $runs: the runs.
SELECT sample_id, run_id, coalesce(arm, role) AS arm, case_id, trial, attempt, counts, status, duration_s, env_wait_s,
    input_tokens, output_tokens, cost_usd
FROM samples JOIN (SELECT run_id, role FROM runs) USING (run_id)
WHERE run_id IN (SELECT unnest($runs)) AND case_id IS NOT NULL
ORDER BY run_id, case_id, sample_id;
