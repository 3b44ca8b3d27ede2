-- File requests of each host.
SELECT IFNULL(host, 'background') AS host, SUM(count_star) AS ios,
  SUM(sum_timer_wait) AS io_latency
FROM {events_waits_summary_by_host_by_event_name} w WHERE event_name LIKE 'wait/io/file/%'
GROUP BY 1 ORDER BY io_latency DESC
