-- Load: a second's share of what the server counted.
SELECT variable_name AS what, round(variable_value / seconds(), 1) AS per_second FROM global_status
WHERE lower(variable_name) IN ('questions', 'com_select', 'com_insert', 'com_update', 'com_delete', 'handler_commit', 'slow_queries',
  'innodb_rows_read', 'innodb_data_reads', 'innodb_data_writes', 'innodb_os_log_written', 'innodb_row_lock_waits', 'bytes_sent')
  AND variable_value > 0
UNION ALL SELECT 'sessions at work', round(count(*) / nullif((SELECT count(*) FROM samples), 0), 1) FROM processlist
ORDER BY what
