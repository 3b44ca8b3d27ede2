-- What all sessions and threads waited for; the longest first.
SELECT event_name AS events, count_star AS total, sum_timer_wait AS total_latency,
  IFNULL(sum_timer_wait DIV count_star, 0) AS avg_latency, max_timer_wait AS max_latency
FROM {events_waits_summary_global_by_event_name} w
WHERE event_name <> 'idle' AND sum_timer_wait > 0 ORDER BY total_latency DESC
