-- Files by the bytes read and written.
SELECT file_name AS file, count_read, sum_number_of_bytes_read AS total_read,
  IFNULL(sum_number_of_bytes_read / count_read, 0) AS avg_read, count_write,
  sum_number_of_bytes_write AS total_written,
  IFNULL(sum_number_of_bytes_write / count_write, 0) AS avg_write,
  sum_number_of_bytes_read + sum_number_of_bytes_write AS total,
  IFNULL(ROUND(100 - 100 * sum_number_of_bytes_read
               / (sum_number_of_bytes_read + sum_number_of_bytes_write), 2), 0) AS write_pct
FROM {file_summary_by_instance} f ORDER BY total DESC
