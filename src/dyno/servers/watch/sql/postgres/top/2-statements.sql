-- Statements that took most of the time.
SELECT left(query, 100) AS query, dbname AS db, round(calls / seconds(), 1) AS per_second, round(per(exec_time_us, calls) / 1000, 3) AS avg_ms,
  round(exec_time_us / 1e6 / seconds(), 2) AS sessions, round(per(rows, calls), 1) AS rows
FROM pg_stat_statements WHERE calls > 0 ORDER BY exec_time_us DESC
