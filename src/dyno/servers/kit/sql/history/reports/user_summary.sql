-- Each user: statements, file requests, connections, memory; the most time in statements first.
SELECT a.user, IFNULL(s.total, 0) AS statements, IFNULL(s.latency, 0) AS statement_latency,
  IFNULL(s.latency / s.total, 0) AS statement_avg_latency, IFNULL(s.scans, 0) AS table_scans,
  IFNULL(w.total, 0) AS file_ios, IFNULL(w.latency, 0) AS file_io_latency,
  a.current_connections, a.total_connections, a.unique_hosts,
  m.allocated AS current_memory, m.total AS total_memory_allocated
FROM (
  SELECT IFNULL(user, 'background') AS user, SUM(current_connections) AS current_connections,
    SUM(total_connections) AS total_connections, COUNT(DISTINCT host) AS unique_hosts
  FROM {accounts} b GROUP BY 1) a
LEFT JOIN (
  SELECT IFNULL(user, 'background') AS user, SUM(count_star) AS total, SUM(sum_timer_wait) AS latency,
    SUM(sum_no_index_used) + SUM(sum_no_good_index_used) AS scans
  FROM {events_statements_summary_by_user_by_event_name} c GROUP BY 1) s ON s.user = a.user
LEFT JOIN (
  SELECT IFNULL(user, 'background') AS user, SUM(count_star) AS total, SUM(sum_timer_wait) AS latency
  FROM {events_waits_summary_by_user_by_event_name} d WHERE event_name LIKE 'wait/io/file/%'
  GROUP BY 1) w ON w.user = a.user
LEFT JOIN (
  SELECT IFNULL(user, 'background') AS user, SUM(current_number_of_bytes_used) AS allocated,
    SUM(sum_number_of_bytes_alloc) AS total
  FROM {memory_summary_by_user_by_event_name} e GROUP BY 1) m ON m.user = a.user
ORDER BY statement_latency DESC
