-- Tables: rows read and written, and the requests to their files.
SELECT t.object_schema AS table_schema, t.object_name AS table_name,
  t.sum_timer_wait AS total_latency, t.count_fetch AS rows_fetched,
  t.sum_timer_fetch AS fetch_latency, t.count_insert AS rows_inserted,
  t.sum_timer_insert AS insert_latency, t.count_update AS rows_updated,
  t.sum_timer_update AS update_latency, t.count_delete AS rows_deleted,
  t.sum_timer_delete AS delete_latency, f.count_read AS io_read_requests, f.bytes_read AS io_read,
  f.timer_read AS io_read_latency, f.count_write AS io_write_requests, f.bytes_write AS io_write,
  f.timer_write AS io_write_latency, f.count_misc AS io_misc_requests,
  f.timer_misc AS io_misc_latency
FROM {table_io_waits_summary_by_table} t
LEFT JOIN (
  SELECT SUBSTRING_INDEX(SUBSTRING_INDEX(file_name, '/', -2), '/', 1) AS file_schema,
    SUBSTRING_INDEX(SUBSTRING_INDEX(LOWER(SUBSTRING_INDEX(file_name, '/', -1)), '.', 1), '#p#', 1)
      AS file_table,
    SUM(count_read) AS count_read, SUM(sum_number_of_bytes_read) AS bytes_read,
    SUM(sum_timer_read) AS timer_read, SUM(count_write) AS count_write,
    SUM(sum_number_of_bytes_write) AS bytes_write, SUM(sum_timer_write) AS timer_write,
    SUM(count_misc) AS count_misc, SUM(sum_timer_misc) AS timer_misc
  FROM {file_summary_by_instance} i GROUP BY file_schema, file_table) f
ON f.file_schema = t.object_schema AND f.file_table = LOWER(t.object_name)
ORDER BY total_latency DESC
