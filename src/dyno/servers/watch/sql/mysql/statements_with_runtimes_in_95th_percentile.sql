-- Statements whose average latency is among the highest twentieth of all statements'.
WITH averaged AS (
  SELECT *, whole_per(sum_timer_wait, count_star) AS avg_latency, round(whole_per(sum_timer_wait, count_star) / 1e6) AS avg_us FROM events_statements_summary_by_digest),
ranked AS (SELECT avg_us, cume_dist() OVER (ORDER BY avg_us) AS share FROM averaged)
SELECT digest_text AS query, schema_name AS db, starred(sum_no_good_index_used, sum_no_index_used) AS full_scan,
  count_star AS exec_count, sum_errors AS err_count, sum_warnings AS warn_count, sum_timer_wait AS total_latency,
  max_timer_wait AS max_latency, avg_latency, sum_rows_sent AS rows_sent, round(per(sum_rows_sent, count_star)) AS rows_sent_avg,
  sum_rows_examined AS rows_examined, round(per(sum_rows_examined, count_star)) AS rows_examined_avg, first_seen, last_seen, digest
FROM averaged WHERE avg_us >= (SELECT min(avg_us) FROM ranked WHERE share > 0.95) ORDER BY avg_latency DESC
