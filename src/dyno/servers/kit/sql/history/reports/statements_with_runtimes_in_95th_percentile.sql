-- Statements whose average latency is among the highest twentieth of all statements'.
SELECT digest_text AS query, schema_name AS db,
  IF(sum_no_good_index_used > 0 OR sum_no_index_used > 0, '*', '') AS full_scan,
  count_star AS exec_count, sum_errors AS err_count, sum_warnings AS warn_count,
  sum_timer_wait AS total_latency, max_timer_wait AS max_latency,
  IFNULL(sum_timer_wait DIV count_star, 0) AS avg_latency, sum_rows_sent AS rows_sent,
  ROUND(IFNULL(sum_rows_sent / count_star, 0)) AS rows_sent_avg,
  sum_rows_examined AS rows_examined,
  ROUND(IFNULL(sum_rows_examined / count_star, 0)) AS rows_examined_avg,
  first_seen, last_seen, digest
FROM {events_statements_summary_by_digest} s
WHERE ROUND((sum_timer_wait DIV count_star) / 1000000) >= (
  SELECT MIN(avg_us) FROM (
    SELECT b.avg_us, SUM(a.n) AS n FROM (
      SELECT ROUND((sum_timer_wait DIV count_star) / 1000000) AS avg_us, COUNT(*) AS n
      FROM {events_statements_summary_by_digest} c GROUP BY 1) a
    JOIN (
      SELECT DISTINCT ROUND((sum_timer_wait DIV count_star) / 1000000) AS avg_us
      FROM {events_statements_summary_by_digest} d) b ON a.avg_us <= b.avg_us
    GROUP BY b.avg_us) ranked
  WHERE n > 0.95 * (SELECT COUNT(*) FROM {events_statements_summary_by_digest} e))
ORDER BY avg_latency DESC
