-- Classes of waits, by average latency.
SELECT SUBSTRING_INDEX(event_name, '/', 3) AS event_class, SUM(count_star) AS total,
  SUM(sum_timer_wait) AS total_latency, MIN(min_timer_wait) AS min_latency,
  IFNULL(SUM(sum_timer_wait) / SUM(count_star), 0) AS avg_latency,
  MAX(max_timer_wait) AS max_latency
FROM {events_waits_summary_global_by_event_name} w
WHERE event_name <> 'idle' AND sum_timer_wait > 0 GROUP BY event_class
ORDER BY avg_latency DESC
