-- Sessions at work or within a transaction, by what they waited for
WITH taken AS (SELECT bucket(ts) AS moment, count(*) AS samples FROM samples GROUP BY ALL)
SELECT moment, CASE WHEN state LIKE 'idle%' THEN state ELSE coalesce(wait, 'no wait') END AS name, count(*) / any_value(samples) AS value
FROM pg_stat_activity s JOIN taken ON taken.moment = bucket(s.ts) GROUP BY ALL ORDER BY moment
