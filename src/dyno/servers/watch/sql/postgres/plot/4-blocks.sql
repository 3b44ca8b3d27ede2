-- Blocks a second
SELECT bucket(ts) AS moment, 'read' AS name, sum(blks_read) / width() AS value FROM pg_stat_database GROUP BY ALL
UNION ALL SELECT bucket(ts), 'found in the cache', sum(blks_hit) / width() FROM pg_stat_database GROUP BY ALL ORDER BY moment
