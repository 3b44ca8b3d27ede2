-- What performance_schema had no room to count.
SELECT lower(variable_name) AS variable_name, variable_value FROM global_status
WHERE variable_name ILIKE 'perf%lost' AND variable_value > 0 ORDER BY variable_name
