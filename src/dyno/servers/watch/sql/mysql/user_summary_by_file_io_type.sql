-- File requests of each user, by what the file is.
SELECT coalesce(user, 'background') AS user, event_name, count_star AS total, sum_timer_wait AS latency, max_timer_wait AS max_latency
FROM events_waits_summary_by_user_by_event_name WHERE event_name LIKE 'wait/io/file%' AND count_star > 0 ORDER BY user, latency DESC
