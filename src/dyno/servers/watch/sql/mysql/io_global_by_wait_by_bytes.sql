-- Kinds of files by the bytes read and written.
SELECT substr(event_name, length('wait/io/file/') + 1) AS event_name, count_star AS total, sum_timer_wait AS total_latency,
  min_timer_wait AS min_latency, whole_per(sum_timer_wait, count_star) AS avg_latency, max_timer_wait AS max_latency, count_read,
  sum_number_of_bytes_read AS total_read, per(sum_number_of_bytes_read, count_read) AS avg_read, count_write,
  sum_number_of_bytes_write AS total_written, per(sum_number_of_bytes_write, count_write) AS avg_written,
  sum_number_of_bytes_write + sum_number_of_bytes_read AS total_requested
FROM file_summary_by_event_name WHERE event_name LIKE 'wait/io/file/%' AND count_star > 0 ORDER BY total_requested DESC
