-- Tables: rows read and written, and the requests to their files.
WITH files AS (
  SELECT schema_of(file_name) AS table_schema, table_of(file_name) AS table_name, sum(count_read) AS count_read,
    sum(sum_number_of_bytes_read) AS bytes_read, sum(sum_timer_read) AS timer_read, sum(count_write) AS count_write,
    sum(sum_number_of_bytes_write) AS bytes_write, sum(sum_timer_write) AS timer_write, sum(count_misc) AS count_misc,
    sum(sum_timer_misc) AS timer_misc FROM file_summary_by_instance GROUP BY ALL)
SELECT t.object_schema AS table_schema, t.object_name AS table_name, t.sum_timer_wait AS total_latency,
  t.count_fetch AS rows_fetched, t.sum_timer_fetch AS fetch_latency, t.count_insert AS rows_inserted,
  t.sum_timer_insert AS insert_latency, t.count_update AS rows_updated, t.sum_timer_update AS update_latency,
  t.count_delete AS rows_deleted, t.sum_timer_delete AS delete_latency, files.count_read AS io_read_requests,
  files.bytes_read AS io_read, files.timer_read AS io_read_latency, files.count_write AS io_write_requests,
  files.bytes_write AS io_write, files.timer_write AS io_write_latency, files.count_misc AS io_misc_requests,
  files.timer_misc AS io_misc_latency
FROM table_io_waits_summary_by_table t
LEFT JOIN files ON t.object_schema = files.table_schema AND t.object_name = files.table_name ORDER BY total_latency DESC
