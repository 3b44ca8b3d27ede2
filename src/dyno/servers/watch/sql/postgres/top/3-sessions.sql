-- Statements that sessions were at, or had ended within a transaction, by the number of samples that met them.
SELECT left(query, 100) AS query, usename AS user, CASE WHEN state LIKE 'idle%' THEN state ELSE wait END AS wait,
  count(*) AS samples, round(max(query_us) / 1e6, 2) AS longest_s
FROM pg_stat_activity GROUP BY ALL ORDER BY samples DESC, longest_s DESC
