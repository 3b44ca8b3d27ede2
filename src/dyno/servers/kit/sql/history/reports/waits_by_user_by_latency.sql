-- What the sessions of each user waited for.
SELECT IFNULL(user, 'background') AS user, event_name AS event, count_star AS total,
  sum_timer_wait AS total_latency, IFNULL(sum_timer_wait DIV count_star, 0) AS avg_latency,
  max_timer_wait AS max_latency
FROM {events_waits_summary_by_user_by_event_name} w
WHERE event_name <> 'idle' AND sum_timer_wait > 0 AND user IS NOT NULL ORDER BY 1, total_latency DESC
