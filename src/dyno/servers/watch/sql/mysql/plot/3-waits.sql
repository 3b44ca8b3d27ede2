-- Sessions' worth of time in waits, by class
SELECT bucket(ts) AS moment, array_to_string(split(event_name, '/')[2:3], '/') AS name, sum(sum_timer_wait) / 1e12 / width() AS value
FROM events_waits_summary_global_by_event_name WHERE event_name <> 'idle' GROUP BY ALL ORDER BY moment
