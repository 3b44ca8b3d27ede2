-- File requests of each user.
SELECT IFNULL(user, 'background') AS user, SUM(count_star) AS ios,
  SUM(sum_timer_wait) AS io_latency
FROM {events_waits_summary_by_user_by_event_name} w WHERE event_name LIKE 'wait/io/file/%'
GROUP BY 1 ORDER BY io_latency DESC
