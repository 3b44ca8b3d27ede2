-- Rows a second in InnoDB
SELECT bucket(ts) AS moment, substr(lower(variable_name), 13) AS name, sum(variable_value) / width() AS value
FROM global_status WHERE lower(variable_name) LIKE 'innodb_rows_%' GROUP BY ALL ORDER BY moment
