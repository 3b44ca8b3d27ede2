-- Each host: statements, file requests, connections, memory.
WITH stmt AS (
  SELECT coalesce(host, 'background') AS host, sum(count_star) AS total, sum(sum_timer_wait) AS latency,
    sum(sum_no_index_used) + sum(sum_no_good_index_used) AS full_scans FROM events_statements_summary_by_host_by_event_name GROUP BY ALL),
io AS (
  SELECT coalesce(host, 'background') AS host, sum(count_star) AS ios, sum(sum_timer_wait) AS latency
  FROM events_waits_summary_by_host_by_event_name WHERE event_name LIKE 'wait/io/file/%' GROUP BY ALL),
mem AS (
  SELECT coalesce(host, 'background') AS host, sum(current_number_of_bytes_used) AS allocated, sum(sum_number_of_bytes_alloc) AS total FROM memory_summary_by_host_by_event_name GROUP BY ALL),
account AS (SELECT *, host AS whose FROM accounts)
SELECT coalesce(account.host, 'background') AS host, sum(stmt.total) AS statements, sum(stmt.latency) AS statement_latency,
  per(sum(stmt.latency), sum(stmt.total)) AS statement_avg_latency, sum(stmt.full_scans) AS table_scans, sum(io.ios) AS file_ios,
  sum(io.latency) AS file_io_latency, sum(account.current_connections) AS current_connections,
  sum(account.total_connections) AS total_connections, count(DISTINCT account.user) AS unique_users,
  sum(mem.allocated) AS current_memory, sum(mem.total) AS total_memory_allocated
FROM account JOIN stmt ON whose = stmt.host JOIN io ON whose = io.host LEFT JOIN mem ON whose = mem.host
GROUP BY ALL ORDER BY statement_latency DESC
