-- Files by the bytes read and written.
SELECT file_name AS file, count_read, sum_number_of_bytes_read AS total_read, per(sum_number_of_bytes_read, count_read) AS avg_read,
  count_write, sum_number_of_bytes_write AS total_written, per(sum_number_of_bytes_write, count_write) AS avg_write,
  sum_number_of_bytes_read + sum_number_of_bytes_write AS total,
  coalesce(round(100 - 100 * sum_number_of_bytes_read / nullif(sum_number_of_bytes_read + sum_number_of_bytes_write, 0), 2), 0) AS write_pct
FROM file_summary_by_instance ORDER BY total DESC
