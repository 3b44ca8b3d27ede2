-- Statements of each host.
SELECT coalesce(host, 'background') AS host, sum(count_star) AS total, sum(sum_timer_wait) AS total_latency, max(max_timer_wait) AS max_latency,
  sum(sum_lock_time) AS lock_latency, sum(sum_cpu_time) AS cpu_latency, sum(sum_rows_sent) AS rows_sent,
  sum(sum_rows_examined) AS rows_examined, sum(sum_rows_affected) AS rows_affected,
  sum(sum_no_index_used) + sum(sum_no_good_index_used) AS full_scans
FROM events_statements_summary_by_host_by_event_name GROUP BY ALL ORDER BY total_latency DESC
