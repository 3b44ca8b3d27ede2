-- Classes of waits, by total latency.
SELECT array_to_string(split(event_name, '/')[1:3], '/') AS event_class, sum(count_star) AS total, sum(sum_timer_wait) AS total_latency,
  min(min_timer_wait) AS min_latency, per(sum(sum_timer_wait), sum(count_star)) AS avg_latency, max(max_timer_wait) AS max_latency
FROM events_waits_summary_global_by_event_name WHERE event_name <> 'idle' AND sum_timer_wait > 0 GROUP BY ALL ORDER BY total_latency DESC
