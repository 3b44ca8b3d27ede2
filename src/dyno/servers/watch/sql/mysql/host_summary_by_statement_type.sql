-- Statements of each host, by their kind.
SELECT coalesce(host, 'background') AS host, split_part(event_name, '/', -1) AS statement, count_star AS total, sum_timer_wait AS total_latency,
  max_timer_wait AS max_latency, sum_lock_time AS lock_latency, sum_cpu_time AS cpu_latency, sum_rows_sent AS rows_sent,
  sum_rows_examined AS rows_examined, sum_rows_affected AS rows_affected, sum_no_index_used + sum_no_good_index_used AS full_scans
FROM events_statements_summary_by_host_by_event_name WHERE sum_timer_wait <> 0 ORDER BY host, total_latency DESC
