-- File requests of each host.
SELECT coalesce(host, 'background') AS host, sum(count_star) AS ios, sum(sum_timer_wait) AS io_latency
FROM events_waits_summary_by_host_by_event_name WHERE event_name LIKE 'wait/io/file/%' GROUP BY ALL ORDER BY io_latency DESC
