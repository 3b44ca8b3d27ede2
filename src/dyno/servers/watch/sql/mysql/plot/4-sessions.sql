-- Sessions at work, by what they did
WITH taken AS (SELECT bucket(ts) AS moment, count(*) AS samples FROM samples GROUP BY ALL)
SELECT moment, coalesce(nullif(state, ''), command) AS name, count(*) / any_value(samples) AS value
FROM processlist s JOIN taken ON taken.moment = bucket(s.ts) GROUP BY ALL ORDER BY moment
