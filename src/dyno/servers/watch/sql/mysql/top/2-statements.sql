-- Statements that took most of the time.
SELECT left(digest_text, 100) AS query, schema_name AS db, round(count_star / seconds(), 1) AS per_second,
  ms(sum_timer_wait, count_star) AS avg_ms, round(sum_timer_wait / 1e12 / seconds(), 2) AS sessions,
  round(per(sum_rows_examined, count_star), 1) AS rows_examined, sum_errors AS errors
FROM events_statements_summary_by_digest WHERE count_star > 0 ORDER BY sum_timer_wait DESC
