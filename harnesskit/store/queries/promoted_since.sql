-- One row per guard that was promoted since the last regression run began and still is, oldest first.
-- no parameters
WITH last_run AS (
    SELECT max(coalesce(started_at, finished_at)) AS began FROM runs WHERE role = 'replay' AND rule_id IS NULL
), promoted AS (
    SELECT e.rule_id AS guard_id, max(e.ts) AS promoted_at
    FROM events AS e JOIN rules AS r USING (rule_id)
    WHERE e.type = 'rule_promote' AND r.status = 'active'
    GROUP BY e.rule_id
    UNION
    SELECT subject, max("at") FILTER (WHERE action = 'promote')
    FROM decisions
    WHERE guard_kind IN ('case', 'check') AND action IN ('promote', 'retire')
    GROUP BY subject
    HAVING arg_max(action, "at") = 'promote'
)
SELECT p.guard_id, p.promoted_at, l.began AS last_run
FROM promoted AS p, last_run AS l
WHERE p.promoted_at IS NOT NULL AND (l.began IS NULL OR p.promoted_at >= l.began)
ORDER BY p.promoted_at, p.guard_id;
