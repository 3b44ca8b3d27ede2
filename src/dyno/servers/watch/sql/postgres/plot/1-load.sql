-- Transactions a second
SELECT bucket(ts) AS moment, datname AS name, sum(xact_commit + xact_rollback) / width() AS value
FROM pg_stat_database GROUP BY ALL ORDER BY moment
