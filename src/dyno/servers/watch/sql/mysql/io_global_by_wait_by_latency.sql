-- Kinds of files by the time that their requests took.
SELECT substr(event_name, length('wait/io/file/') + 1) AS event_name, count_star AS total, sum_timer_wait AS total_latency,
  whole_per(sum_timer_wait, count_star) AS avg_latency, max_timer_wait AS max_latency, sum_timer_read AS read_latency,
  sum_timer_write AS write_latency, sum_timer_misc AS misc_latency, count_read, sum_number_of_bytes_read AS total_read,
  per(sum_number_of_bytes_read, count_read) AS avg_read, count_write, sum_number_of_bytes_write AS total_written,
  per(sum_number_of_bytes_write, count_write) AS avg_written
FROM file_summary_by_event_name WHERE event_name LIKE 'wait/io/file/%' AND count_star > 0 ORDER BY total_latency DESC
