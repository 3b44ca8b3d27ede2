-- Stages of the statements of each user.
SELECT coalesce(user, 'background') AS user, event_name, count_star AS total, sum_timer_wait AS total_latency, whole_per(sum_timer_wait, count_star) AS avg_latency
FROM events_stages_summary_by_user_by_event_name WHERE sum_timer_wait <> 0 ORDER BY user, total_latency DESC
