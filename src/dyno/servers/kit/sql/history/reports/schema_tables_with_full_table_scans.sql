-- Tables of which rows were read without an index.
SELECT object_schema, object_name, count_read AS rows_full_scanned, sum_timer_wait AS latency
FROM {table_io_waits_summary_by_index_usage} t WHERE index_name IS NULL AND count_read > 0
ORDER BY rows_full_scanned DESC
