-- Kinds of files by the time that their requests took.
SELECT SUBSTRING(event_name, 14) AS event_name, count_star AS total,
  sum_timer_wait AS total_latency, IFNULL(sum_timer_wait DIV count_star, 0) AS avg_latency,
  max_timer_wait AS max_latency, sum_timer_read AS read_latency,
  sum_timer_write AS write_latency, sum_timer_misc AS misc_latency, count_read,
  sum_number_of_bytes_read AS total_read,
  IFNULL(sum_number_of_bytes_read / count_read, 0) AS avg_read, count_write,
  sum_number_of_bytes_write AS total_written,
  IFNULL(sum_number_of_bytes_write / count_write, 0) AS avg_written
FROM {file_summary_by_event_name} f WHERE event_name LIKE 'wait/io/file/%' AND count_star > 0
ORDER BY total_latency DESC
