-- Sessions' worth of time in the dearest statements
WITH dearest AS (
  SELECT query_key FROM events_statements_summary_by_digest GROUP BY ALL ORDER BY sum(sum_timer_wait) DESC LIMIT 7)
SELECT bucket(ts) AS moment, CASE WHEN query_key IN (FROM dearest) THEN left(coalesce(digest_text, '?'), 60) ELSE 'all others' END AS name,
  sum(sum_timer_wait) / 1e12 / width() AS value
FROM events_statements_summary_by_digest GROUP BY ALL ORDER BY moment
