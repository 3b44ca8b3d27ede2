-- Stages of the statements of each user.
SELECT IFNULL(user, 'background') AS user, event_name, count_star AS total,
  sum_timer_wait AS total_latency, IFNULL(sum_timer_wait DIV count_star, 0) AS avg_latency
FROM {events_stages_summary_by_user_by_event_name} s WHERE sum_timer_wait <> 0
ORDER BY 1, total_latency DESC
