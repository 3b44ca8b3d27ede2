-- What the sessions of each user waited for.
SELECT coalesce(user, 'background') AS user, event_name AS event, count_star AS total, sum_timer_wait AS total_latency,
  whole_per(sum_timer_wait, count_star) AS avg_latency, max_timer_wait AS max_latency
FROM events_waits_summary_by_user_by_event_name WHERE user IS NOT NULL AND event_name <> 'idle' AND sum_timer_wait > 0 ORDER BY user, total_latency DESC
