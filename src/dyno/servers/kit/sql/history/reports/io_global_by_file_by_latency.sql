-- Files by the time that requests to them took.
SELECT file_name AS file, count_star AS total, sum_timer_wait AS total_latency, count_read,
  sum_timer_read AS read_latency, count_write, sum_timer_write AS write_latency, count_misc,
  sum_timer_misc AS misc_latency
FROM {file_summary_by_instance} f ORDER BY total_latency DESC
