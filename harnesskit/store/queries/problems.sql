-- One row per thing that was wrong, problems before notes.
SELECT source, file, line, field, severity, kind, message
FROM problems
ORDER BY severity DESC, source, file, line, field, kind, message;
