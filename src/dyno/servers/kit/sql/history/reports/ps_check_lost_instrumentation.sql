-- What performance_schema had no room to count.
SELECT variable_name, variable_value FROM {global_status} s
WHERE variable_name LIKE 'perf%lost' AND variable_value > 0 ORDER BY 1
