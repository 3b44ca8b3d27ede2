-- File requests of each host, by what the file is.
SELECT coalesce(host, 'background') AS host, event_name, count_star AS total, sum_timer_wait AS total_latency, max_timer_wait AS max_latency
FROM events_waits_summary_by_host_by_event_name WHERE event_name LIKE 'wait/io/file%' AND count_star > 0 ORDER BY host, total_latency DESC
