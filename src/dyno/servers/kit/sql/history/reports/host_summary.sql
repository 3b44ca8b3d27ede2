-- Each host: statements, file requests, connections, memory; the most time in statements first.
SELECT a.host, IFNULL(s.total, 0) AS statements, IFNULL(s.latency, 0) AS statement_latency,
  IFNULL(s.latency / s.total, 0) AS statement_avg_latency, IFNULL(s.scans, 0) AS table_scans,
  IFNULL(w.total, 0) AS file_ios, IFNULL(w.latency, 0) AS file_io_latency,
  a.current_connections, a.total_connections, a.unique_users,
  m.allocated AS current_memory, m.total AS total_memory_allocated
FROM (
  SELECT IFNULL(host, 'background') AS host, SUM(current_connections) AS current_connections,
    SUM(total_connections) AS total_connections, COUNT(DISTINCT user) AS unique_users
  FROM {accounts} b WHERE host IS NOT NULL GROUP BY 1) a
LEFT JOIN (
  SELECT IFNULL(host, 'background') AS host, SUM(count_star) AS total, SUM(sum_timer_wait) AS latency,
    SUM(sum_no_index_used) + SUM(sum_no_good_index_used) AS scans
  FROM {events_statements_summary_by_host_by_event_name} c GROUP BY 1) s ON s.host = a.host
LEFT JOIN (
  SELECT IFNULL(host, 'background') AS host, SUM(count_star) AS total, SUM(sum_timer_wait) AS latency
  FROM {events_waits_summary_by_host_by_event_name} d WHERE event_name LIKE 'wait/io/file/%'
  GROUP BY 1) w ON w.host = a.host
LEFT JOIN (
  SELECT IFNULL(host, 'background') AS host, SUM(current_number_of_bytes_used) AS allocated,
    SUM(sum_number_of_bytes_alloc) AS total
  FROM {memory_summary_by_host_by_event_name} e GROUP BY 1) m ON m.host = a.host
ORDER BY statement_latency DESC
