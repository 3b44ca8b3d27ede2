-- Statements and commits a second
SELECT bucket(ts) AS moment,
  CASE lower(variable_name) WHEN 'questions' THEN 'statements' WHEN 'handler_commit' THEN 'commits' ELSE substr(lower(variable_name), 5) END AS name,
  sum(variable_value) / width() AS value
FROM global_status
WHERE lower(variable_name) IN ('questions', 'handler_commit', 'com_select', 'com_insert', 'com_update', 'com_delete')
GROUP BY ALL ORDER BY moment
