-- One row per journal record: the last ones, oldest first.
-- $last: how many; $types: list of types, NULL means any.
SELECT "offset", line, type, ts, rule_id, case_id, session_id, payload
FROM (
    SELECT * FROM events
    WHERE $types IS NULL OR list_contains($types, type)
    ORDER BY "offset" DESC LIMIT $last
)
ORDER BY "offset";
