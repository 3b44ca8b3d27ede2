-- Statements of each host.
SELECT IFNULL(host, 'background') AS host, SUM(count_star) AS total,
  SUM(sum_timer_wait) AS total_latency, MAX(max_timer_wait) AS max_latency,
  SUM(sum_lock_time) AS lock_latency, SUM(sum_cpu_time) AS cpu_latency,
  SUM(sum_rows_sent) AS rows_sent, SUM(sum_rows_examined) AS rows_examined,
  SUM(sum_rows_affected) AS rows_affected,
  SUM(sum_no_index_used) + SUM(sum_no_good_index_used) AS full_scans
FROM {events_statements_summary_by_host_by_event_name} s GROUP BY 1 ORDER BY total_latency DESC
