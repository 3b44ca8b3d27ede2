-- Sessions' worth of time in the dearest statements
WITH dearest AS (SELECT query_key FROM pg_stat_statements GROUP BY ALL ORDER BY sum(exec_time_us) DESC LIMIT 7)
SELECT bucket(ts) AS moment, CASE WHEN query_key IN (FROM dearest) THEN left(coalesce(query, '?'), 60) ELSE 'all others' END AS name,
  sum(exec_time_us) / 1e6 / width() AS value
FROM pg_stat_statements GROUP BY ALL ORDER BY moment
