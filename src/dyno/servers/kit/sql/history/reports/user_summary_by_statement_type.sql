-- Each user: statements by their kind.
SELECT IFNULL(user, 'background') AS user, SUBSTRING_INDEX(event_name, '/', -1) AS statement,
  count_star AS total, sum_timer_wait AS total_latency, max_timer_wait AS max_latency,
  sum_lock_time AS lock_latency, sum_cpu_time AS cpu_latency, sum_rows_sent AS rows_sent,
  sum_rows_examined AS rows_examined, sum_rows_affected AS rows_affected,
  sum_no_index_used + sum_no_good_index_used AS full_scans
FROM {events_statements_summary_by_user_by_event_name} s WHERE sum_timer_wait <> 0
ORDER BY 1, total_latency DESC
