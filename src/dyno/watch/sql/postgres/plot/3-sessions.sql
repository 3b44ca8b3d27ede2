-- Sessions at work, by what they waited for
WITH taken AS (SELECT bucket(ts) AS moment, count(*) AS samples FROM samples GROUP BY ALL)
SELECT moment, coalesce(wait, 'no wait') AS name, count(*) / any_value(samples) AS value
FROM pg_stat_activity s JOIN taken ON taken.moment = bucket(s.ts) GROUP BY ALL ORDER BY moment
