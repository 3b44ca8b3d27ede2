-- Waits that took most of the time.
SELECT event_name AS wait, round(count_star / seconds(), 1) AS per_second, ms(sum_timer_wait, count_star) AS avg_ms,
  round(sum_timer_wait / 1e12 / seconds(), 2) AS sessions
FROM events_waits_summary_global_by_event_name WHERE event_name <> 'idle' AND sum_timer_wait > 0 ORDER BY sum_timer_wait DESC
